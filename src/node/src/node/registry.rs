//! The node's metrics, each named once with the counter it reads. Names with the prefix `waku_` are nwaku v0.38.1's.

use std::sync::Arc;

use levada_engine::{Arena, Regime, TopologyStats, heap};
use levada_net::filter::Pushes;
use levada_net::{Direction, NetHandle, PeerId, counters as net};
use levada_wire::hash;
use levada_wire::waku::{WakuRecord, message};

use crate::cli::line_limit::LINES_LEFT_OUT;
use crate::metrics::{Kind, Labels, Metrics, Value};
use crate::node::database_metrics;
use crate::node::ingress::Ingress;
use crate::node::peer_metrics::{self, DiscoveryCounters};
use crate::node::resume::ResumeCounters;
use crate::node::service_metrics;
use crate::node::sync_fill::FILL_FAILURES;
use crate::rest::counters as rest;
use crate::topology::Shared;

/// Everything the metrics read.
pub struct Sources {
    /// The tables of the stages.
    pub shared: Shared,
    /// Links, stages and workers.
    pub stats: Arc<TopologyStats>,
    /// The way in.
    pub ingress: Arc<Ingress>,
    /// The network.
    pub net: NetHandle,
    /// What is pushed to filter subscribers.
    pub pushes: Arc<Pushes>,
    /// What discovery has found.
    pub discovery: Arc<DiscoveryCounters>,
    /// What was fetched from other archives.
    pub resumed: Arc<ResumeCounters>,
    /// Who is to be asked for a service, by its protocol.
    pub service_peers: Vec<(&'static str, PeerId)>,
}

/// The table of metrics.
pub fn metrics(sources: Sources) -> Metrics {
    let Sources { shared, stats, ingress, net, pushes, discovery, resumed, service_peers } = sources;
    let arena = ingress.arena().clone();
    let table = Metrics::new().process();
    let table = network_bytes(path(table, &shared, ingress.clone()), &shared, ingress);
    let table = database_metrics::database(archive_durations(archive_upkeep(archive(table, &shared)), &shared));
    let table = sync(table, &shared);
    let table = resume(table, &resumed);
    let table = engine(table, &stats, arena);
    let table = service_metrics::requests(table, net.exchange());
    let table = service_metrics::filter(table, &shared.subscriptions, &pushes);
    let table = service_metrics::named(service_metrics::answered(table), service_peers);
    let table = peer_metrics::peers(table, net.clone());
    let table = peer_metrics::discovery(peer_metrics::network(table), &discovery);
    let table = network(table, net);
    table
        .counter("levada_log_lines_left_out", "Log lines left out because their call site logged too many", || {
            LINES_LEFT_OUT.value()
        })
        .counter("levada_rest_requests", "REST requests answered", || rest::REQUESTS.value())
        .counter("levada_rest_refused", "REST requests refused because the request was wrong", || rest::REFUSED.value())
        .counter("levada_rest_failed", "REST requests that the node could not serve", || rest::FAILED.value())
}

fn path(table: Metrics, shared: &Shared, ingress: Arc<Ingress>) -> Metrics {
    let (validated, rejected) = (shared.validated.clone(), shared.validated.clone());
    let (signed, unsigned) = (shared.validated.clone(), shared.validated.clone());
    let (seen, traffic, bytes, largest) =
        (shared.seen.clone(), shared.traffic.clone(), shared.traffic.clone(), shared.traffic.clone());
    let (crowded, events, shelves) = (shared.seen.clone(), shared.events.clone(), shared.shelves.clone());
    table
        .gauge_with_labels("waku_version", "The version of the node", &[("version", crate::rest::VERSION)], || 1_u64)
        .counter("levada_message_decodes", "WakuMessage decodes, failed ones included", || message::DECODES.value())
        .counter("levada_message_decoded_bytes", "Bytes of messages decoded", || message::DECODED_BYTES.value())
        .counter("levada_message_hashes", "Deterministic message hashes computed", || hash::MESSAGE_HASHES.value())
        .counter("levada_message_ids", "gossipsub message ids computed", || hash::MESSAGE_IDS.value())
        .counter("levada_message_hashed_bytes", "Bytes hashed for message hashes and ids", || {
            hash::HASHED_BYTES.value()
        })
        .counter("levada_payload_copies", "Payload copies made by the node's own code", payload_copies)
        .counter("levada_payload_copies_bytes", "Bytes of those copies", payload_copied_bytes)
        .counter("levada_heap_allocations", "Heap allocations of the process", heap::allocations_total)
        .counter_with_labels("levada_messages_validated", VALIDATED, &[("result", "accepted")], move || {
            validated.accepted.value()
        })
        .counter_with_labels("levada_messages_validated", VALIDATED, &[("result", "rejected")], move || {
            rejected.rejected.value()
        })
        .counter_with_labels(SIGNED_METRIC, SIGNED, &[("result", "Accept")], move || signed.signed.value())
        .counter_with_labels(SIGNED_METRIC, SIGNED, &[("result", "Reject")], move || unsigned.unsigned.value())
        .counter("levada_messages_malformed", "Messages rejected because they cannot be decoded", || {
            message::DECODE_FAILURES.value()
        })
        .counter("levada_messages_duplicate", "Messages that had been seen before", move || seen.duplicates_total())
        .counter("levada_seen_crowded_out", "Message ids forgotten early, for want of room", move || {
            crowded.crowded_out_total()
        })
        .counter("levada_messages_unknown_topic", "Messages on a topic the node takes no part in", move || {
            ingress.unknown_topic.value()
        })
        .counter_with_labels("waku_node_messages", "Messages accepted", &[("type", "relay")], move || {
            traffic.rows().map(|row| row.messages).sum::<u64>()
        })
        .family(Kind::Counter, "levada_topic_bytes", "Bytes of accepted messages by pubsub topic", move || {
            per_topic(&bytes, |row| row.bytes)
        })
        .family(Kind::Gauge, "waku_relay_total_msg_bytes_per_shard", "Bytes of accepted messages by shard", {
            let traffic = shared.traffic.clone();
            move || per_topic(&traffic, |row| row.bytes)
        })
        .family(Kind::Gauge, "waku_relay_avg_msg_bytes_per_shard", "Mean size of accepted messages by shard", {
            let traffic = shared.traffic.clone();
            move || per_topic(&traffic, |row| row.bytes.checked_div(row.messages).unwrap_or_default())
        })
        .histogram_with_labels(
            "waku_histogram_message_size",
            "Size of the payloads of accepted messages, in kB",
            &[],
            {
                let traffic = shared.traffic.clone();
                move || traffic.payload_bytes().observed()
            },
        )
        .family(Kind::Gauge, "waku_relay_max_msg_bytes_per_shard", "Largest accepted message by shard", move || {
            per_topic(&largest, |row| row.bytes_max)
        })
        .counter("levada_rest_cache_evicted", "Messages that left the REST cache unread", move || {
            events.evicted_total()
        })
        .counter("levada_rest_filter_cache_evicted", "Messages that left the REST cache of filter unread", move || {
            shelves.evicted_total()
        })
}

const SIGNED_METRIC: &str = "waku_msg_validator_signed_outcome";

const SIGNED: &str = "Messages on protected shards by whether their signature is good";

const VALIDATED: &str = "Messages by the validators' outcome";

fn per_topic(
    traffic: &levada_stages::trace::TopicTraffic,
    of: fn(&levada_stages::trace::Traffic<'_>) -> u64,
) -> Vec<(Labels, Value)> {
    traffic.rows().map(|row| (vec![("shard", row.topic.to_owned())], Value::Unsigned(of(&row)))).collect()
}

/// As nwaku counts and labels them: what came, every copy of it (`gross`); what of that was accepted (`net`); and what was sent. A message
/// counts with its pubsub topic. Whole frames are in `libp2p_network_bytes_total`, of all protocols together.
fn network_bytes(table: Metrics, shared: &Shared, ingress: Arc<Ingress>) -> Metrics {
    let row = |topic: &str, kind: &str, direction: &str, bytes: u64| {
        let labels = [("topic", topic), ("type", kind), ("direction", direction)];
        (labels.map(|(name, value)| (name, value.to_owned())).to_vec(), Value::Unsigned(bytes))
    };
    let traffic = shared.traffic.clone();
    table.family(Kind::Counter, "waku_relay_network_bytes", "Bytes of relayed messages with their topics", move || {
        let gross = ingress.traffic(Direction::In).rows().map(|(topic, bytes)| row(topic, "gross", "in", bytes));
        let net = traffic.rows().map(|of| row(of.topic, "net", "in", of.bytes + of.messages * of.topic.len() as u64));
        let sent = ingress.traffic(Direction::Out).rows().map(|(topic, bytes)| row(topic, "net", "out", bytes));
        gross.chain(net).chain(sent).collect()
    })
}

fn payload_copies() -> u64 {
    levada_engine::PAYLOAD_COPIES.value() + levada_archive::counters::ARCHIVE_COPIES.value()
}

fn payload_copied_bytes() -> u64 {
    levada_engine::PAYLOAD_COPIED_BYTES.value() + levada_archive::counters::ARCHIVE_COPIED_BYTES.value()
}

fn archive(table: Metrics, shared: &Shared) -> Metrics {
    let archived = || shared.archived.clone();
    let backlog = || shared.backlog.clone();
    let (stored, duplicates, failed, put_off, transactions, inserts) =
        (archived(), archived(), archived(), archived(), archived(), archived());
    let dropped = archived();
    let (waiting, full, ephemeral, too_old, future) = (backlog(), backlog(), backlog(), backlog(), backlog());
    table
        .gauge_with_labels(
            "waku_archive_messages",
            "Messages on the disk since the start",
            &[("type", "stored")],
            move || stored.stored.value(),
        )
        .counter("levada_archive_duplicates", "Messages the archive had already", move || duplicates.duplicates.value())
        .counter("levada_archive_dropped", "Messages too large for the archive", move || dropped.dropped.value())
        .counter_with_labels("waku_archive_errors", NOT_ARCHIVED, &[("type", "insert_failure")], move || {
            failed.failed.value()
        })
        .counter_with_labels("waku_archive_errors", NOT_ARCHIVED, &[("type", "backlog_full")], move || {
            full.full.value()
        })
        .counter_with_labels("waku_archive_errors", NOT_ARCHIVED, &[("type", "invalid_message_too_old")], move || {
            too_old.too_old.value()
        })
        .counter_with_labels(
            "waku_archive_errors",
            NOT_ARCHIVED,
            &[("type", "invalid_message_future_timestamp")],
            move || future.future.value(),
        )
        .family(Kind::Counter, "levada_archive_insert_failures", "Failed transactions by reason", || {
            let row = |(reason, count): (&str, u64)| (vec![("reason", reason.to_owned())], Value::Unsigned(count));
            levada_archive::counters::insert_failures().into_iter().map(row).collect()
        })
        .counter("levada_archive_evicted", "Messages a memory archive dropped for newer ones", || {
            levada_archive::counters::EVICTED_MESSAGES.value()
        })
        .counter(
            "levada_archive_spilled",
            "Messages that went to the local log while their database was away or slow",
            || levada_archive::counters::SPILLED_MESSAGES.value(),
        )
        .counter("levada_archive_damaged", "Records of the archive that are damaged, and so left out", || {
            levada_archive::counters::DAMAGED_RECORDS.value()
        })
        .counter("levada_archive_ephemeral", "Ephemeral messages, which are never archived", move || {
            ephemeral.ephemeral.value()
        })
        .counter("levada_archive_put_off", "Transactions put off because another program held the archive", move || {
            put_off.put_off.value()
        })
        .counter("levada_archive_transactions", "Transactions", move || transactions.transactions.value())
        .counter("levada_archive_insert_seconds", "Time spent in transactions", move || inserts.inserts.observed().sum)
        .gauge("levada_archive_backlog_bytes", "Bytes waiting for the archive", move || waiting.bytes())
        .counter("levada_archive_queries", "Queries of the archive, of peers and by REST", || {
            levada_archive::counters::QUERIES.value()
        })
        .counter("levada_archive_query_failures", "Queries of the archive that failed", || {
            levada_archive::counters::QUERY_FAILURES.value()
        })
}

/// What retention dropped, and where queries found their messages.
fn archive_upkeep(table: Metrics) -> Metrics {
    table
        .counter("levada_archive_retention_messages", "Messages that retention dropped", || {
            levada_archive::counters::RETENTION_MESSAGES.value()
        })
        .counter("levada_archive_retention_bytes", "Bytes of the segments that retention dropped", || {
            levada_archive::counters::RETENTION_BYTES.value()
        })
        .counter("levada_archive_retention_segments", "Segments that retention dropped", || {
            levada_archive::counters::RETENTION_SEGMENTS.value()
        })
        .counter("levada_archive_retention_failures", "Steps of retention that failed", || {
            levada_archive::counters::RETENTION_FAILURES.value()
        })
        .counter_with_labels("levada_archive_reads", READS, &[("from", "memory")], || {
            levada_archive::counters::MEMORY_READS.value()
        })
        .counter_with_labels("levada_archive_reads", READS, &[("from", "disk")], || {
            levada_archive::counters::DISK_READS.value()
        })
        .counter("levada_archive_read_bytes", "Bytes of messages that queries read from the disk", || {
            levada_archive::counters::DISK_READ_BYTES.value()
        })
}

/// What nwaku tells of its archive beside the counts. A transaction has up to `--store-commit-messages` messages.
fn archive_durations(table: Metrics, shared: &Shared) -> Metrics {
    let (inserts, kept) = (shared.archived.clone(), shared.kept.clone());
    table
        .histogram_with_labels(
            "waku_archive_insert_duration_seconds",
            "Time that a transaction took, of one message or of many",
            &[],
            move || inserts.inserts.observed(),
        )
        .histogram_with_labels(
            "waku_archive_query_duration_seconds",
            "Time that the archive took for a query, of peers and by REST",
            &[],
            || levada_archive::counters::QUERY_DURATIONS.observed(),
        )
        .family(
            Kind::Gauge,
            "waku_archive_messages_per_shard",
            "Messages since the start that are in the archive, those that it had already included",
            move || {
                let row = |(topic, count): (&str, u64)| (vec![("shard", topic.to_owned())], Value::Unsigned(count));
                kept.rows().map(row).collect()
            },
        )
}

const READS: &str = "Messages read for queries";

const NOT_ARCHIVED: &str = "Messages that were relayed and not archived";

fn sync(table: Metrics, shared: &Shared) -> Metrics {
    let index = || shared.sync.clone();
    let (items, topics, bytes, pruned, evicted, refused) =
        (index(), shared.topics.clone(), index(), index(), index(), index());
    table
        .family(Kind::Gauge, "levada_sync_items", "Messages in the index that store-sync reconciles", move || {
            let row = |(topic, count)| {
                let name = topics.name(topic)?.to_owned();
                Some((vec![("shard", name)], Value::Unsigned(count)))
            };
            items.counts().into_iter().filter_map(row).collect()
        })
        .gauge("levada_sync_bytes", "Memory of that index", move || bytes.bytes() as u64)
        .counter_with_labels("levada_sync_pruned", SYNC_PRUNED, &[("reason", "age")], move || pruned.pruned_total())
        .counter_with_labels("levada_sync_pruned", SYNC_PRUNED, &[("reason", "room")], move || evicted.evicted_total())
        .counter("levada_sync_refused", "Messages too old for that index", move || refused.refused_total())
        .counter("levada_sync_fill_failures", "Times that index could not be filled from the archive", || {
            FILL_FAILURES.value()
        })
}

const SYNC_PRUNED: &str = "Messages that left the index of store-sync";

fn resume(table: Metrics, counters: &Arc<ResumeCounters>) -> Metrics {
    let of = || counters.clone();
    let (messages, pages, failures, missing) = (of(), of(), of(), of());
    table
        .family(Kind::Counter, "levada_store_resume_messages", "Messages fetched from other archives", move || {
            let ResumeCounters { archived, known, refused, unknown_topic, .. } = &*messages;
            [("archived", archived), ("known", known), ("refused", refused), ("unknown_topic", unknown_topic)]
                .map(|(result, counter)| (vec![("result", result.to_owned())], Value::Unsigned(counter.value())))
                .into()
        })
        .counter("levada_store_resume_pages", "Pages of messages fetched from other archives", move || {
            pages.pages.value()
        })
        .counter("levada_store_resume_failures", "Tries to fetch from other archives that failed", move || {
            failures.failures.value()
        })
        .gauge(
            "levada_store_resume_missing_seconds",
            "Seconds of messages still to be fetched; stays above 0 when that was given up",
            move || missing.missing_seconds(),
        )
}

fn engine(table: Metrics, stats: &Arc<TopologyStats>, arena: Arc<Arena<WakuRecord>>) -> Metrics {
    let of_stages = |read: fn(&levada_engine::StageStats) -> u64| {
        let stats = stats.clone();
        move || {
            let row = |stage: &Arc<levada_engine::StageStats>| (stage_labels(&stage.name), read(stage).into());
            stats.stages.iter().map(row).collect()
        }
    };
    let of_links = |read: fn(&levada_engine::LinkStats) -> u64| {
        let stats = stats.clone();
        move || {
            let row = |link: &Arc<levada_engine::LinkStats>| (vec![("link", link.name.clone())], read(link).into());
            stats.links.iter().map(row).collect()
        }
    };
    let workers = stats.clone();
    let (slots, full) = (arena.clone(), arena);
    table
        .family(
            Kind::Counter,
            "levada_stage_envelopes",
            "Envelopes a stage took",
            of_stages(|stage| stage.envelopes_total()),
        )
        .family(Kind::Counter, "levada_stage_batches", "Batches a stage took", of_stages(|stage| stage.batches_total()))
        .family(Kind::Counter, "levada_stage_panics", "Panics of a stage", of_stages(|stage| stage.panics_total()))
        .family(Kind::Gauge, "levada_link_depth", "Envelopes waiting in a link", of_links(|link| link.depth() as u64))
        .family(
            Kind::Counter,
            "levada_link_envelopes",
            "Envelopes that passed a link",
            of_links(|link| link.passed_total()),
        )
        .family(Kind::Counter, "levada_link_full", "Times a link was found full", of_links(|link| link.full_total()))
        .family(
            Kind::Counter,
            "levada_link_dropped",
            "Envelopes a full link dropped",
            of_links(|link| link.dropped_total()),
        )
        .family(Kind::Counter, "levada_worker_regime_seconds", "What workers do with their time", move || {
            regimes(&workers)
        })
        .family(Kind::Gauge, "levada_arena_slots", "Slots by class and state", move || arena_slots(&slots))
        .counter("levada_arena_full", "Slots refused because all were in use", move || full.full_total())
}

/// Lanes are numbered `stage:0`, `stage:1`; a stage that has one lane only is lane 0.
fn stage_labels(name: &str) -> Labels {
    let (stage, lane) = name.split_once(':').unwrap_or((name, "0"));
    vec![("stage", stage.to_owned()), ("lane", lane.to_owned())]
}

fn regimes(stats: &TopologyStats) -> Vec<(Labels, Value)> {
    let of_worker = |worker: &Arc<levada_engine::WorkerStats>| {
        Regime::ALL.map(|regime| {
            let labels = vec![("worker", worker.name.clone()), ("regime", regime.label().to_owned())];
            (labels, Value::Float(worker.regime_ns(regime) as f64 / 1e9))
        })
    };
    stats.workers.iter().flat_map(of_worker).collect()
}

fn arena_slots(arena: &Arena<WakuRecord>) -> Vec<(Labels, Value)> {
    let of_class = |class: levada_engine::ClassUsage| {
        let states = [("used", class.slots_in_use), ("free", class.slots - class.slots_in_use)];
        states.map(|(state, slots)| {
            let labels = vec![("payload_bytes", class.payload_bytes.to_string()), ("state", state.to_owned())];
            (labels, Value::Unsigned(slots))
        })
    };
    arena.usage().flat_map(of_class).collect()
}

/// Counters of the network, by name and help.
macro_rules! counters {
    ($table:expr, $($name:literal, $help:literal, $counter:ident;)*) => {
        $table$(.counter($name, $help, || net::$counter.value()))*
    };
}

fn network(table: Metrics, handle: NetHandle) -> Metrics {
    let stalled = handle.clone();
    let table = table
        .gauge("libp2p_peers", "Peers connected", move || handle.connected_count() as u64)
        .gauge(
            "levada_net_stalled_seconds",
            "For how long reading has been stopped now, of one stream at least; 0 while all are read",
            move || stalled.stalled_for().unwrap_or_default().as_secs_f64(),
        )
        .counter(
            "levada_net_inbound_stalled_seconds",
            "Time in which reading was stopped because the path was full, the sum of all streams",
            || net::INBOUND_STALLED_NS.value() as f64 / 1e9,
        );
    of_transport(counters! { table,
        "levada_net_messages_in", "Messages that relay delivered, each once", MESSAGES_IN;
        "levada_net_message_bytes_in", "Bytes of those messages", MESSAGE_BYTES_IN;
        "levada_net_messages_duplicate", "Own router: messages that came again", MESSAGES_DUPLICATE;
        "levada_net_frames_malformed", "Own router: streams and control messages that do not parse", FRAMES_MALFORMED;
        "levada_net_control_queue_overflows", "Own router: peers disconnected for not reading control messages", CONTROL_QUEUE_OVERFLOWS;
        "levada_net_messages_too_large", "Messages refused by their size", MESSAGES_TOO_LARGE;
        "levada_net_messages_dropped", "Messages dropped before they reached the path", MESSAGES_DROPPED;
        "levada_net_published", "Messages published to at least one peer", PUBLISHED;
        "levada_net_published_bytes", "Bytes of published messages, each counted once", PUBLISHED_BYTES;
        "levada_net_publish_duplicate", "Messages published again while the router knew them", PUBLISH_DUPLICATE;
        "levada_net_publish_too_large", "Messages too large to publish", PUBLISH_TOO_LARGE;
        "levada_net_publish_no_peers", "Messages published while no peer subscribed", PUBLISH_NO_PEERS;
        "levada_net_publish_queue_full", "Messages that met only full send queues", PUBLISH_QUEUE_FULL;
        "levada_net_verdicts_accept", "Verdicts that forward a message", VERDICTS_ACCEPT;
        "levada_net_verdicts_ignore", "Verdicts that drop a message", VERDICTS_IGNORE;
        "levada_net_verdicts_reject", "Verdicts that blame the sender", VERDICTS_REJECT;
        "levada_net_verdicts_late", "Verdicts that came when the router had forgotten the message", VERDICTS_LATE;
        "levada_net_send_queue_drops", "Messages dropped from a peer's send queue", SEND_QUEUE_DROPS;
        "levada_net_inbound_stalls", "Times reading of a stream, or of all, stopped because the path was full", INBOUND_STALLS;
        "levada_net_connections_opened_in", "Incoming connections opened", CONNECTIONS_OPENED_IN;
        "levada_net_connections_closed_in", "Incoming connections closed", CONNECTIONS_CLOSED_IN;
        "levada_net_connections_opened_out", "Outgoing connections opened", CONNECTIONS_OPENED_OUT;
        "levada_net_connections_closed_out", "Outgoing connections closed", CONNECTIONS_CLOSED_OUT;
        "levada_net_dials_ok", "Outgoing connections established", DIALS_OK;
        "levada_net_dials_failed", "Outgoing connections that failed", DIALS_FAILED;
        "levada_net_incoming_failed", "Incoming connections that failed", INCOMING_FAILED;
        "levada_net_relay_share_disconnects", "Relay peers disconnected as relay has its part of the connections", RELAY_SHARE_DISCONNECTS;
        "levada_net_colocation_refusals", "Connections refused because too many peers of their address are here", COLOCATION_REFUSALS;
        "levada_net_addresses_refused", "Addresses learned that name no peer or cannot be dialled", ADDRESSES_REFUSED;
        "levada_net_peer_file_failures", "Times the file of known peers was not written", PEER_FILE_FAILURES;
        "levada_net_ping_disconnects", "Connections closed for want of pings", PING_DISCONNECTS;
        "levada_net_score_disconnects", "Peers disconnected for their score", SCORE_DISCONNECTS;
        "levada_net_metadata_answered", "Metadata requests answered", METADATA_ANSWERED;
        "levada_net_metadata_same_cluster", "Peers of this node's cluster", METADATA_SAME_CLUSTER;
        "levada_net_metadata_no_cluster", "Peers that told no cluster", METADATA_NO_CLUSTER;
        "levada_net_metadata_failed", "Metadata exchanges that failed", METADATA_FAILED;
        "levada_net_metadata_other_cluster", "Peers disconnected because of their cluster", METADATA_OTHER_CLUSTER;
        "levada_net_metadata_unsupported", "Peers without the metadata protocol", METADATA_UNSUPPORTED;
        "levada_net_metadata_malformed", "Metadata frames that do not parse", METADATA_MALFORMED;
    })
}

/// What the connections did below the protocols.
fn of_transport(table: Metrics) -> Metrics {
    counters! { table,
        "levada_net_cross_worker_wakes", "Times a connection was woken by another thread than its worker", CROSS_WORKER_WAKES;
        "levada_net_socket_bytes_in", "Bytes read from sockets", SOCKET_BYTES_IN;
        "levada_net_socket_bytes_out", "Bytes written to sockets", SOCKET_BYTES_OUT;
        "levada_net_handshakes_refused", "Own transport: handshakes that failed", HANDSHAKES_REFUSED;
        "levada_net_records_refused", "Own transport: connections closed because a record did not open", RECORDS_REFUSED;
        "levada_net_muxer_violations", "Own transport: connections closed for breaking the multiplexer's rules", MUXER_VIOLATIONS;
        "levada_net_streams_refused", "Own transport: streams refused because the peer has too many", STREAMS_REFUSED;
        "levada_net_streams_overflowed", "Own transport: streams reset because too much waited for their reader", STREAMS_OVERFLOWED;
        "levada_net_spilled_bytes", "Own transport: bytes copied twice because their reader was not there yet", SPILLED_BYTES;
    }
}
