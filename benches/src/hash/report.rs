//! What the benchmark of the hash stage prints: one row per backlog, as a table, CSV or JSON.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::median::median;
use crate::micro::Format;

/// How many messages wait whenever the stage looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backlog {
    /// So many, and no more until they are done.
    Messages(usize),
    /// Always more than the stage takes at once.
    Endless,
}

impl Backlog {
    /// The number, if there is one.
    pub const fn messages(self) -> Option<usize> {
        match self {
            Self::Messages(messages) => Some(messages),
            Self::Endless => None,
        }
    }
}

impl fmt::Display for Backlog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Messages(messages) => messages.fmt(f),
            Self::Endless => ENDLESS.fmt(f),
        }
    }
}

impl Serialize for Backlog {
    /// A number, or the word.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Messages(messages) => messages.serialize(serializer),
            Self::Endless => ENDLESS.serialize(serializer),
        }
    }
}

const ENDLESS: &str = "endless";

/// One backlog: medians over the passes.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// Messages that waited.
    pub backlog: Backlog,
    /// The kernel that such a batch is begun with.
    pub kernel: &'static str,
    /// Messages per second of the stage.
    pub msg_per_s: f64,
    /// Messages per second of the same stage with the `sha2` crate, one message after another.
    pub sha2_msg_per_s: f64,
    /// The median of the quotients of neighbouring passes, to two digits: a pass repeats within about one per cent.
    pub ratio: f64,
}

impl Row {
    /// The medians of `pairs` (the crate's time and the stage's in nanoseconds), each over `messages` messages.
    pub(super) fn of(backlog: Backlog, kernel: &'static str, messages: usize, pairs: &[(u64, u64)]) -> Self {
        let median_of = |value: fn(&(u64, u64)) -> f64| median(pairs.iter().map(value).collect());
        let rate = |ns: f64| (messages as f64 * 1e9 / ns.max(1.0)).round();
        Self {
            backlog,
            kernel,
            msg_per_s: rate(median_of(|pair| pair.1 as f64)),
            sha2_msg_per_s: rate(median_of(|pair| pair.0 as f64)),
            ratio: (median_of(|pair| pair.0 as f64 / pair.1.max(1) as f64) * 100.0).round() / 100.0,
        }
    }
}

/// All rows.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct Report {
    /// One per backlog, the shortest first.
    pub rows: Vec<Row>,
}

impl Report {
    /// The report in `format`, ending in a line break.
    pub fn render(&self, format: Format) -> String {
        match format {
            Format::Table => self.lines("backlog       kernel    msg_per_s  sha2_msg_per_s    ratio", |row| {
                let Row { backlog, kernel, msg_per_s, sha2_msg_per_s, ratio } = row;
                format!("{backlog:<8}{kernel:>12}{msg_per_s:>13.0}{sha2_msg_per_s:>16.0}{ratio:>9.2}")
            }),
            Format::Csv => self.lines("backlog,kernel,msg_per_s,sha2_msg_per_s,ratio", |row| {
                let Row { backlog, kernel, msg_per_s, sha2_msg_per_s, ratio } = row;
                format!("{backlog},{kernel},{msg_per_s:.0},{sha2_msg_per_s:.0},{ratio:.2}")
            }),
            Format::Json => serde_json::to_string_pretty(self).expect("rows are plain numbers and strings") + "\n",
        }
    }

    fn lines(&self, header: &str, line: impl Fn(&Row) -> String) -> String {
        self.rows.iter().fold(header.to_owned() + "\n", |text, row| text + &line(row) + "\n")
    }
}
