//! The Grafana dashboard, made from one table: `levada dashboard` prints it, and a test asks a running node for every metric.

use serde_json::{Value, json};

/// A row of panels.
struct Row {
    title: &'static str,
    panels: &'static [Panel],
}

/// A graph over time.
struct Panel {
    title: &'static str,
    /// As Grafana names it.
    unit: &'static str,
    /// PromQL, and what its line is called.
    queries: &'static [(&'static str, &'static str)],
}

const ROWS: &[Row] = &[
    Row {
        title: "Messages",
        panels: &[
            Panel {
                title: "Accepted messages",
                unit: "ops",
                queries: &[("sum by (type) (rate(waku_node_messages_total[$__rate_interval]))", "{{type}}")],
            },
            Panel {
                title: "Outcome of validation",
                unit: "ops",
                queries: &[
                    ("sum by (result) (rate(levada_messages_validated_total[$__rate_interval]))", "{{result}}"),
                    ("rate(levada_messages_malformed_total[$__rate_interval])", "malformed"),
                    ("rate(levada_messages_duplicate_total[$__rate_interval])", "duplicate"),
                ],
            },
            Panel {
                title: "Relayed bytes",
                unit: "Bps",
                queries: &[(
                    "sum by (topic, type, direction) (rate(waku_relay_network_bytes_total[$__rate_interval]))",
                    "{{topic}} {{type}} {{direction}}",
                )],
            },
            Panel {
                title: "Work per accepted message",
                unit: "short",
                queries: &[
                    (
                        "rate(levada_message_decodes_total[5m]) / ignoring(type) rate(waku_node_messages_total[5m])",
                        "decodes",
                    ),
                    (
                        "rate(levada_message_hashes_total[5m]) / ignoring(type) rate(waku_node_messages_total[5m])",
                        "message hashes",
                    ),
                    (
                        "rate(levada_payload_copies_total[5m]) / ignoring(type) rate(waku_node_messages_total[5m])",
                        "payload copies",
                    ),
                ],
            },
        ],
    },
    Row {
        title: "Network",
        panels: &[
            Panel { title: "Peers", unit: "short", queries: &[("libp2p_peers", "connected")] },
            Panel {
                title: "Socket bytes",
                unit: "Bps",
                queries: &[
                    ("rate(levada_net_socket_bytes_in_total[$__rate_interval])", "in"),
                    ("rate(levada_net_socket_bytes_out_total[$__rate_interval])", "out"),
                ],
            },
            Panel {
                title: "Dropped or held back",
                unit: "ops",
                queries: &[
                    ("rate(levada_net_send_queue_drops_total[$__rate_interval])", "no room at a slow peer"),
                    ("rate(levada_net_messages_dropped_total[$__rate_interval])", "messages in"),
                    (
                        "rate(levada_net_inbound_stalled_seconds_total[$__rate_interval])",
                        "seconds not read, per second",
                    ),
                ],
            },
            Panel {
                title: "Refused peers and broken rules",
                unit: "ops",
                queries: &[
                    ("rate(levada_net_metadata_other_cluster_total[$__rate_interval])", "other cluster"),
                    ("rate(levada_net_frames_malformed_total[$__rate_interval])", "malformed frames"),
                    ("rate(levada_net_handshakes_refused_total[$__rate_interval])", "handshakes"),
                    ("rate(levada_net_score_disconnects_total[$__rate_interval])", "by score"),
                ],
            },
        ],
    },
    Row {
        title: "Archive",
        panels: &[
            Panel {
                title: "Stored, and not",
                unit: "ops",
                queries: &[
                    ("rate(waku_archive_messages{type=\"stored\"}[$__rate_interval])", "stored"),
                    ("sum by (type) (rate(waku_archive_errors_total[$__rate_interval]))", "{{type}}"),
                ],
            },
            Panel {
                title: "Waiting for the disk",
                unit: "bytes",
                queries: &[("levada_archive_backlog_bytes", "backlog")],
            },
            Panel {
                title: "Time of inserts and queries",
                unit: "s",
                queries: &[
                    (
                        "rate(levada_archive_insert_seconds_total[5m]) / ignoring(type) rate(waku_archive_messages{type=\"stored\"}[5m])",
                        "insert, mean per message",
                    ),
                    (
                        "histogram_quantile(0.95, rate(waku_archive_insert_duration_seconds_bucket[5m]))",
                        "transaction, 95 in 100 within",
                    ),
                    (
                        "histogram_quantile(0.95, rate(waku_archive_query_duration_seconds_bucket[5m]))",
                        "query, 95 in 100 within",
                    ),
                ],
            },
            Panel { title: "Damaged records", unit: "short", queries: &[("levada_archive_damaged_total", "damaged")] },
        ],
    },
    Row {
        title: "Services",
        panels: &[
            Panel {
                title: "Requests",
                unit: "ops",
                queries: &[(
                    "sum by (service, state) (rate(waku_service_requests_total[$__rate_interval]))",
                    "{{service}} {{state}}",
                )],
            },
            Panel {
                title: "Filter subscribers",
                unit: "short",
                queries: &[("waku_filter_subscriptions", "subscribers"), ("levada_filter_criteria", "criteria")],
            },
            Panel {
                title: "Filter pushes",
                unit: "ops",
                queries: &[("rate(levada_filter_pushes_total[$__rate_interval])", "pushes")],
            },
            Panel {
                title: "REST",
                unit: "ops",
                queries: &[
                    ("rate(levada_rest_requests_total[$__rate_interval])", "answered"),
                    ("rate(levada_rest_refused_total[$__rate_interval])", "refused"),
                    ("rate(levada_rest_failed_total[$__rate_interval])", "failed"),
                ],
            },
        ],
    },
    Row {
        title: "Engine",
        panels: &[
            Panel {
                title: "Time of the workers",
                unit: "percentunit",
                queries: &[(
                    "sum by (worker, regime) (rate(levada_worker_regime_seconds_total[$__rate_interval]))",
                    "{{worker}} {{regime}}",
                )],
            },
            Panel { title: "Links: envelopes waiting", unit: "short", queries: &[("levada_link_depth", "{{link}}")] },
            Panel {
                title: "Slots in use",
                unit: "short",
                queries: &[("levada_arena_slots{state=\"used\"}", "{{payload_bytes}}")],
            },
            Panel { title: "Memory", unit: "bytes", queries: &[("process_resident_memory_bytes", "resident")] },
        ],
    },
];

