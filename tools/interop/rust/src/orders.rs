//! What is said on the lines.

use std::io::Write;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What the peer is told.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Connect to an address.
    Dial(String),
    /// Say who is in the mesh of the topic.
    Mesh(()),
    /// Say who is connected.
    Peers(()),
    /// Publish these bytes, in hex.
    Publish(String),
    /// Join the topic or leave it.
    Subscribe(bool),
    /// Close the connections to a peer.
    HangUp(String),
}

/// Prints one line. A reader that has gone away ends the process by its standard input.
pub fn say(what: &str, value: impl Serialize) {
    let value = serde_json::to_value(value).unwrap_or_default();
    let line = Value::Object(Map::from_iter([(what.to_owned(), value)]));
    let _ = writeln!(std::io::stdout(), "{line}");
}
