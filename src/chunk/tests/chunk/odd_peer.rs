//! A peer that answers as a test wants, on real sockets. It names itself as close to a chunk as can be, so that it is always
//! asked first.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use levada_chunk::transport::{PeerAddress, Scheme};
use levada_wire::autonomi::{ChunkBody, ChunkMessage, GetResponse, ProtocolError, PutResponse, decode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What it does with the first request, and every other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conduct {
    /// Takes no byte.
    Stalls,
    /// Takes all and says nothing.
    Silent,
    /// Closes the connection when a request has come.
    Dies,
    /// Sends what is no message.
    Garbage,
    /// Announces an answer that is far too long.
    Floods,
    /// Says that it stored another chunk, or sends one.
    WrongAddress,
    /// Answers a get with other content than the address says.
    WrongContent,
    /// Answers a put with what belongs to a get.
    WrongKind,
    /// Says that it has nothing.
    NotFound,
    /// Wants to be paid.
    PaymentRequired,
    /// Answers with this error.
    Error(ProtocolError<'static>),
}

/// A running odd peer.
pub struct OddPeer {
    pub address: PeerAddress,
    /// Requests that it saw.
    pub requests: Arc<AtomicUsize>,
}

impl OddPeer {
    pub async fn start(id: [u8; 32], conduct: Conduct) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = PeerAddress::of(Scheme::Tcp, listener.local_addr().unwrap());
        let requests = Arc::new(AtomicUsize::new(0));
        let seen = requests.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, id, conduct, seen.clone()));
            }
        });
        Self { address, requests }
    }

    pub fn requests(&self) -> usize {
        self.requests.load(Relaxed)
    }
}

async fn serve(mut stream: TcpStream, id: [u8; 32], conduct: Conduct, seen: Arc<AtomicUsize>) {
    let mut version = [0; 16];
    if stream.read_exact(&mut version).await.is_err() {
        return;
    }
    stream.write_all(&[&version[..], &id].concat()).await.unwrap();
    if conduct == Conduct::Stalls {
        // It is counted by its first byte, and nothing more is taken.
        let _ = stream.read_u8().await;
        seen.fetch_add(1, Relaxed);
        std::future::pending::<()>().await;
    }
    while let Ok(length) = stream.read_u32().await {
        let mut request = vec![0; length as usize];
        if stream.read_exact(&mut request).await.is_err() {
            return;
        }
        seen.fetch_add(1, Relaxed);
        match conduct {
            Conduct::Dies => return,
            Conduct::Silent => {}
            Conduct::Garbage => send(&mut stream, &[decode(&request).unwrap().request_id as u8, 200, 9]).await,
            Conduct::Floods => stream.write_all(&u32::MAX.to_be_bytes()).await.unwrap(),
            _ => send(&mut stream, &answer(conduct, &request)).await,
        }
    }
}

async fn send(stream: &mut TcpStream, answer: &[u8]) {
    // The client may have closed the connection meanwhile.
    let _ = stream.write_all(&[&(answer.len() as u32).to_be_bytes(), answer].concat()).await;
}

fn answer(conduct: Conduct, request: &[u8]) -> Vec<u8> {
    let ChunkMessage { request_id, body } = decode(request).unwrap();
    let (is_put, address) = match body {
        ChunkBody::PutRequest(request) => (true, request.address),
        ChunkBody::GetRequest { address } => (false, address),
        other => panic!("{other:?} was not expected"),
    };
    let other = [0xee; 32];
    let got = |address, content| ChunkBody::GetResponse(GetResponse::Success { address, content });
    let body = match conduct {
        Conduct::WrongAddress if is_put => ChunkBody::PutResponse(PutResponse::Success { address: &other }),
        Conduct::WrongAddress => got(&other, b"content"),
        Conduct::WrongContent => got(address, b"another content"),
        Conduct::WrongKind if is_put => ChunkBody::GetResponse(GetResponse::NotFound { address }),
        Conduct::WrongKind => ChunkBody::PutResponse(PutResponse::Success { address }),
        Conduct::NotFound => ChunkBody::GetResponse(GetResponse::NotFound { address }),
        Conduct::PaymentRequired => ChunkBody::PutResponse(PutResponse::PaymentRequired { message: "pay\u{7} me" }),
        Conduct::Error(error) if is_put => ChunkBody::PutResponse(PutResponse::Error(error)),
        Conduct::Error(error) => ChunkBody::GetResponse(GetResponse::Error(error)),
        other => panic!("{other:?} answers nothing"),
    };
    let message = ChunkMessage { request_id, body };
    let mut bytes = vec![0; message.encoded_len()];
    message.encode_into(&mut bytes).unwrap();
    bytes
}
