//! The benchmark of the hash stage in small: which rows it has, what each says, and that the formats agree.

use levada_benches::hash::{self, Backlog, Options};
use levada_benches::micro::{BenchError, Format};
use levada_wire::hash::{Kernel, MESSAGE_HASHES, Scratch};
use serde_json::Value;

const OPTIONS: Options = Options { messages: 64, runs: 1, seed: 42 };

#[test]
fn every_backlog_has_a_row_in_every_format() {
    let before = MESSAGE_HASHES.value();
    let report = hash::run(&OPTIONS).unwrap();
    // Two sides, seven backlogs, one pass and one before it.
    assert_eq!(MESSAGE_HASHES.value() - before, 2 * 7 * 2 * 64);
    let backlogs: Vec<Backlog> = report.rows.iter().map(|row| row.backlog).collect();
    assert_eq!(backlogs, hash::BACKLOGS);
    for row in &report.rows {
        assert!(row.msg_per_s > 0.0 && row.sha2_msg_per_s > 0.0 && row.ratio > 0.0, "{row:?}");
        let kernel = Scratch::new().kernel(row.backlog.messages().unwrap_or(64));
        assert_eq!(row.kernel, kernel.name());
    }
    assert_eq!(report.rows[0].kernel, Kernel::Sha2.name());

    let json: Value = serde_json::from_str(&report.render(Format::Json)).unwrap();
    let rows = json.as_array().unwrap();
    let backlogs: Vec<Value> = rows.iter().map(|row| row["backlog"].clone()).collect();
    assert_eq!(Value::from(backlogs), serde_json::json!([1, 2, 8, 16, 32, 64, "endless"]));
    for row in rows {
        let keys: Vec<&str> = row.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["backlog", "kernel", "msg_per_s", "sha2_msg_per_s", "ratio"]);
        assert!(
            row["kernel"].is_string()
                && ["msg_per_s", "sha2_msg_per_s", "ratio"].iter().all(|key| row[key].is_number())
        );
    }

    let (csv, table) = (report.render(Format::Csv), report.render(Format::Table));
    for (line, row) in csv.lines().zip(table.lines()) {
        assert_eq!(line.split(',').collect::<Vec<_>>(), row.split_whitespace().collect::<Vec<_>>());
    }
    assert_eq!((csv.lines().count(), table.lines().count()), (8, 8));
}

#[test]
fn nothing_to_measure_is_refused() {
    let few = hash::run(&Options { messages: 63, ..OPTIONS }).unwrap_err();
    assert!(matches!(few, BenchError::FewMessages { messages: 63, messages_min: 64 }), "{few}");
    assert!(few.to_string().contains("--messages=64"), "{few}");
    assert!(matches!(hash::run(&Options { runs: 0, ..OPTIONS }), Err(BenchError::Zero { option: "runs" })));
}
