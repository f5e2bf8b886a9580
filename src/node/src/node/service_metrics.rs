//! The metrics of the services for light clients.

use std::sync::Arc;

use levada_net::exchange::ServiceCounters;
use levada_net::filter::{FilterCounters, Pushes};
use levada_net::{Exchange, PeerId, counters};
use levada_stages::filter::Subscriptions;
use levada_wire::waku::filter::FilterSubscribeType;
use levada_wire::waku::store;

use crate::metrics::{Kind, Labels, Metrics, Value};

/// What all services have in common. nwaku's `service` is the protocol id.
pub fn requests(table: Metrics, exchange: &Exchange) -> Metrics {
    let (requests, bytes, limits, broken, refused) =
        (exchange.clone(), exchange.clone(), exchange.clone(), exchange.clone(), exchange.clone());
    let (handled, stored) = (exchange.clone(), exchange.clone());
    table
        .family(Kind::Counter, "waku_service_requests", "Requests by service and outcome", move || {
            rows(&requests, "state", |counters| {
                vec![("served", counters.served.value()), ("rejected", counters.rejected.value())]
            })
        })
        .family(Kind::Counter, "waku_service_network_bytes", "Bytes of requests and answers", move || {
            rows(&bytes, "direction", |counters| {
                vec![("in", counters.bytes_in.value()), ("out", counters.bytes_out.value())]
            })
        })
        .family(Kind::Gauge, "waku_service_requests_limit", "Requests a second that the rate limit allows", move || {
            let limit = |counters: &ServiceCounters| {
                counters.rate_limit.map(|limit| f64::from(limit.requests) / limit.period.as_secs_f64())
            };
            let row = |(service, counters): (&str, Arc<ServiceCounters>)| {
                limit(&counters).map(|limit| (vec![("service", service.to_owned())], Value::Float(limit)))
            };
            limits.counters().into_iter().filter_map(row).collect()
        })
        .family(Kind::Counter, "levada_service_streams_failed", "Streams that ended without an answer", move || {
            rows(&broken, "reason", |counters| {
                vec![("malformed", counters.malformed.value()), ("broken", counters.broken.value())]
            })
        })
        .family(
            Kind::Histogram,
            "waku_service_request_handling_duration_seconds",
            "Time from the first byte of a request to the end of its answer",
            move || {
                let row = |(service, counters): (&str, Arc<ServiceCounters>)| {
                    (vec![("service", service.to_owned())], Value::Observed(counters.handling.observed()))
                };
                handled.counters().into_iter().map(row).collect()
            },
        )
        .family(
            Kind::Gauge,
            "waku_store_time_seconds",
            "Time spent by each phase of store, all queries together",
            move || {
                let of_store = stored.counters().into_iter().filter(|(service, _)| *service == store::PROTOCOL);
                let rows = of_store.flat_map(|(_, counters)| {
                    let phases = [("query-db", &counters.answering), ("send-store-resp", &counters.writing)];
                    phases.map(|(phase, spent)| (vec![("phase", phase.to_owned())], Value::Float(spent.observed().sum)))
                });
                rows.collect()
            },
        )
        .counter("levada_service_streams_refused", "Streams refused because their peer has too many", move || {
            refused.streams_refused_total()
        })
}

