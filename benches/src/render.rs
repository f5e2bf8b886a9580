//! Rows of a report as a table, CSV or JSON. The fields of a row are the columns, under their names.

use std::fmt::Write as _;

use serde::Serialize;

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Table,
    /// One header line, one line per configuration.
    Csv,
    /// An array of objects whose keys are the column names.
    Json,
}

/// A row of plain numbers and strings.
pub trait Reported: Serialize {
    /// What explains a table of such rows.
    const FOOTER: &'static str;
}

/// All rows.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct Report<R> {
    /// One per configuration, in the order asked for.
    pub rows: Vec<R>,
}

impl<R: Reported> Report<R> {
    /// The report in `format`, ending in a line break.
    pub fn render(&self, format: Format) -> String {
        match format {
            Format::Table => table(&cells(&self.rows)) + R::FOOTER,
            Format::Csv => csv(&cells(&self.rows)),
            Format::Json => serde_json::to_string_pretty(self).expect("rows are plain numbers and strings") + "\n",
        }
    }
}

/// Column names and values of a row.
type Cells = Vec<(String, String)>;

/// As they stand in JSON.
fn cells<R: Serialize>(rows: &[R]) -> Vec<Cells> {
    let cells = |row: &R| match serde_json::to_value(row).expect("a row is plain numbers and strings") {
        serde_json::Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, text(&value))).collect(),
        _ => Vec::new(),
    };
    rows.iter().map(cells).collect()
}

fn csv(rows: &[Cells]) -> String {
    let line = |cells: &Cells, pick: fn(&(String, String)) -> &str| {
        cells.iter().map(|cell| quoted(pick(cell))).collect::<Vec<_>>().join(",") + "\n"
    };
    let header = rows.first().map(|row| line(row, |cell| &cell.0)).unwrap_or_default();
    rows.iter().fold(header, |text, row| text + &line(row, |cell| &cell.1))
}

/// A column per configuration: there are more measures than a terminal is wide.
fn table(rows: &[Cells]) -> String {
    let names = || rows.first().into_iter().flatten().map(|(name, _)| name);
    let width = names().map(String::len).max().unwrap_or_default();
    let mut text = String::new();
    for (line, name) in names().enumerate() {
        let _ = write!(text, "{name:<width$}");
        rows.iter().for_each(|row| {
            let _ = write!(text, " {:>22}", row[line].1);
        });
        text.push('\n');
    }
    text
}

/// A CSV field: quoted where it must be, as the path of an archive may (RFC 4180).
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

/// A number with the digits that mean something.
fn text(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Number(number) if number.is_f64() => {
            let number = number.as_f64().unwrap_or_default();
            let digits = if number.abs() >= 1_000.0 { 0 } else { 3 };
            format!("{number:.digits$}")
        }
        other => other.to_string(),
    }
}
