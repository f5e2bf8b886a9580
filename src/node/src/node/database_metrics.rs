//! What is told of an archive in PostgreSQL, under nwaku's names.

use std::sync::atomic::Ordering::Relaxed;

use levada_archive::counters::{LAST_DATABASE_PAYLOAD_BYTES, TaskTimes, database_tasks};

use crate::metrics::{Kind, Metrics, Value};

/// What nwaku tells of its PostgreSQL database, in its units; the labels of queries are our own. Nothing happens there with other archives.
pub fn database(table: Metrics) -> Metrics {
    let label = |task: &TaskTimes| ("query", task.query.to_owned());
    table
        .gauge("postgres_payload_size_bytes", "Payload of the message stored last in PostgreSQL", || {
            LAST_DATABASE_PAYLOAD_BYTES.load(Relaxed)
        })
        .family(Kind::Counter, "query_count", "Answers of PostgreSQL by what was asked", move || {
            database_tasks().map(|task| (vec![label(&task)], Value::Unsigned(task.count))).collect()
        })
        .family(
            Kind::Gauge,
            "query_time_secs",
            "Seconds that the last answer of PostgreSQL took, by phase",
            move || {
                let row = |task: TaskTimes| {
                    [("sendToDBQuery", task.sending_s), ("waitFinish", task.waiting_s)].map(|(phase, seconds)| {
                        (vec![label(&task), ("phase", phase.to_owned())], Value::Float(seconds))
                    })
                };
                database_tasks().flat_map(row).collect()
            },
        )
}
