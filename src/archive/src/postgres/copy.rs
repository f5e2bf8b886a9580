//! The binary format of `COPY` (PostgreSQL documentation, "COPY", file formats), row by row into buffers that are handed to the client.

use bytes::{BufMut, Bytes, BytesMut};

use crate::ArchiveMessage;

/// The statement that what is built here belongs to.
pub(super) const COPY: &str = "COPY levada_message (timestamp, hash, pubsub_topic, content_topic, version, meta, payload) \
     FROM STDIN (FORMAT binary)";

/// Signature, flags, and the length of an extension of the header.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// A row of minus one fields ends the data.
const END: i16 = -1;
const FIELDS: i16 = 7;
/// Bytes of a row without topics, meta and payload.
const ROW_BYTES: usize = 2 + 7 * 4 + 8 + 32 + 8;
/// A buffer is handed over once it holds this much.
const CHUNK_BYTES: usize = 1 << 20;

/// Rows under way.
#[derive(Debug)]
pub(super) struct CopyRows {
    chunks: Vec<Bytes>,
    open: BytesMut,
}

impl CopyRows {
    pub(super) fn new() -> Self {
        let mut open = BytesMut::with_capacity(CHUNK_BYTES);
        open.put_slice(HEADER);
        Self { chunks: Vec::new(), open }
    }

    /// Adds a message; this copies its payload.
    pub(super) fn push(&mut self, message: &ArchiveMessage<'_>) {
        let variable =
            [message.pubsub_topic.as_bytes(), message.content_topic.as_bytes(), message.meta, message.payload];
        let row_bytes = ROW_BYTES + variable.iter().map(|field| field.len()).sum::<usize>();
        if self.open.len() + row_bytes > CHUNK_BYTES && !self.open.is_empty() {
            let full = std::mem::replace(&mut self.open, BytesMut::with_capacity(CHUNK_BYTES.max(row_bytes)));
            self.chunks.push(full.freeze());
        }
        self.open.put_i16(FIELDS);
        self.field(&message.timestamp.to_be_bytes());
        self.field(&message.hash);
        let [pubsub_topic, content_topic, meta, payload] = variable;
        self.field(pubsub_topic);
        self.field(content_topic);
        self.field(&i64::from(message.version).to_be_bytes());
        self.field(meta);
        self.field(payload);
    }

    /// The data, with its end.
    pub(super) fn finish(mut self) -> Vec<Bytes> {
        self.open.put_i16(END);
        self.chunks.push(self.open.freeze());
        self.chunks
    }

    fn field(&mut self, bytes: &[u8]) {
        // Payloads are bounded by `PAYLOAD_BYTES_MAX`, everything else by the message that it came in.
        self.open.put_i32(i32::try_from(bytes.len()).expect("a field of less than 2 GiB"));
        self.open.put_slice(bytes);
    }
}
