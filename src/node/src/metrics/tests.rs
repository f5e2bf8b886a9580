//! Goal: what Prometheus reads is what the sources say, in its text format. Method: the router is driven in process.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use axum::body::{Body, to_bytes};
use axum::http::{Request, header};
use levada_engine::{Counter, Histogram, Steps};
use tower::ServiceExt;

use super::{Kind, Metrics, Value, router};

async fn get(metrics: Metrics, path: &str) -> (u16, String, String) {
    let request = Request::get(path).body(Body::empty()).expect("the request is well formed");
    let response = router(metrics).oneshot(request).await.expect("the router never fails");
    let status = response.status().as_u16();
    let content_type = response.headers()[header::CONTENT_TYPE].to_str().expect("ASCII").to_owned();
    let body = to_bytes(response.into_body(), usize::MAX).await.expect("the body is in memory");
    (status, content_type, String::from_utf8(body.into()).expect("metrics are UTF-8"))
}

#[tokio::test]
async fn counters_and_gauges_are_encoded_with_help_type_and_value() {
    static DECODES: Counter = Counter::new();
    DECODES.add(7);
    let metrics = Metrics::new()
        .counter("levada_message_decodes", "Messages decoded.", || DECODES.value())
        .gauge("levada_temperature", "May be negative.", || -3_i64)
        .gauge("levada_load", "May be fractional.", || 0.5)
        .gauge("levada_slots", "May be large.", || u64::MAX);
    let (status, content_type, text) = get(metrics, "/metrics").await;
    assert_eq!((status, content_type.as_str()), (200, "text/plain; version=0.0.4; charset=utf-8"));
    assert_eq!(
        text,
        "# HELP levada_message_decodes_total Messages decoded.\n\
         # TYPE levada_message_decodes_total counter\n\
         levada_message_decodes_total 7\n\
         # HELP levada_temperature May be negative.\n\
         # TYPE levada_temperature gauge\n\
         levada_temperature -3\n\
         # HELP levada_load May be fractional.\n\
         # TYPE levada_load gauge\n\
         levada_load 0.5\n\
         # HELP levada_slots May be large.\n\
         # TYPE levada_slots gauge\n\
         levada_slots 18446744073709551615\n"
    );
}

#[tokio::test]
async fn one_name_with_several_labels_has_one_heading() {
    let metrics = Metrics::new()
        .gauge_with_labels("waku_archive_messages", "Messages.", &[("type", "stored")], || 12_u64)
        .counter_with_labels("waku_node_messages", "Messages.", &[("type", "relay")], || 3_u64)
        .gauge_with_labels("waku_archive_messages", "Not shown.", &[("type", "other")], || 13_u64);
    let (_, _, text) = get(metrics, "/metrics").await;
    assert_eq!(
        text,
        "# HELP waku_archive_messages Messages.\n\
         # TYPE waku_archive_messages gauge\n\
         waku_archive_messages{type=\"stored\"} 12\n\
         waku_archive_messages{type=\"other\"} 13\n\
         # HELP waku_node_messages_total Messages.\n\
         # TYPE waku_node_messages_total counter\n\
         waku_node_messages_total{type=\"relay\"} 3\n"
    );
}

#[tokio::test]
async fn label_values_are_escaped_and_an_empty_family_is_absent() {
    let quoted = || vec![(vec![("topic", "a\"b\\c\nd".to_owned())], Value::Unsigned(1))];
    let metrics = Metrics::new().family(Kind::Gauge, "levada_absent", "Never shown.", Vec::new).family(
        Kind::Counter,
        "levada_topics",
        "By topic.",
        quoted,
    );
    let (_, _, text) = get(metrics, "/metrics").await;
    assert!(text.contains("levada_topics_total{topic=\"a\\\"b\\\\c\\nd\"} 1\n"), "{text}");
    assert!(!text.contains("levada_absent"), "{text}");
}

#[tokio::test]
async fn a_histogram_has_its_steps_and_one_without_a_bound() {
    static SIZES: Histogram = Histogram::new(Steps::new(&[1_000, 2_500], 1_000));
    [500, 2_000, 2_500, 9_000].into_iter().for_each(|bytes| SIZES.observe(bytes));
    let metrics = Metrics::new().histogram_with_labels("levada_size", "In kB.", &[("of", "all")], || SIZES.observed());
    let (_, _, text) = get(metrics, "/metrics").await;
    assert_eq!(
        text,
        "# HELP levada_size In kB.\n\
         # TYPE levada_size histogram\n\
         levada_size_bucket{of=\"all\",le=\"1\"} 1\n\
         levada_size_bucket{of=\"all\",le=\"2.5\"} 3\n\
         levada_size_bucket{of=\"all\",le=\"+Inf\"} 4\n\
         levada_size_sum{of=\"all\"} 14.0\n\
         levada_size_count{of=\"all\"} 4\n"
    );
}

#[tokio::test]
async fn every_scrape_reads_the_sources_again() {
    static READS: AtomicU64 = AtomicU64::new(0);
    let metrics = Metrics::new().counter("levada_reads", "Reads.", || READS.fetch_add(1, Relaxed));
    let router = router(metrics);
    for expected in ["levada_reads_total 0\n", "levada_reads_total 1\n"] {
        let request = Request::get("/metrics").body(Body::empty()).expect("the request is well formed");
        let response = router.clone().oneshot(request).await.expect("the router never fails");
        let body = to_bytes(response.into_body(), usize::MAX).await.expect("the body is in memory");
        assert!(body.ends_with(expected.as_bytes()));
    }
}

#[tokio::test]
async fn other_paths_point_to_the_metrics() {
    assert_eq!(get(Metrics::new(), "/").await.0, 200);
    let (status, _, text) = get(Metrics::new(), "/metric").await;
    assert_eq!(status, 404);
    assert!(text.contains("/metrics"));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_process_metrics_are_there_and_plausible() {
    let (_, _, text) = get(Metrics::new().process(), "/metrics").await;
    let value = |name: &str| -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{name} is missing in {text}")).parse().expect("a number")
    };
    assert!(value("process_resident_memory_bytes") > 100_000.0);
    assert!(value("process_virtual_memory_bytes") >= value("process_resident_memory_bytes"));
    assert!(value("process_cpu_seconds_total") >= 0.0);
    assert!(value("process_open_fds") >= 3.0);
    assert!(value("process_max_fds") >= value("process_open_fds"));
    let epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_secs_f64();
    let age_seconds = epoch - value("process_start_time_seconds");
    assert!((-5.0..86_400.0).contains(&age_seconds), "the process would be {age_seconds} s old");
}

#[tokio::test]
async fn a_taken_port_is_named_with_its_flag() {
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = taken.local_addr().expect("bound");
    let error = super::serve(address, Metrics::new(), std::future::pending()).await.err().expect("the port is taken");
    let text = error.to_string();
    assert!(text.contains(&address.to_string()) && text.contains("--metrics-server-port"), "{text}");
}
