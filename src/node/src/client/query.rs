//! `levada query`.

use levada_net::store::{FetchedPage, query};
use levada_wire::hash::Digest;
use levada_wire::waku::store::StoreRequest;

use super::connection::Connection;
use super::inbox::Inbox;
use super::{EXIT_DONE, Fault, shown};
use crate::cli::Query;

/// Walks through the pages of a store node and prints each message.
pub(super) async fn run(command: &Query) -> Result<u8, Fault> {
    let (inbox, _messages) = Inbox::new(Vec::new())?;
    let connection = Connection::open(&command.target, inbox).await?;
    let mut left = command.limit.unwrap_or(u64::MAX);
    let mut cursor = command.cursor;
    let mut page_number = 0_u64;
    while left > 0 {
        page_number += 1;
        let request_id = format!("levada-{page_number}");
        let request = request(command, &request_id, cursor, left);
        let page = query(connection.exchange(), &connection.peer, &request).await;
        let page = page.map_err(|error| connection.blame(error))?;
        left = left.saturating_sub(page.messages.len() as u64);
        if print(&page, command.target.is_json).is_err() {
            // The reader has enough.
            break;
        }
        // A cursor that does not move would bring the same page again and again.
        match page.cursor.filter(|next| Some(*next) != cursor && !page.messages.is_empty()) {
            Some(next) => cursor = Some(next),
            None => break,
        }
    }
    Ok(EXIT_DONE)
}

fn request<'a>(command: &'a Query, request_id: &'a str, cursor: Option<Digest>, left: u64) -> StoreRequest<'a> {
    StoreRequest {
        request_id,
        include_data: !command.hashes_only,
        pubsub_topic: command.pubsub_topic.as_deref(),
        content_topics: command.content_topics.iter().map(String::as_str).collect(),
        time_start: command.time_start,
        time_end: command.time_end,
        message_hashes: command.hashes.clone(),
        cursor,
        forward: Some(!command.backward),
        limit: Some(command.page_size.min(left)),
    }
}

fn print(page: &FetchedPage, is_json: bool) -> std::io::Result<()> {
    page.messages.iter().try_for_each(|message| match &message.body {
        Some((data, spans, topic)) => shown::message(&message.hash, topic, data, spans, is_json),
        None => shown::hash_alone(&message.hash, is_json),
    })
}
