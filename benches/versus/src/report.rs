//! Printing the rows, and keeping them.

use std::collections::BTreeMap;
use std::io::{Result, Write};
use std::path::Path;

use crate::Options;
use crate::row::Row;

/// Prints the rows as asked, and keeps them if asked. What was refused is said on the error stream.
pub fn print(rows: &[Row], options: &Options) -> Result<()> {
    let mut out = std::io::stdout().lock();
    if options.json {
        serde_json::to_writer_pretty(&mut out, rows)?;
        writeln!(out)?;
    } else {
        out.write_all(table(rows).as_bytes())?;
    }
    let busy: Vec<&str> = rows.iter().filter(|row| row.machine.is_too_much()).map(|row| row.measure.as_str()).collect();
    if !busy.is_empty() {
        eprintln!("the machine was busy with other things, these rows are not to be kept: {}", busy.join(" "));
    }
    if options.record { record(rows, options) } else { Ok(()) }
}

fn number(value: f64) -> String {
    let digits = if value.abs() >= 1_000.0 { 0 } else { 2 };
    format!("{value:.digits$}")
}

fn table(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<18} {:<12} {:>9} {:>9} {:<22} {:>7} {:>7} {:>6} {:<5} {:>8} {:>7} {:>9}\n",
        "measure",
        "unit",
        "ours",
        "rival",
        "rival_name",
        "ratio",
        "bar",
        "spread",
        "holds",
        "others%",
        "stolen%",
        "switched"
    );
    for row in rows {
        let optional = |value: Option<f64>| value.map_or("-".to_owned(), number);
        text += &format!(
            "{:<18} {:<12} {:>9} {:>9} {:<22} {:>7} {:>7} {:>5.0}% {:<5} {:>8.1} {:>7.1} {:>6}/{:<4}{}\n",
            row.measure,
            row.unit,
            number(row.ours),
            optional(row.rival),
            row.rival_name.as_deref().unwrap_or("-"),
            optional(row.ratio),
            number(row.bar),
            row.spread_pct,
            if row.holds { "yes" } else { "NO" },
            row.machine.others_pct,
            row.machine.stolen_pct,
            row.switches.map_or(row.machine.switched.to_string(), |switches| format!("{switches}x")),
            row.machine.kept,
            if row.machine.is_too_much() { " busy" } else { "" },
        );
    }
    text += "\nall medians\n";
    for row in rows.iter().filter(|row| !row.all.is_empty()) {
        let all: Vec<String> = row.all.iter().map(|(name, value)| format!("{name} {}", number(*value))).collect();
        text += &format!("  {:<18} {}\n", row.measure, all.join(", "));
    }
    text += FOOTER;
    text
}

const FOOTER: &str = "
ratio > 1: better than the rival; bar: the least ratio, or the limit where there is no rival. spread: the middle half of the
rounds' ratios, of our samples where there is no rival.
others%, stolen%: time of all cores that other processes and the hypervisor took during the row. switched: samples thrown away because
a thread was switched out against its will, of those kept; with an x how often threads that share cores were, in those kept.
busy: others took over 10 %, the hypervisor over 1 %, or more was thrown away than kept; such a row is not recorded.
";

/// Replaces the rows measured now in the kept results, in the order of the report; those of a busy machine are left as
/// they were.
fn record(rows: &[Row], options: &Options) -> Result<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../record/{}.json", options.suite.name));
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let kept: Vec<serde_json::Value> = serde_json::from_str(&kept).unwrap_or_default();
    let name = |row: &serde_json::Value| row["measure"].as_str().unwrap_or_default().to_owned();
    let mut by_name: BTreeMap<String, serde_json::Value> = kept.into_iter().map(|row| (name(&row), row)).collect();
    for row in rows.iter().filter(|row| !row.machine.is_too_much()) {
        by_name.insert(row.measure.clone(), serde_json::to_value(row)?);
    }
    let ordered: Vec<_> = options.suite.measures.iter().filter_map(|measure| by_name.remove(*measure)).collect();
    std::fs::create_dir_all(path.parent().expect("the path has a folder"))?;
    std::fs::write(path, serde_json::to_string_pretty(&ordered)? + "\n")
}
