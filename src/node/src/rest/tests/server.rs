//! The server over loopback: what a client holds is bounded, and the server stops when it is told to.

use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::{MemoryNode, SHARD_0};
use crate::rest::{Options, ServerLimits, VERSION, serve};

const LOOPBACK: &str = "127.0.0.1:0";

/// A running server; it stops when told to, or when `stop` is dropped.
struct Running {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    served: JoinHandle<()>,
}

async fn run(node: MemoryNode, limits: ServerLimits) -> Running {
    let (stop, stopped) = oneshot::channel();
    let options = Options { limits, ..Options::default() };
    let address = LOOPBACK.parse().expect("an address");
    let shutdown = async move { drop(stopped.await) };
    let (address, serving) = serve(address, Arc::new(node), options, shutdown).await.expect("a free port");
    Running { address, stop, served: tokio::spawn(serving) }
}

async fn connect(address: SocketAddr, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.expect("the server listens");
    stream.write_all(request.as_bytes()).await.expect("the server reads");
    stream
}

/// Reads until the server closes the connection, be it by reset.
async fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // A reset is an end too; what came before it stands in `bytes`.
    drop(stream.read_to_end(&mut bytes).await);
    String::from_utf8(bytes).expect("answers are UTF-8")
}

/// Reads until what was read ends with `end`.
async fn read_until(stream: &mut TcpStream, end: &str) {
    let mut bytes = Vec::new();
    while !bytes.ends_with(end.as_bytes()) {
        let count = stream.read_buf(&mut bytes).await.expect("the connection stands");
        assert_ne!(count, 0, "closed after {:?}", String::from_utf8_lossy(&bytes));
    }
}

const VERSION_REQUEST: &str = "GET /version HTTP/1.1\r\nhost: node\r\n\r\n";

#[tokio::test]
async fn a_connection_serves_several_requests() {
    let server = run(MemoryNode::default(), ServerLimits::default()).await;
    let closing = VERSION_REQUEST.replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n");
    let mut stream = connect(server.address, &format!("{VERSION_REQUEST}{closing}")).await;
    assert_eq!(rest(&mut stream).await.matches("HTTP/1.1 200 OK").count(), 2);
}

#[tokio::test]
async fn what_is_no_http_is_refused_and_closed() {
    let server = run(MemoryNode::default(), ServerLimits::default()).await;
    for garbage in ["\u{16}\u{3}\u{1}\u{2}\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n"] {
        let answer = rest(&mut connect(server.address, garbage).await).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400"), "{garbage:?}: {answer}");
    }
    let header = "x".repeat(1 << 20);
    let mut stream = TcpStream::connect(server.address).await.expect("the server listens");
    // The server may close before all of this is sent.
    drop(stream.write_all(format!("GET / HTTP/1.1\r\nlong: {header}\r\n\r\n").as_bytes()).await);
    assert!(!rest(&mut stream).await.contains(" 200 "));
    assert!(rest(&mut connect(server.address, "GET /version HTTP/1.0\r\n\r\n").await).await.contains(" 200 "));
}

#[tokio::test]
async fn headers_that_never_end_are_not_waited_for() {
    let limits = ServerLimits { header_time_max: Duration::from_millis(50), ..ServerLimits::default() };
    let server = run(MemoryNode::default(), limits).await;
    let mut stream = connect(server.address, "GET /version HTTP/1.1\r\nhost:").await;
    assert!(!rest(&mut stream).await.contains(" 200 "));
}

#[tokio::test]
async fn a_body_that_never_ends_is_answered() {
    let limits = ServerLimits { body_time_max: Duration::from_millis(50), ..ServerLimits::default() };
    let server = run(MemoryNode::default(), limits).await;
    let request = "POST /relay/v1/subscriptions HTTP/1.1\r\nhost: node\r\ncontent-length: 9\r\n\r\n[";
    let answer = rest(&mut connect(server.address, request).await).await;
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("did not arrive within 0.05 s"), "{answer}");
}

#[tokio::test]
async fn an_old_connection_is_closed_though_its_client_stays() {
    let short = Duration::from_millis(50);
    let limits = ServerLimits { connection_time_max: short, drain_time_max: short, ..ServerLimits::default() };
    let server = run(MemoryNode { publish_hangs: true, ..MemoryNode::default() }, limits).await;
    let body = r#"{"payload":"AQ==","contentTopic":"t"}"#;
    let head = format!("POST /relay/v1/messages/{SHARD_0} HTTP/1.1\r\nhost: node\r\ncontent-length: {}", body.len());
    assert_eq!(rest(&mut connect(server.address, &format!("{head}\r\n\r\n{body}")).await).await, "");
}

#[tokio::test]
async fn connections_beyond_the_bound_wait_for_a_place() {
    let limits = ServerLimits { connections_max: 1, ..ServerLimits::default() };
    let server = run(MemoryNode::default(), limits).await;
    let take = format!("GET /relay/v1/messages/{SHARD_0} HTTP/1.1\r\nhost: node\r\n\r\n");
    let subscribe = "POST /relay/v1/subscriptions HTTP/1.1\r\nhost: node\r\nconnection: close\r\ncontent-length: 18\r\n\r\n\
        [\"/waku/2/rs/0/0\"]";
    let mut first = connect(server.address, &take).await;
    read_until(&mut first, "Not subscribed to topic: /waku/2/rs/0/0").await;
    let mut second = connect(server.address, subscribe).await;
    // The first connection holds the only place: however often the server turns to it, the second is not served.
    for _ in 0..20 {
        first.write_all(take.as_bytes()).await.expect("the server reads");
        read_until(&mut first, "Not subscribed to topic: /waku/2/rs/0/0").await;
    }
    drop(first);
    assert!(rest(&mut second).await.ends_with("\r\n\r\nOK"));
}

#[tokio::test]
async fn shutdown_closes_idle_connections_and_frees_the_port() {
    let server = run(MemoryNode::default(), ServerLimits::default()).await;
    let mut stream = connect(server.address, VERSION_REQUEST).await;
    read_until(&mut stream, VERSION).await;
    server.stop.send(()).expect("the server runs");
    server.served.await.expect("the server ends");
    assert_eq!(rest(&mut stream).await, "");
    TcpListener::bind(server.address).await.expect("the port is free again");
}

#[tokio::test]
async fn a_taken_port_is_named_with_its_flag() {
    let taken = TcpListener::bind(LOOPBACK).await.expect("a free port");
    let address = taken.local_addr().expect("bound");
    let node = Arc::new(MemoryNode::default());
    let error = serve(address, node, Options::default(), pending()).await.err().expect("the port is taken");
    let text = error.to_string();
    assert!(text.contains(&address.to_string()) && text.contains("--rest-port") && text.contains("stop"), "{text}");
    let elsewhere = "192.0.2.1:0".parse().expect("an address");
    let node = Arc::new(MemoryNode::default());
    let error = serve(elsewhere, node, Options::default(), pending()).await.err().expect("no such interface");
    assert!(error.to_string().contains("interface"), "{error}");
}
