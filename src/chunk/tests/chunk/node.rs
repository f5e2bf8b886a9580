//! A node by its messages: what it refuses, and how it says so.

use std::time::Duration;

use levada_chunk::node::{ChunkNode, NodeOptions, StartError};
use levada_chunk::outgoing::Outgoing;
use levada_chunk::signature::Signer;
use levada_chunk::stages::{AllowList, PaymentVerifier, STAGE_PANICS, Verdict, address_of};
use levada_wire::autonomi::{
    CHUNK_BYTES_MAX, ChunkBody, ChunkMessage, GetResponse, ProtocolError, PutRequest, PutResponse, QuoteRequest, decode,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::cluster::node_options;

/// A connection by hand.
struct Line(TcpStream);

impl Line {
    async fn to(node: &ChunkNode) -> Self {
        let mut stream = TcpStream::connect(&node.addresses()[0].host_and_port).await.unwrap();
        stream.write_all(b"levada-chunk/1\r\n").await.unwrap();
        let mut welcome = [0; 48];
        stream.read_exact(&mut welcome).await.unwrap();
        assert_eq!((&welcome[..16], &welcome[16..]), (&b"levada-chunk/1\r\n"[..], &node.id().0[..]));
        Self(stream)
    }

    async fn send(&mut self, message: &[u8]) {
        self.0.write_all(&[&(message.len() as u32).to_be_bytes(), message].concat()).await.unwrap();
    }

    async fn answer(&mut self) -> Vec<u8> {
        let mut answer = vec![0; self.0.read_u32().await.unwrap() as usize];
        self.0.read_exact(&mut answer).await.unwrap();
        answer
    }

    async fn ask(&mut self, request_id: u64, body: ChunkBody<'_>) -> Vec<u8> {
        let message = ChunkMessage { request_id, body };
        let mut bytes = vec![0; message.encoded_len()];
        message.encode_into(&mut bytes).unwrap();
        self.send(&bytes).await;
        self.answer().await
    }

    async fn put(&mut self, address: &[u8; 32], content: &[u8], payment_proof: Option<&[u8]>) -> Vec<u8> {
        self.ask(5, ChunkBody::PutRequest(PutRequest { address, content, payment_proof })).await
    }
}

fn put_answer(answer: &[u8]) -> PutResponse<'_> {
    match decode(answer).unwrap().body {
        ChunkBody::PutResponse(response) => response,
        other => panic!("{other:?} is no answer to a put"),
    }
}

async fn started(change: impl FnOnce(&mut NodeOptions)) -> (ChunkNode, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut options = node_options(folder.path());
    change(&mut options);
    (ChunkNode::start(options).await.unwrap(), folder)
}

