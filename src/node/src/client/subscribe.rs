//! `levada subscribe`.

use std::sync::Arc;
use std::time::Duration;

use levada_engine::Held;
use levada_net::filter::{Client, FilterCounters};
use levada_wire::hash::message_hash;
use levada_wire::waku::WakuRecord;
use levada_wire::waku::message::decode;
use tokio::sync::mpsc::Receiver;

use super::connection::Connection;
use super::inbox::Inbox;
use super::{EXIT_DONE, EXIT_INTERRUPTED, Fault, Signals, complain, shown};
use crate::cli::Subscribe;

/// Time between two signs of life; a subscription without one ends after five minutes (nwaku, go-waku).
const PING_EVERY: Duration = Duration::from_secs(60);

/// After the subscription has ended: what the node had sent before is here within this time of the message before it.
const LAST_MESSAGES: Duration = Duration::from_millis(500);

/// Prints what a node pushes until a signal comes, the node goes away, or the asked number is reached.
pub(super) async fn run(command: &Subscribe, mut signals: Signals) -> Result<u8, Fault> {
    let topics: Vec<String> = command.topics.iter().map(|(topic, _)| topic.clone()).collect();
    let (inbox, mut messages) = Inbox::new(topics.clone())?;
    let opening = Connection::open(&command.target, inbox.clone());
    let connection = tokio::select! {
        connection = opening => connection?,
        () = signals.next() => return Ok(EXIT_INTERRUPTED),
    };
    let filter = Client::new(connection.exchange().clone(), inbox, Arc::new(FilterCounters::default()))
        .map_err(|error| Fault::Start(error.to_string()))?;
    for (topic, content_topics) in &command.topics {
        let content_topics: Vec<&str> = content_topics.iter().map(String::as_str).collect();
        let subscribed = filter.subscribe(&connection.peer, topic, &content_topics).await;
        subscribed.map_err(|error| connection.blame(error))?;
    }
    complain(&format!("subscribed at {}; Ctrl-C ends it", connection.address()));
    let mut printer = Printer { topics, left: command.count.unwrap_or(u64::MAX), is_json: command.target.is_json };
    let stopped = tokio::select! {
        stopped = follow(&mut printer, &mut messages, &connection, &filter) => stopped,
        () = signals.next() => Ok(()),
    };
    let ending = async {
        let ended = finish(command, &mut printer, &mut messages, &connection, &filter).await;
        stopped.and(ended)
    };
    tokio::select! {
        ended = ending => ended.map(|()| EXIT_DONE),
        () = signals.next() => Ok(EXIT_INTERRUPTED),
    }
}

/// Prints until nothing more is wanted or to be had.
async fn follow(
    printer: &mut Printer,
    messages: &mut Receiver<Held<WakuRecord>>,
    connection: &Connection,
    filter: &Client,
) -> Result<(), Fault> {
    let mut ping = tokio::time::interval_at(tokio::time::Instant::now() + PING_EVERY, PING_EVERY);
    while printer.wants_more() {
        tokio::select! {
            biased;
            message = messages.recv() => match message {
                Some(message) => printer.print(&message),
                None => return Err(connection.lost()),
            },
            () = connection.gone() => return Err(connection.lost()),
            _ = ping.tick() => filter.ping(&connection.peer).await.map_err(|error| connection.blame(error))?,
        }
    }
    Ok(())
}

/// Ends the subscription, then prints what was on its way.
async fn finish(
    command: &Subscribe,
    printer: &mut Printer,
    messages: &mut Receiver<Held<WakuRecord>>,
    connection: &Connection,
    filter: &Client,
) -> Result<(), Fault> {
    let mut ended = Ok(());
    if connection.exchange().is_connected(&connection.peer) {
        for (topic, content_topics) in &command.topics {
            let content_topics: Vec<&str> = content_topics.iter().map(String::as_str).collect();
            let left = filter.unsubscribe(&connection.peer, topic, &content_topics).await;
            ended = ended.and(left.map_err(|error| connection.blame(error)));
        }
    }
    while printer.wants_more()
        && let Ok(Some(message)) = tokio::time::timeout(LAST_MESSAGES, messages.recv()).await
    {
        printer.print(&message);
    }
    ended
}

struct Printer {
    topics: Vec<String>,
    left: u64,
    is_json: bool,
}

impl Printer {
    fn wants_more(&self) -> bool {
        self.left > 0
    }

    fn print(&mut self, message: &Held<WakuRecord>) {
        let (data, record) = (message.payload(), message.record());
        let topic = self.topics.get(record.topic as usize).map(String::as_str).unwrap_or_default();
        let Ok(spans) = decode(data) else {
            complain("the node pushed what is no message");
            return;
        };
        let view = spans.view(data);
        let hash = message_hash(topic, view.payload, view.content_topic, view.meta, view.timestamp);
        // A reader that went away wants nothing more.
        let printed = shown::message(&hash, topic, data, &spans, self.is_json);
        self.left = if printed.is_ok() { self.left.saturating_sub(1) } else { 0 };
    }
}
