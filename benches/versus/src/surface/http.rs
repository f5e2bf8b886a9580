//! A client that costs next to nothing: it writes bytes made before and looks for no more in the answer than its status and its end.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

/// One connection, kept.
pub struct Connection {
    stream: TcpStream,
    answer: Vec<u8>,
}

const END_OF_HEAD: &[u8] = b"\r\n\r\n";

impl Connection {
    pub fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_nodelay(true).expect("a fresh socket");
        Self { stream, answer: Vec::new() }
    }

    /// Sends a whole request and returns the body of its answer, which must be a 200 that says its length.
    pub fn ask(&mut self, request: &[u8]) -> &[u8] {
        self.stream.write_all(request).expect("the server reads");
        self.answer.clear();
        let (mut piece, mut end) = ([0; 16 << 10], usize::MAX);
        let mut body = 0;
        while self.answer.len() < end {
            let count = self.stream.read(&mut piece).expect("the server answers");
            assert!(count > 0, "the server closed a connection that it should keep");
            self.answer.extend_from_slice(&piece[..count]);
            if end == usize::MAX
                && let Some(at) = self.answer.windows(END_OF_HEAD.len()).position(|part| part == END_OF_HEAD)
            {
                body = at + END_OF_HEAD.len();
                end = body + content_length(&self.answer[..at]);
            }
        }
        &self.answer[body..]
    }
}

fn content_length(head: &[u8]) -> usize {
    let head = std::str::from_utf8(head).expect("headers are text");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    length.unwrap_or_else(|| panic!("no length in\n{head}"))
}
