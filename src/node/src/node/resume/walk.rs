//! Walks through a peer's archive, page by page, and trusts none of it.

use std::collections::HashSet;

use levada_archive::{PAGE_SIZE_MAX, Query};
use levada_net::store::{ANSWER_BYTES_MAX, FetchedMessage, FetchedPage, query};
use levada_net::{Exchange, PeerId};
use levada_wire::hash::Digest;
use levada_wire::waku::store::StoreRequest;

use super::counters::ResumeCounters;
use super::error::ResumeError;
use super::feed::{Feed, Run};
use super::span::Span;
use crate::node::store::Store;

/// What requests are called; each is alone on its stream.
const REQUEST_ID: &str = "resume";

/// Messages fetched in one start at most: six hours at seven hundred a second. Who has more to give may invent them as we ask.
const MESSAGES_MAX: u64 = 1 << 24;

/// What a row of a page has beside its message, in bytes: hash, pubsub topic, fields.
const ROW_OVERHEAD_BYTES: usize = 512;

/// A peer and what is wanted of it.
pub(super) struct Walk<'a> {
    pub(super) exchange: &'a Exchange,
    pub(super) peer: PeerId,
    pub(super) span: Span,
    pub(super) rows_max: u64,
    pub(super) store: &'a Store,
    pub(super) feed: &'a Feed,
    pub(super) counters: &'a ResumeCounters,
}

/// The messages asked for at once: as many as an answer has room for if all are as large as this node takes them.
pub(super) fn rows_max(message_bytes_max: usize) -> u64 {
    let fit = ANSWER_BYTES_MAX / (message_bytes_max + ROW_OVERHEAD_BYTES);
    (fit as u64).clamp(1, PAGE_SIZE_MAX)
}

/// Where a walk has come to.
#[derive(Debug, Default)]
pub(super) struct Position {
    cursor: Option<Digest>,
    last: Option<(i64, Digest)>,
}

impl Walk<'_> {
    /// Takes one more page into the archive. Gives the time up to which all is there, if the page had any message, and whether there is
    /// another page.
    pub(super) async fn page(&self, position: &mut Position) -> Result<(Option<i64>, bool), ResumeError> {
        let request = StoreRequest {
            request_id: REQUEST_ID,
            include_data: true,
            time_start: Some(self.span.from),
            time_end: Some(self.span.to),
            cursor: position.cursor,
            forward: Some(true),
            limit: Some(self.rows_max),
            ..StoreRequest::default()
        };
        let FetchedPage { messages, cursor } = query(self.exchange, &self.peer, &request).await?;
        let last = self.check(&messages, position.last)?;
        if cursor.is_some() && messages.is_empty() {
            return Err(ResumeError::EmptyPage);
        }
        self.take(&messages).await?;
        self.counters.pages.add(1);
        (position.cursor, position.last) = (cursor, last);
        let fetched = self.counters.messages();
        if cursor.is_some() && fetched >= MESSAGES_MAX {
            return Err(ResumeError::Enough { messages: fetched });
        }
        Ok((messages.last().and(last).map(|(timestamp, _)| timestamp), cursor.is_some()))
    }

    /// That the page is one of those asked for; gives the key of its last message. Since keys ascend, no page comes again, whatever its
    /// cursor says.
    fn check(
        &self,
        messages: &[FetchedMessage],
        mut last: Option<(i64, Digest)>,
    ) -> Result<Option<(i64, Digest)>, ResumeError> {
        if messages.len() as u64 > self.rows_max {
            return Err(ResumeError::TooManyRows { rows: messages.len(), rows_max: self.rows_max });
        }
        for message in messages {
            let (_, spans, _) = message.body.as_ref().ok_or(ResumeError::NoContent)?;
            let key = (spans.timestamp, message.hash);
            if !self.span.holds(spans.timestamp) {
                return Err(ResumeError::OutsideSpan);
            }
            if last.is_some_and(|last| key <= last) {
                return Err(ResumeError::OutOfOrder);
            }
            last = Some(key);
        }
        Ok(last)
    }

    /// Brings what the archive does not have yet into it.
    async fn take(&self, messages: &[FetchedMessage]) -> Result<(), ResumeError> {
        let known = self.known(messages).await?;
        self.counters.known.add(known.len() as u64);
        let mut run = Run::default();
        for message in messages.iter().filter(|message| !known.contains(&message.hash)) {
            if let Some(body) = &message.body {
                self.feed.put(&mut run, body).await?;
            }
        }
        self.feed.finish(&mut run).await
    }

    async fn known(&self, messages: &[FetchedMessage]) -> Result<HashSet<Digest>, ResumeError> {
        if messages.is_empty() {
            return Ok(HashSet::new());
        }
        let hashes = messages.iter().map(|message| message.hash).collect();
        let asked = Query { hashes, page_size: Some(PAGE_SIZE_MAX), ..Query::default() };
        let page = self.store.query(asked).await.map_err(ResumeError::Known)?;
        Ok(page.messages.into_iter().map(|message| message.hash).collect())
    }
}
