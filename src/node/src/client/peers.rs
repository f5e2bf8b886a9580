//! `levada peers`.

use bytes::Bytes;
use levada_discovery::Record;
use levada_net::PeerRecord;
use levada_net::exchange::RequestError;
use levada_net::peer_exchange::{PeerExchangeClientError, ask};
use serde::Serialize;

use super::connection::Connection;
use super::inbox::Inbox;
use super::{EXIT_DONE, Fault, complain, say};
use crate::cli::Peers;

/// What is printed.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    peer_id: String,
    agent: String,
    addresses: Vec<String>,
    protocols: Vec<String>,
    shards: Vec<u16>,
    known: Vec<Known>,
}

/// A node that the asked one knows.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Known {
    peer_id: String,
    addresses: Vec<String>,
    record: String,
}

/// Asks a node what it is, and whom it knows.
pub(super) async fn run(command: &Peers) -> Result<u8, Fault> {
    let (inbox, _messages) = Inbox::new(Vec::new())?;
    let connection = Connection::open(&command.target, inbox).await?;
    let said = tokio::time::timeout(command.target.timeout, identified(&connection));
    let said = said.await.map_err(|_| Fault::Silent(connection.address().to_owned()))??;
    let records = match ask(connection.exchange(), &connection.peer, command.count).await {
        Ok(records) => records,
        Err(PeerExchangeClientError::Request(RequestError::Unsupported { .. })) => {
            complain("the node does not tell other nodes: it has no peer exchange");
            Vec::new()
        }
        Err(error) => return Err(connection.blame(error)),
    };
    let answer = Answer {
        peer_id: said.peer_id.to_string(),
        agent: said.agent,
        addresses: said.addresses.iter().map(ToString::to_string).collect(),
        protocols: said.protocols,
        shards: said.shards,
        known: records.iter().filter_map(known).collect(),
    };
    // A reader that went away needs no answer.
    let _ =
        say(&if command.target.is_json { serde_json::to_string(&answer).unwrap_or_default() } else { text(&answer) });
    Ok(EXIT_DONE)
}

/// What the node says of itself, once it has.
async fn identified(connection: &Connection) -> Result<PeerRecord, Fault> {
    let mut changes = connection.net.changes();
    loop {
        let census = connection.net.census().await;
        let found = census.peers.into_iter().find(|peer| peer.peer_id == connection.peer);
        if let Some(peer) = found.filter(|peer| !peer.protocols.is_empty()) {
            return Ok(peer);
        }
        if !connection.exchange().is_connected(&connection.peer) || changes.changed().await.is_err() {
            return Err(connection.lost());
        }
    }
}

/// A record that is signed by whom it names.
fn known(record: &Bytes) -> Option<Known> {
    let record = Record::from_rlp(record).ok()?;
    let addresses = record.dialable().unwrap_or_default();
    Some(Known {
        peer_id: record.peer().to_string(),
        addresses: addresses.iter().map(ToString::to_string).collect(),
        record: record.to_string(),
    })
}

fn text(answer: &Answer) -> String {
    let mut lines = vec![format!("peer id   {}", answer.peer_id), format!("agent     {}", answer.agent.escape_debug())];
    lines.extend(answer.addresses.iter().map(|address| format!("address   {address}")));
    lines.extend(answer.protocols.iter().map(|protocol| format!("protocol  {}", protocol.escape_debug())));
    if !answer.shards.is_empty() {
        let shards: Vec<String> = answer.shards.iter().map(ToString::to_string).collect();
        lines.push(format!("shards    {}", shards.join(", ")));
    }
    for known in &answer.known {
        let addresses = if known.addresses.is_empty() { "no address".to_owned() } else { known.addresses.join(" ") };
        lines.push(format!("knows     {} {addresses}", known.peer_id));
    }
    lines.join("\n")
}
