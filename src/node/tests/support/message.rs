//! Messages to publish, and what the node must make of them.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use levada_wire::hash::{Hex, message_hash};
use serde_json::{Value, json};

/// The topic a node without configuration is subscribed to.
pub const TOPIC: &str = "/waku/2/rs/0/0";

/// Where messages on [`TOPIC`] are published, and fetched from the REST cache.
pub const MESSAGES: &str = "/relay/v1/messages/%2Fwaku%2F2%2Frs%2F0%2F0";

/// A message as its sender knows it.
#[derive(Debug, Clone)]
pub struct Message {
    pub payload: Vec<u8>,
    pub content_topic: String,
    pub meta: Vec<u8>,
    pub timestamp_ns: i64,
    pub ephemeral: bool,
}

impl Message {
    /// A message of now.
    pub fn new(payload: impl Into<Vec<u8>>) -> Self {
        Self {
            payload: payload.into(),
            content_topic: "/levada/1/test/proto".to_owned(),
            meta: Vec::new(),
            timestamp_ns: unix_ns(),
            ephemeral: false,
        }
    }

    /// The body that publishes it.
    pub fn json(&self) -> Value {
        let mut body = json!({
            "payload": STANDARD.encode(&self.payload),
            "contentTopic": self.content_topic,
            "timestamp": self.timestamp_ns,
        });
        if !self.meta.is_empty() {
            body["meta"] = STANDARD.encode(&self.meta).into();
        }
        if self.ephemeral {
            body["ephemeral"] = true.into();
        }
        body
    }

    /// Its hash on [`TOPIC`] (14/WAKU2-MESSAGE) as REST shows it, computed from the fields and not by the node.
    pub fn hash(&self) -> String {
        let hash = message_hash(TOPIC, &self.payload, &self.content_topic, &self.meta, self.timestamp_ns);
        format!("0x{}", Hex(&hash))
    }
}

/// Nanoseconds since the epoch.
pub fn unix_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970");
    i64::try_from(since.as_nanos()).expect("the clock is before 2262")
}
