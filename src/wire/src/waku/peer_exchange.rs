//! Peer exchange (34/WAKU2-PEER-EXCHANGE): node records for those who know no peers.

use crate::error::ServiceError;
use crate::proto::{Value, Walk};
use crate::waku::fields::{bytes_len, check_len, narrow, push, put_bytes, put_head, put_varint, text, varint_len};

/// The protocol id of peer exchange, verbatim on the wire.
pub const PROTOCOL: &str = "/vac/waku/peer-exchange/2.0.0-alpha1";
/// The longest request that is read, in bytes.
pub const REQUEST_BYTES_MAX: usize = 1_024;
/// The longest response that is read, in bytes: 60 records of at most 300 bytes, and as much again for what newer nodes may add.
pub const RESPONSE_BYTES_MAX: usize = 64 * 1_024;
/// The longest node record, in bytes (EIP-778).
pub const RECORD_BYTES_MAX: usize = 300;
/// Most records in a response, as nwaku sends them.
pub const RECORDS_MAX: usize = 60;

/// The status codes of a response.
pub mod status {
    /// The records are here, though there may be none.
    pub const SUCCESS: u32 = 200;
    /// The request could not be read.
    pub const BAD_REQUEST: u32 = 400;
    /// The peer asks too often.
    pub const TOO_MANY_REQUESTS: u32 = 429;
    /// The node cannot answer now.
    pub const SERVICE_UNAVAILABLE: u32 = 503;
}

mod number {
    pub const QUERY: u32 = 1;
    pub const RESPONSE: u32 = 2;

    pub const NUM_PEERS: u32 = 1;

    pub const PEER_INFOS: u32 = 1;
    pub const STATUS_CODE: u32 = 10;
    pub const STATUS_DESC: u32 = 11;

    pub const ENR: u32 = 1;
}

/// A request for records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerExchangeQuery {
    /// How many are wanted.
    pub peers: u64,
}

impl PeerExchangeQuery {
    /// Appends the request to `out`, without a length prefix.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_head(number::QUERY, varint_len(number::NUM_PEERS, self.peers), out);
        put_varint(number::NUM_PEERS, self.peers, out);
    }

    /// Reads a request without its length prefix. An absent number is 0.
    ///
    /// # Errors
    /// [`ServiceError`]: over [`REQUEST_BYTES_MAX`] bytes, no query in it, or broken protobuf.
    pub fn decode(bytes: &[u8]) -> Result<Self, ServiceError> {
        check_len(bytes, REQUEST_BYTES_MAX)?;
        let mut peers = None;
        let mut walk = Walk::new(bytes);
        while let Some(field) = walk.next_field()? {
            if let (number::QUERY, Value::Bytes(span)) = (field.number, field.value) {
                peers = Some(decode_query(Walk::within(bytes, span))?);
            }
        }
        Ok(Self { peers: peers.ok_or(ServiceError::Missing { field: "query" })? })
    }
}

fn decode_query(mut walk: Walk<'_>) -> Result<u64, ServiceError> {
    let mut peers = 0;
    while let Some(field) = walk.next_field()? {
        if let (number::NUM_PEERS, Value::Varint(value)) = (field.number, field.value) {
            peers = value;
        }
    }
    Ok(peers)
}

/// An answer, borrowed from the bytes it was read from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeerExchangeResponse<'a> {
    /// The node records, each in its binary form (31/WAKU2-ENR); not looked into.
    pub records: Vec<&'a [u8]>,
    /// One of [`status`]; older nodes and js-waku know no status.
    pub status_code: Option<u32>,
    /// Why there are no records.
    pub status_desc: Option<&'a str>,
}

impl<'a> PeerExchangeResponse<'a> {
    fn inner_len(&self) -> usize {
        let record = |record: &&[u8]| bytes_len(number::PEER_INFOS, bytes_len(number::ENR, record.len()));
        self.records.iter().map(record).sum::<usize>()
            + self.status_code.map_or(0, |code| varint_len(number::STATUS_CODE, code.into()))
            + self.status_desc.map_or(0, |desc| bytes_len(number::STATUS_DESC, desc.len()))
    }

