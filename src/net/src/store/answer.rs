//! A page in the pieces that are written: what stands between two payloads is put together, the payloads are not touched.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream;
use levada_wire::waku::Message;
use levada_wire::waku::store::{Entry, ResponseStatus, cursor_len, put_cursor, status};
use tokio::time::Instant;

use super::{StorePage, StoreRow};
use crate::exchange::Reply;

/// A client takes a page within this time, however slowly, or its stream is reset: a page that is not taken holds memory.
const PAGE_TIME_MAX: Duration = Duration::from_secs(60);

/// The answer `200 OK` with a page.
pub(super) fn page(request_id: &str, page: StorePage) -> Reply {
    let StorePage { rows, cursor, hold } = page;
    let head = ResponseStatus { request_id, status_code: status::OK, status_desc: "OK" };
    let rows_bytes: usize = rows.iter().map(|row| entry(row).encoded_len()).sum();
    let bytes = head.encoded_len() + rows_bytes + if cursor.is_some() { cursor_len() } else { 0 };
    let mut between = Vec::with_capacity(head.encoded_len());
    head.put(&mut between);
    let pieces = Pieces { between, rows: rows.into(), payload: None, cursor };
    let deadline = Instant::now() + PAGE_TIME_MAX;
    let parts = stream::unfold((pieces, hold), move |(mut pieces, hold)| async move {
        let piece = pieces.next()?;
        let piece = if Instant::now() < deadline { Ok(piece) } else { Err(io::ErrorKind::TimedOut.into()) };
        Some((piece, (pieces, hold)))
    });
    Reply::Stream { bytes: bytes as u64, parts: parts.boxed() }
}

/// An answer without a page.
pub(super) fn failure(request_id: &str, status_code: u32, status_desc: &str) -> Reply {
    let mut out = Vec::new();
    ResponseStatus { request_id, status_code, status_desc }.put(&mut out);
    Reply::body(out)
}

fn entry(row: &StoreRow) -> Entry<'_> {
    let body = row.body.as_ref().map(|body| {
        let message = Message {
            payload: &body.payload,
            content_topic: &body.content_topic,
            version: body.version,
            timestamp: body.timestamp,
            meta: &body.meta,
            ..Message::default()
        };
        (message, body.pubsub_topic.as_str())
    });
    Entry { hash: &row.hash, body }
}

/// What is still to be written.
struct Pieces {
    /// What stands before the next payload, as far as it is put together.
    between: Vec<u8>,
    rows: VecDeque<StoreRow>,
    /// The payload whose turn it is.
    payload: Option<Bytes>,
    cursor: Option<levada_wire::hash::Digest>,
}

impl Pieces {
    /// In turns what stands before a payload, and the payload.
    fn next(&mut self) -> Option<Bytes> {
        if let Some(payload) = self.payload.take().filter(|payload| !payload.is_empty()) {
            return Some(payload);
        }
        while let Some(row) = self.rows.pop_front() {
            let entry = entry(&row);
            entry.put_before_payload(&mut self.between);
            let Some(body) = &row.body else { continue };
            let before = std::mem::take(&mut self.between);
            entry.put_behind_payload(&mut self.between);
            self.payload = Some(body.payload.clone());
            return Some(before.into());
        }
        if let Some(cursor) = self.cursor.take() {
            put_cursor(&cursor, &mut self.between);
        }
        let last = std::mem::take(&mut self.between);
        (!last.is_empty()).then(|| last.into())
    }
}

#[cfg(test)]
mod tests {
    use futures::TryStreamExt;
    use futures::executor::block_on;
    use levada_wire::waku::message::decode;
    use levada_wire::waku::store::StoreResponse;

    use super::*;
    use crate::store::StoreBody;

    fn row(number: u8, payload: &'static [u8]) -> StoreRow {
        let body = StoreBody {
            pubsub_topic: "/waku/2/rs/1/0".to_owned(),
            content_topic: "/a/1/b/c".to_owned(),
            payload: Bytes::from_static(payload),
            version: 1,
            timestamp: -3,
            meta: vec![number],
        };
        StoreRow { hash: [number; 32], body: Some(body) }
    }

    fn written(reply: Reply) -> (u64, Vec<Bytes>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        match reply {
            Reply::Stream { bytes, parts } => (bytes, runtime.block_on(parts.try_collect()).expect("in time")),
            Reply::Parts(parts) => (parts.iter().map(|part| part.len() as u64).sum(), parts),
            Reply::None => panic!("an answer"),
        }
    }

    #[test]
    fn payloads_are_pieces_of_their_own_and_lie_where_they_lay() {
        let payload: &'static [u8] = &[7; 1_000];
        let rows = vec![row(1, payload), StoreRow { hash: [2; 32], body: None }, row(3, b""), row(4, payload)];
        let sent = StorePage { rows: rows.clone(), cursor: Some([4; 32]), hold: Box::new(()) };
        let (bytes, pieces) = written(page("id", sent));
        let same = pieces.iter().filter(|piece| std::ptr::eq(piece.as_ptr(), payload.as_ptr())).count();
        assert_eq!(same, 2, "no payload is copied");
        let all = pieces.concat();
        assert_eq!(all.len() as u64, bytes);
        let read = StoreResponse::decode(&all, all.len()).expect("an answer");
        assert_eq!((read.request_id, read.status_code, read.status_desc), ("id", 200, "OK"));
        assert_eq!((read.cursor, read.messages.len()), (Some([4; 32]), rows.len()));
        for (read, row) in read.messages.iter().zip(&rows) {
            assert_eq!((read.hash, read.body.is_some()), (row.hash, row.body.is_some()));
            if let (Some((message, topic)), Some((expected, expected_topic))) = (read.body, entry(row).body) {
                assert_eq!((decode(message).map(|spans| spans.view(message)), topic), (Ok(expected), expected_topic));
            }
        }
    }

    #[test]
    fn an_empty_page_has_its_status() {
        let (bytes, pieces) = written(page("", StorePage { rows: Vec::new(), cursor: None, hold: Box::new(()) }));
        let all = pieces.concat();
        assert_eq!((bytes, pieces.len()), (all.len() as u64, 1));
        let read = StoreResponse::decode(&all, all.len()).expect("an answer");
        assert_eq!((read.status_code, read.status_desc, read.messages.len(), read.cursor), (200, "OK", 0, None));
    }

    #[test]
    fn what_holds_the_memory_goes_with_the_last_piece() {
        let hold = std::sync::Arc::new(());
        let sent = StorePage { rows: vec![row(1, b"abc")], cursor: None, hold: Box::new(hold.clone()) };
        let Reply::Stream { mut parts, .. } = page("id", sent) else { panic!("pieces") };
        assert!(block_on(parts.try_next()).expect("in time").is_some());
        assert_eq!(std::sync::Arc::strong_count(&hold), 2);
        while block_on(parts.try_next()).expect("in time").is_some() {}
        drop(parts);
        assert_eq!(std::sync::Arc::strong_count(&hold), 1);
    }
}
