//! A WakuMessage as prost reads it, with payloads that share the received bytes.

use bytes::Bytes;

#[derive(Clone, PartialEq, prost::Message)]
pub struct ProstMessage {
    #[prost(bytes = "bytes", tag = "1")]
    pub payload: Bytes,
    #[prost(string, tag = "2")]
    pub content_topic: String,
    #[prost(uint32, tag = "3")]
    pub version: u32,
    #[prost(sint64, tag = "10")]
    pub timestamp: i64,
    #[prost(bytes = "bytes", tag = "11")]
    pub meta: Bytes,
    #[prost(bytes = "bytes", tag = "21")]
    pub proof: Bytes,
    #[prost(bool, tag = "31")]
    pub ephemeral: bool,
}