const PANELS_ACROSS: usize = 4;
const COLUMNS: usize = 24;
const PANEL_LINES: usize = 8;

/// The dashboard as Grafana reads it from a file. Its data source is chosen by the viewer.
pub fn dashboard() -> Value {
    let mut panels = Vec::new();
    let mut line = 0;
    for row in ROWS {
        let number = panels.len() + 1;
        let place = json!({"h": 1, "w": COLUMNS, "x": 0, "y": line});
        panels.push(json!({"type": "row", "id": number, "title": row.title, "collapsed": false, "gridPos": place, "panels": []}));
        line += 1;
        for (position, panel) in row.panels.iter().enumerate() {
            panels.push(graph(panel, panels.len() + 1, position, line));
        }
        line += PANEL_LINES;
    }
    let source = json!({"name": "source", "label": "Data source", "type": "datasource", "query": "prometheus"});
    json!({
        "uid": "levada", "title": "Levada", "schemaVersion": 39, "editable": true, "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"}, "templating": {"list": [source]}, "panels": panels,
    })
}

fn graph(panel: &Panel, number: usize, position: usize, line: usize) -> Value {
    let source = json!({"type": "prometheus", "uid": "${source}"});
    let width = COLUMNS / PANELS_ACROSS;
    let targets: Vec<Value> = panel
        .queries
        .iter()
        .zip('A'..='Z')
        .map(|((query, name), letter)| {
            json!({"refId": letter, "datasource": source, "expr": query, "legendFormat": name})
        })
        .collect();
    json!({
        "type": "timeseries", "id": number, "title": panel.title, "datasource": source,
        "gridPos": {"h": PANEL_LINES, "w": width, "x": width * (position % PANELS_ACROSS), "y": line},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []}, "targets": targets,
    })
}
