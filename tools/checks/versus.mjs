// `versus.mjs engine|hash|archive|macro|service|surface|chunk` reads a report of that suite of `versus` as JSON from the standard
// input: every row must be there, in order, with its nine keys and no others, and with a rival unless its limit is absolute. The
// figures themselves are not judged.
import { readFileSync } from "node:fs";

const SUITES = {
  engine: [
    "spsc_batch_1", "spsc_batch_8", "spsc_batch_32", "spsc_batch_128", "rtt_1", "rtt_31", "mpmc_2x2", "mpmc_4x4",
    "mpmc_2x2_batch_1", "mpmc_collapse", "stages_percore", "stages_invoker", "stages_dedicated", "path_two_workers",
    "slab_own_core", "slab_cross_core", "fanout_5", "idle_cpu_balanced", "idle_cpu_eco", "allocs_per_msg", "copies_per_msg",
  ],
  hash: [
    "hash_1", "hash_32", "hash_64", "hash_endless", "decode_10kb", "decode_50kb", "decode_150kb", "decode_hot", "micro_one_worker",
    "micro_two_workers", "micro_memory", "micro_two_digests", "micro_latency", "micro_decodes", "micro_hashes", "micro_copies",
    "micro_copies_memory", "micro_allocs",
  ],
  archive: [
    "ingest", "ingest_pwritev", "ingest_1kb", "write_amplification", "write_amplification_1kb", "ingest_cpu", "ingest_retention",
    "retention_drop", "retention_freed", "query_warm", "query_cold", "query_warm_1kb", "query_cold_1kb", "stall_p99", "postgres_copy",
  ],
  macro: [
    "macro_router", "macro_transport", "bound_router", "bound_transport", "copies_rx_stock", "copies_tx_stock", "copies_rx", "copies_tx",
    "relay_8", "rss_long",
  ],
  service: [
    "filter_match", "filter_encodes", "filter_copies", "filter_isolation", "filter_isolation_rate", "store_query", "store_query_memory",
  ],
  surface: ["rest_publish", "start_ready", "metrics_scrape"],
  chunk: [
    "chunk_cpu_vec", "chunk_cpu_bytes", "chunk_peak_heap", "chunk_peak_growth", "chunk_mirror_cpu", "chunk_mirror_heap",
    "chunk_mirror_vec_cpu", "chunk_mirror_vec_heap",
  ],
};
const MEASURES = SUITES[process.argv[2]];

// Rows with a limit of their own in place of a rival.
const ABSOLUTE = [
  "idle_cpu_balanced", "idle_cpu_eco", "allocs_per_msg", "copies_per_msg",
  "decode_hot", "micro_decodes", "micro_hashes", "micro_copies", "micro_copies_memory", "micro_allocs",
  "copies_rx_stock", "copies_tx_stock", "copies_rx", "copies_tx",
  "write_amplification", "retention_drop", "query_warm", "query_cold", "query_warm_1kb", "query_cold_1kb",
  "filter_match", "filter_encodes", "filter_copies", "store_query", "store_query_memory", "start_ready", "metrics_scrape",
  "chunk_peak_heap", "chunk_peak_growth", "chunk_mirror_cpu", "chunk_mirror_heap",
  "chunk_mirror_vec_cpu", "chunk_mirror_vec_heap",
];

const number = Number.isFinite;
const text = (value) => typeof value === "string" && value !== "";
const truth = (value) => typeof value === "boolean";
const nothing = (value) => value === null;

// What each key of a row must hold.
function rules(measure) {
  const lone = ABSOLUTE.includes(measure);
  const rival = lone ? nothing : number;
  return {
    measure: text, unit: text, ours: number, rival, rival_name: lone ? nothing : text, ratio: rival, spread_pct: number,
    bar: number, holds: truth,
  };
}

const rows = JSON.parse(readFileSync(0, "utf8"));
const wrong = [];
const names = rows.map((row) => row.measure).join(" ");
if (names !== MEASURES.join(" ")) wrong.push(`the rows are ${names}`);
for (const row of rows) {
  const rule = rules(row.measure);
  const keys = Object.keys(rule);
  if (Object.keys(row).sort().join() !== [...keys].sort().join()) wrong.push(`${row.measure}: keys ${Object.keys(row)}`);
  keys.filter((key) => !rule[key](row[key])).forEach((key) => wrong.push(`${row.measure}: ${key} is ${row[key]}`));
}
wrong.forEach((line) => console.error(line));
process.exitCode = wrong.length === 0 ? 0 : 1;