async fn ended(node: ChunkNode) {
    let arena = node.arena().clone();
    node.stop(Duration::from_secs(20)).await;
    assert_eq!(arena.slots_in_use(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_request_is_said_and_the_next_one_is_served() {
    let (node, _folder) = started(|_| ()).await;
    let mut line = Line::to(&node).await;
    let (content, other) = (b"content".as_slice(), [1; 32]);
    let address = address_of(content);
    let answer = line.put(&other, content, None).await;
    let mismatch = ProtocolError::AddressMismatch { expected: &other, actual: &address };
    assert_eq!(put_answer(&answer), PutResponse::Error(mismatch));
    let large = vec![0; CHUNK_BYTES_MAX + 1];
    let answer = line.put(&address_of(&large), &large, None).await;
    let size = ProtocolError::ChunkTooLarge { size: large.len() as u64, max_size: CHUNK_BYTES_MAX as u64 };
    assert_eq!(put_answer(&answer), PutResponse::Error(size));
    line.send(&[77, 99]).await;
    let answer = line.answer().await;
    assert_eq!(decode(&answer).unwrap().request_id, 77, "the peer can tell which it was");
    assert!(matches!(put_answer(&answer), PutResponse::Error(ProtocolError::DeserializationFailed(_))));
    line.send(&[]).await;
    assert!(matches!(put_answer(&line.answer().await), PutResponse::Error(ProtocolError::DeserializationFailed(_))));
    let quote = QuoteRequest { address: &address, data_size: 1, data_type: 0 };
    let answer = line.ask(6, ChunkBody::QuoteRequest(quote)).await;
    assert!(matches!(put_answer(&answer), PutResponse::Error(ProtocolError::Internal(_))));
    let answer = line.ask(7, ChunkBody::GetRequest { address: &address }).await;
    let not_found = ChunkBody::GetResponse(GetResponse::NotFound { address: &address });
    assert_eq!(decode(&answer), Ok(ChunkMessage { request_id: 7, body: not_found }));
    let answer = line.put(&address, content, None).await;
    assert_eq!(put_answer(&answer), PutResponse::Success { address: &address });
    let answer = line.put(&address, content, Some(&[3; 60_000])).await;
    assert_eq!(put_answer(&answer), PutResponse::AlreadyExists { address: &address });
    let answer = line.ask(8, ChunkBody::GetRequest { address: &address }).await;
    let found = ChunkBody::GetResponse(GetResponse::Success { address: &address, content });
    assert_eq!(decode(&answer), Ok(ChunkMessage { request_id: 8, body: found }));
    ended(node).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_proofs_decides() {
    let proof = [4; 64];
    let list = AllowList::new([*blake3::hash(&proof).as_bytes()]);
    let (node, _folder) = started(|options| options.verifier = Box::new(list)).await;
    let mut line = Line::to(&node).await;
    let address = address_of(b"paid");
    assert!(matches!(put_answer(&line.put(&address, b"paid", None).await), PutResponse::PaymentRequired { .. }));
    let refused = line.put(&address, b"paid", Some(&[5; 64])).await;
    assert!(matches!(put_answer(&refused), PutResponse::Error(ProtocolError::PaymentFailed(_))));
    let taken = line.put(&address, b"paid", Some(&proof)).await;
    assert_eq!(put_answer(&taken), PutResponse::Success { address: &address });
    ended(node).await;
}

/// Breaks down on proofs of one byte.
#[derive(Debug)]
struct Brittle;

impl PaymentVerifier for Brittle {
    fn verify(&mut self, request: &PutRequest<'_>) -> Verdict {
        assert!(request.payment_proof.is_none_or(|proof| proof.len() > 1), "injected");
        Verdict::Accept
    }
}

/// A stage that panics on an admitted chunk costs its answer alone: bytes, slots and the connection's room come back, more often
/// than there is room for.
#[tokio::test(flavor = "multi_thread")]
async fn a_panic_on_an_admitted_chunk_gives_its_bytes_back() {
    let (node, _folder) = started(|options| options.verifier = Box::new(Brittle)).await;
    let mut line = Line::to(&node).await;
    let large = vec![9; CHUNK_BYTES_MAX];
    let address = address_of(&large);
    let (before, rounds) = (STAGE_PANICS.value(), 40);
    for _ in 0..rounds {
        let answer = line.put(&address, &large, Some(&[1])).await;
        assert!(
            matches!(put_answer(&answer), PutResponse::Error(ProtocolError::Internal(words)) if words.contains("broke down"))
        );
    }
    assert_eq!((STAGE_PANICS.value() - before, node.replies().refused.value()), (rounds, rounds));
    assert_eq!((node.admission().bytes(), node.admission().full.value()), (0, 0));
    assert_eq!(put_answer(&line.put(&address, &large, None).await), PutResponse::Success { address: &address });
    ended(node).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_folder_and_a_missing_signature_are_refused() {
    let (node, _folder) = started(|options| (options.chunk_bytes_max, options.requires_signature) = (10, true)).await;
    let mut line = Line::to(&node).await;
    let content = bytes::Bytes::from_static(b"0123456789a");
    let address = address_of(&content);
    let answer = line.put(&address, &content, None).await;
    assert!(
        matches!(put_answer(&answer), PutResponse::Error(ProtocolError::Internal(words)) if words.contains("signed"))
    );
    let signer = Signer::from_seed(&[1; 32]);
    let signed = Outgoing::put(9, &address, content, None, Some(&signer)).without_length().concat();
    line.send(&signed).await;
    let answer = line.answer().await;
    assert_eq!(decode(&answer).unwrap().request_id, 9);
    assert!(
        matches!(put_answer(&answer), PutResponse::Error(ProtocolError::StorageFailed(words)) if words.contains("full"))
    );
    let mut forged = signed;
    forged[30] ^= 1;
    line.send(&forged).await;
    assert!(matches!(put_answer(&line.answer().await), PutResponse::Error(ProtocolError::Internal(_))));
    ended(node).await;
}

/// One client's nonsense ends its own connection and no other.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_breaks_the_framing_loses_its_connection_alone() {
    let (node, _folder) = started(|_| ()).await;
    let mut good = Line::to(&node).await;
    let mut flooding = Line::to(&node).await;
    flooding.0.write_all(&u32::MAX.to_be_bytes()).await.unwrap();
    assert_eq!(flooding.0.read(&mut [0; 1]).await.unwrap_or(0), 0, "it was closed");
    let mut stranger = TcpStream::connect(&node.addresses()[0].host_and_port).await.unwrap();
    stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    assert_eq!(stranger.read(&mut [0; 1]).await.unwrap_or(0), 0);
    let mut cut = Line::to(&node).await;
    cut.0.write_all(&[0, 0, 1, 0, 7, 7]).await.unwrap();
    drop(cut);
    let address = address_of(b"x");
    assert_eq!(put_answer(&good.put(&address, b"x", None).await), PutResponse::Success { address: &address });
    ended(node).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_keeps_a_node_from_starting_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = NodeOptions { tcp: None, quic: None, ..node_options(folder.path()) };
    assert!(matches!(ChunkNode::start(nowhere).await, Err(StartError::NoAddress)));
    let (node, _kept) = started(|_| ()).await;
    let taken = node.addresses()[0].host_and_port.parse().unwrap();
    let error = ChunkNode::start(NodeOptions { tcp: Some(taken), ..node_options(folder.path()) }).await.unwrap_err();
    assert!(error.to_string().contains(&format!("tcp://{taken}")), "{error}");
    let file = folder.path().join("file");
    std::fs::write(&file, b"").unwrap();
    let error = ChunkNode::start(node_options(&file)).await.unwrap_err();
    assert!(error.to_string().contains("file"), "{error}");
    ended(node).await;
}