/// The peers that are to be asked.
pub fn named(table: Metrics, peers: Vec<(&'static str, PeerId)>) -> Metrics {
    table.family(Kind::Gauge, "waku_service_peers", "Peers named for a service, each 1", move || {
        let row = |(protocol, peer): &(&str, PeerId)| {
            let labels = vec![("protocol", (*protocol).to_owned()), ("peerId", peer.to_string())];
            (labels, Value::Unsigned(1))
        };
        peers.iter().map(row).collect()
    })
}

fn rows(
    exchange: &Exchange,
    label: &'static str,
    of: impl Fn(&ServiceCounters) -> Vec<(&'static str, u64)>,
) -> Vec<(Labels, Value)> {
    let of_service = |(service, counters): (&str, Arc<ServiceCounters>)| {
        let row = |(value, count): (&str, u64)| {
            (vec![("service", service.to_owned()), (label, value.to_owned())], Value::Unsigned(count))
        };
        of(&counters).into_iter().map(row).collect::<Vec<_>>()
    };
    exchange.counters().into_iter().flat_map(of_service).collect()
}

/// Filter's own. Names with the prefix `waku_` are nwaku's.
pub fn filter(table: Metrics, subscriptions: &Arc<Subscriptions>, pushes: &Arc<Pushes>) -> Metrics {
    let (subscribers, criteria, matched) = (subscriptions.clone(), subscriptions.clone(), subscriptions.clone());
    let (kept, counters) = (pushes.clone(), || pushes.counters().clone());
    let (encoded, pushed, bytes, received) = (counters(), counters(), counters(), counters());
    let table = requests_by_type(table, pushes.counters());
    let table = errors_by_type(table, pushes.counters());
    let pushing = pushes.clone();
    let table = table.histogram_with_labels(
        "waku_filter_handle_message_duration_seconds",
        "Time from the match of a message to the last subscriber that has it, or that will not get it",
        &[],
        move || pushing.durations(),
    );
    table
        .gauge("waku_filter_subscriptions", "Filter subscribers", move || subscribers.subscribers() as u64)
        .gauge("levada_filter_criteria", "Filter criteria held", move || criteria.count() as u64)
        .counter("levada_filter_matches", "Pairs of a message and a filter subscriber that wants it", move || {
            matched.matched_total()
        })
        .counter("levada_filter_encodes", "Messages framed for their filter subscribers, each once", move || {
            encoded.encoded.value()
        })
        .counter("levada_filter_pushes", "Messages pushed to a filter subscriber", move || pushed.pushed.value())
        .counter("levada_filter_pushed_bytes", "Bytes of those pushes", move || bytes.pushed_bytes.value())
        .counter("levada_filter_received", "Messages that filter nodes pushed to this one", move || {
            received.received.value()
        })
        .gauge("levada_filter_kept_bytes", "Bytes of slots that wait to be pushed", move || kept.kept_bytes() as u64)
}

fn requests_by_type(table: Metrics, counters: &Arc<FilterCounters>) -> Metrics {
    let kinds = [
        FilterSubscribeType::SubscriberPing,
        FilterSubscribeType::Subscribe,
        FilterSubscribeType::Unsubscribe,
        FilterSubscribeType::UnsubscribeAll,
    ];
    kinds.into_iter().fold(table, |table, kind| {
        let (asked, took) = (counters.clone(), counters.clone());
        let labels = [("type", kind.label())];
        table
            .counter_with_labels("waku_filter_requests", "Filter requests", &labels, move || {
                asked.requests[kind as usize].value()
            })
            .histogram_with_labels(
                "waku_filter_request_duration_seconds",
                "Time that filter took to do what it was asked",
                &labels,
                move || took.request_durations[kind as usize].observed(),
            )
    })
}

fn errors_by_type(table: Metrics, counters: &Arc<FilterCounters>) -> Metrics {
    type Read = fn(&FilterCounters) -> u64;
    const ERRORS: [(&str, Read); 10] = [
        ("decode_rpc_failure", |counters| counters.undecodable.value()),
        ("bad_request", |counters| counters.bad_requests.value()),
        ("not_found", |counters| counters.not_found.value()),
        ("service_unavailable", |counters| counters.unavailable.value()),
        ("push_timeout_failure", |counters| counters.timed_out.value()),
        ("push_unreachable", |counters| counters.unreachable.value()),
        ("push_queue_full", |counters| counters.dropped.value()),
        ("push_too_large", |counters| counters.too_large.value()),
        ("push_refused", |counters| counters.refused.value()),
        ("push_unexpected", |counters| counters.unexpected.value()),
    ];
    ERRORS.iter().fold(table, |table, (kind, read)| {
        let (counters, read) = (counters.clone(), *read);
        table.counter_with_labels(
            "waku_filter_errors",
            "Filter requests and pushes that failed",
            &[("type", kind)],
            move || read(&counters),
        )
    })
}

/// Those of store, lightpush and peer exchange. Names with the prefix `waku_` are nwaku's.
pub fn answered(table: Metrics) -> Metrics {
    let errors = |table: Metrics, name, help, kinds: [(&'static str, &'static levada_engine::Counter); 2]| {
        kinds.into_iter().fold(table, |table, (kind, counter)| {
            table.counter_with_labels(name, help, &[("type", kind)], move || counter.value())
        })
    };
    let table = table
        .counter("waku_store_queries", "Store queries of peers", || counters::STORE_QUERIES.value())
        .counter("levada_store_rows_sent", "Messages sent to peers that queried for them", || {
            counters::STORE_ROWS_SENT.value()
        })
        .counter("waku_lightpush_messages", "Messages published for light clients, by lightpush of version 2", || {
            counters::LIGHTPUSH_V2_PUBLISHED.value()
        })
        .counter("waku_lightpush_v3_messages", "The same, of version 3", || counters::LIGHTPUSH_V3_PUBLISHED.value())
        .gauge("waku_px_peers_received_total", "Node records that peers told when they were asked", || {
            counters::PEER_EXCHANGE_RECEIVED.value()
        })
        .counter("waku_px_peers_sent", "Node records sent to peers that asked for some", || {
            counters::PEER_EXCHANGE_SENT.value()
        });
    let kinds = [("decode_rpc_failure", &counters::STORE_MALFORMED), ("archive", &counters::STORE_FAILURES)];
    let table = errors(table, "waku_store_errors", "Store queries without a page", kinds);
    let kinds =
        [("decode_rpc_failure", &counters::LIGHTPUSH_V2_MALFORMED), ("not_published", &counters::LIGHTPUSH_V2_REFUSED)];
    let table = errors(table, "waku_lightpush_errors", NOT_PUBLISHED, kinds);
    let kinds =
        [("decode_rpc_failure", &counters::LIGHTPUSH_V3_MALFORMED), ("not_published", &counters::LIGHTPUSH_V3_REFUSED)];
    let table = errors(table, "waku_lightpush_v3_errors", NOT_PUBLISHED, kinds);
    let table = table.counter_with_labels(
        "waku_px_client_errors",
        "Questions for node records that were not answered well",
        &[("type", "no_answer")],
        || counters::PEER_EXCHANGE_ASK_FAILURES.value(),
    );
    table.counter_with_labels(
        "waku_px_errors",
        "Peer exchange requests that failed",
        &[("type", "decode_rpc_failure")],
        || counters::PEER_EXCHANGE_MALFORMED.value(),
    )
}

const NOT_PUBLISHED: &str = "Messages of light clients that were not published";
