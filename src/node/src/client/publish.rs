//! `levada publish`.

use std::io::Read;
use std::path::Path;

use levada_net::exchange::RequestError;
use levada_net::lightpush::{LightpushClientError, push, push_v2};
use levada_stages::signed::{SignedParts, Signer};
use levada_stages::unix_ns;
use levada_wire::hash::message_hash;
use levada_wire::waku::lightpush::{LightpushRequest, PROTOCOL_V2, PROTOCOL_V3};
use levada_wire::waku::message::Message;

use super::connection::Connection;
use super::inbox::Inbox;
use super::{EXIT_DONE, Fault, say, shown};
use crate::cli::Publish;

/// The most that is read from standard input, in bytes; no network takes more.
const PAYLOAD_BYTES_MAX: u64 = 4 << 20;

const REQUEST_ID: &str = "levada-publish";

/// Has a node publish a message, by version 3 of lightpush or, where it has only that, by version 2.
pub(super) async fn run(command: &Publish) -> Result<u8, Fault> {
    let payload = match &command.payload {
        Some(text) => text.clone().into_bytes(),
        None => tokio::task::spawn_blocking(from_standard_input)
            .await
            .map_err(|error| Fault::Start(error.to_string()))??,
    };
    let (timestamp, topic) = (unix_ns(), command.pubsub_topic.as_deref());
    let signed = SignedParts {
        pubsub_topic: topic.unwrap_or_default(),
        payload: &payload,
        content_topic: command.content_topic.as_bytes(),
        timestamp,
        ephemeral: command.ephemeral,
    };
    let meta = match &command.signing_key {
        Some(path) => signer(path)?.sign(&signed).to_vec(),
        None => command.meta.clone(),
    };
    let message = Message {
        payload: &payload,
        content_topic: &command.content_topic,
        timestamp,
        meta: &meta,
        ephemeral: command.ephemeral,
        ..Message::default()
    };
    let mut data = vec![0; message.encoded_len()];
    message.encode_into(&mut data).map_err(|error| Fault::Message(error.to_string()))?;
    let (inbox, _messages) = Inbox::new(Vec::new())?;
    let connection = Connection::open(&command.target, inbox).await?;
    let request = LightpushRequest { request_id: REQUEST_ID, pubsub_topic: topic, message: &data };
    let (protocol, peers) = match push(connection.exchange(), &connection.peer, &request).await {
        Ok(peers) => (PROTOCOL_V3, Some(peers)),
        Err(LightpushClientError::Request(RequestError::Unsupported { .. })) => {
            let Some(topic) = topic else {
                let text = "the node has version 2 of lightpush only, which needs --pubsub-topic".to_owned();
                return Err(Fault::Message(text));
            };
            let pushed = push_v2(connection.exchange(), &connection.peer, REQUEST_ID, topic, &data).await;
            pushed.map_err(|error| connection.blame(error))?;
            (PROTOCOL_V2, None)
        }
        Err(error) => return Err(connection.blame(error)),
    };
    let hash =
        topic.map(|topic| shown::hash_text(&message_hash(topic, &payload, &command.content_topic, &meta, timestamp)));
    let line = if command.target.is_json {
        let answer = serde_json::json!({
            "messageHash": hash, "timestamp": timestamp, "protocol": protocol, "relayPeerCount": peers,
        });
        answer.to_string()
    } else {
        let peers = peers.map(|peers| format!(" to {peers} peers")).unwrap_or_default();
        format!("published{peers}{}", hash.map(|hash| format!(", message hash {hash}")).unwrap_or_default())
    };
    // A reader that went away needs no answer.
    let _ = say(&line);
    Ok(EXIT_DONE)
}

/// The key by which messages on a protected shard are signed.
fn signer(path: &Path) -> Result<Signer, Fault> {
    let key = super::keys::read(path)?.secp256k1();
    Signer::new(&key.secret().to_bytes())
        .map_err(|error| Fault::Key { path: path.display().to_string(), reason: error.to_string() })
}

fn from_standard_input() -> Result<Vec<u8>, Fault> {
    let what = || "the payload cannot be read from standard input".to_owned();
    let mut payload = Vec::new();
    let read = std::io::stdin().lock().take(PAYLOAD_BYTES_MAX + 1).read_to_end(&mut payload);
    read.map_err(|source| Fault::File { what: what(), source })?;
    if payload.len() as u64 > PAYLOAD_BYTES_MAX {
        return Err(Fault::File { what: what(), source: std::io::Error::other("it is larger than 4 MiB") });
    }
    Ok(payload)
}