    /// Appends the answer to `out`, without a length prefix.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_head(number::RESPONSE, self.inner_len(), out);
        for record in &self.records {
            put_head(number::PEER_INFOS, bytes_len(number::ENR, record.len()), out);
            put_bytes(number::ENR, record, out);
        }
        if let Some(code) = self.status_code {
            put_varint(number::STATUS_CODE, code.into(), out);
        }
        if let Some(desc) = self.status_desc {
            put_bytes(number::STATUS_DESC, desc.as_bytes(), out);
        }
    }

    /// Reads an answer without its length prefix.
    ///
    /// # Errors
    /// [`ServiceError`]: over [`RESPONSE_BYTES_MAX`] bytes or [`RECORDS_MAX`] records, no response in it, text that is none, or
    /// broken protobuf.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, ServiceError> {
        check_len(bytes, RESPONSE_BYTES_MAX)?;
        let mut response = None;
        let mut walk = Walk::new(bytes);
        while let Some(field) = walk.next_field()? {
            if let (number::RESPONSE, Value::Bytes(span)) = (field.number, field.value) {
                response = Some(Self::decode_inner(bytes, Walk::within(bytes, span))?);
            }
        }
        response.ok_or(ServiceError::Missing { field: "response" })
    }

    fn decode_inner(bytes: &'a [u8], mut walk: Walk<'a>) -> Result<Self, ServiceError> {
        let mut response = Self::default();
        while let Some(field) = walk.next_field()? {
            match (field.number, field.value) {
                (number::PEER_INFOS, Value::Bytes(span)) => {
                    let mut inner = Walk::within(bytes, span);
                    while let Some(field) = inner.next_field()? {
                        if let (number::ENR, Value::Bytes(span)) = (field.number, field.value) {
                            push(&mut response.records, span.of(bytes), "node records", RECORDS_MAX)?;
                        }
                    }
                }
                (number::STATUS_CODE, Value::Varint(value)) => {
                    response.status_code = Some(narrow(value, "status_code")?)
                }
                (number::STATUS_DESC, Value::Bytes(span)) => {
                    response.status_desc = Some(text(bytes, span, "status_desc")?)
                }
                _ => {}
            }
        }
        Ok(response)
    }
}

#[cfg(test)]
mod tests {
    use super::{PeerExchangeQuery, PeerExchangeResponse, RECORD_BYTES_MAX, RECORDS_MAX, REQUEST_BYTES_MAX};
    use crate::error::ServiceError;

    #[test]
    fn queries_round_trip() {
        for peers in [0, 5, 60, u64::MAX] {
            let mut out = Vec::new();
            PeerExchangeQuery { peers }.encode(&mut out);
            assert_eq!(PeerExchangeQuery::decode(&out), Ok(PeerExchangeQuery { peers }));
        }
        assert_eq!(PeerExchangeQuery::decode(&[0x0a, 0]), Ok(PeerExchangeQuery { peers: 0 }), "no number is none");
        assert_eq!(PeerExchangeQuery::decode(&[0x12, 0]), Err(ServiceError::Missing { field: "query" }));
        let long = [0; REQUEST_BYTES_MAX + 1];
        assert!(matches!(PeerExchangeQuery::decode(&long), Err(ServiceError::TooLong { .. })));
    }

    #[test]
    fn answers_round_trip() {
        let record = [7; RECORD_BYTES_MAX];
        let full = PeerExchangeResponse {
            records: vec![&record; RECORDS_MAX],
            status_code: Some(200),
            status_desc: Some("OK"),
        };
        for response in [full, PeerExchangeResponse::default()] {
            let mut out = Vec::new();
            response.encode(&mut out);
            assert_eq!(PeerExchangeResponse::decode(&out), Ok(response));
        }
    }

    #[test]
    fn what_is_no_answer() {
        assert_eq!(PeerExchangeResponse::decode(&[0x0a, 0]), Err(ServiceError::Missing { field: "response" }));
        let mut out = Vec::new();
        PeerExchangeResponse { records: vec![&[1]; RECORDS_MAX + 1], ..PeerExchangeResponse::default() }
            .encode(&mut out);
        let many = ServiceError::TooMany { entries: "node records", count_max: RECORDS_MAX };
        assert_eq!(PeerExchangeResponse::decode(&out), Err(many));
    }
}
