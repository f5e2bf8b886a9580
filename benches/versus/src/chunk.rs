//! Chunks under way to several peers: ours beside mirrors of the network's client, and the mirror beside ant-protocol itself.

use ant_protocol::{ChunkMessage, ChunkMessageBody, ChunkPutRequest};
use bytes::Bytes;
use levada_benches::chunk::{ChunkBenchError, Flight, Form, FormKind, Measured, Message, SinkKind, Workload, measure};
use levada_benches::machine::Watch;
use levada_engine::count_copy;

use crate::Options;
use crate::row::{Row, absolute, contested};

/// Every row, in the order of the report.
pub const MEASURES: [&str; 6] = [
    "chunk_cpu_vec",
    "chunk_cpu_bytes",
    "chunk_peak_heap",
    "chunk_peak_growth",
    "chunk_mirror_cpu",
    "chunk_mirror_heap",
];

const BYTES: u64 = 300_000_000;
const IN_FLIGHT: usize = 64;
const RECIPIENTS: usize = 5;

/// As `--quick` has it: a sample in a second.
const QUICK_BYTES: u64 = 40_000_000;
const QUICK_IN_FLIGHT: usize = 4;

/// Times the processor time of `vec` and of `bytes` that ours must stay below.
const VEC_TIMES: f64 = 8.0;
const BYTES_TIMES: f64 = 3.0;

/// MiB at the peak for 256 MiB of chunks, and what 19 recipients more may add.
const PEAK_MIB_MAX: f64 = 264.0;
const GROWTH_MIB_MAX: f64 = 1.0;

/// Per cent by which the mirror may differ from ant-protocol.
const MIRROR_PCT_MAX: f64 = 10.0;

const MIB: f64 = 1_048_576.0;

/// ant-protocol's own types and its own `encode`, for each recipient.
struct AntProtocol;

impl Form for AntProtocol {
    fn name(&self) -> &'static str {
        "ant-protocol"
    }

    fn fly(&mut self, workload: &Workload, number: u64) -> Result<Flight, ChunkBenchError> {
        let mut content = vec![0; workload.chunk_bytes];
        workload.fill(number, &mut content);
        let content = Bytes::from(content);
        let mut messages = Vec::with_capacity(workload.recipients);
        for request_id in 0..workload.recipients as u64 {
            let (address, payment_proof) = (workload.address(number), Some(Workload::proof().to_vec()));
            let request = ChunkPutRequest { address, content: content.clone(), payment_proof };
            let message = ChunkMessage { request_id, body: ChunkMessageBody::PutRequest(request) };
            let encoded = message.encode().map_err(|error| ChunkBenchError::Mirror(error.to_string()))?;
            count_copy(content.len());
            messages.push(Message::Own { encoded, request: None });
        }
        Ok(Flight { messages, content: Some(content) })
    }
}

/// Takes every row that was asked for.
pub fn run(options: &Options) -> Vec<Row> {
    let wanted = |measure: &&str| options.only.is_empty() || options.only.iter().any(|only| only == measure);
    MEASURES.into_iter().filter(wanted).map(|measure| row(measure, options.quick)).collect()
}

fn row(measure: &'static str, quick: bool) -> Row {
    let rounds = if quick { 1 } else { 5 };
    let (bytes, in_flight) = if quick { (QUICK_BYTES, QUICK_IN_FLIGHT) } else { (BYTES, IN_FLIGHT) };
    let workload = |recipients| Workload::new(bytes, in_flight, recipients);
    let ours = |recipients| of_kind(FormKind::Vectored, &workload(recipients));
    let mirror = || of_kind(FormKind::Bytes, &workload(RECIPIENTS));
    let original = || measured(&mut AntProtocol, &workload(RECIPIENTS));
    let cpu_ms = |run: Measured| run.cpu_ns as f64 / 1e6;
    let peak_mib = |run: Measured| run.peak_heap_bytes as f64 / MIB;
    // The peak of what quick samples hold, as if it were that of 64 chunks.
    let scale = IN_FLIGHT as f64 / in_flight as f64;
    let differs_pct = |mirror: f64, original: f64| (mirror / original - 1.0).abs() * 100.0;
    let against = |kind, name: &str, bar| {
        let watch = Watch::begin();
        let (mut of_ours, mut of_rival) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            of_ours.push(cpu_ms(ours(RECIPIENTS)));
            of_rival.push(cpu_ms(of_kind(kind, &workload(RECIPIENTS))));
        }
        let samples = vec![("levada".to_owned(), of_ours), (name.to_owned(), of_rival)];
        contested(measure, "CPU ms", bar, samples, watch.end())
    };
    match measure {
        "chunk_cpu_vec" => against(FormKind::Vec, "vec", VEC_TIMES),
        "chunk_cpu_bytes" => against(FormKind::Bytes, "bytes", BYTES_TIMES),
        "chunk_peak_heap" => absolute(measure, "MiB", PEAK_MIB_MAX, rounds, || peak_mib(ours(RECIPIENTS)) * scale),
        "chunk_peak_growth" => {
            absolute(measure, "MiB", GROWTH_MIB_MAX, rounds, || peak_mib(ours(20)) - peak_mib(ours(1)))
        }
        "chunk_mirror_cpu" => {
            absolute(measure, "%", MIRROR_PCT_MAX, rounds, || differs_pct(cpu_ms(mirror()), cpu_ms(original())))
        }
        _ => absolute(measure, "%", MIRROR_PCT_MAX, rounds, || differs_pct(peak_mib(mirror()), peak_mib(original()))),
    }
}

fn of_kind(kind: FormKind, workload: &Workload) -> Measured {
    let mut form = kind.make(workload).expect("the forms fit into memory");
    measured(&mut *form, workload)
}

fn measured(form: &mut dyn Form, workload: &Workload) -> Measured {
    measure(form, workload, SinkKind::Null).expect("nothing is sent anywhere")
}
