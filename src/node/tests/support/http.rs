//! A small blocking HTTP/1.1 client for loopback, which keeps its connection.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// No answer takes this long on any machine; a test that waits longer has found a node that hangs.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(40);

/// A connection to one server, opened again when the server has closed it.
pub struct Client {
    address: SocketAddr,
    stream: Option<BufReader<TcpStream>>,
}

/// What the server said.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("every answer of the node is UTF-8")
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error} in {}", self.text()))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }
}

impl Client {
    pub fn new(address: SocketAddr) -> Self {
        Self { address, stream: None }
    }

    pub fn get(&mut self, path: &str) -> Answer {
        self.request("GET", path, b"").unwrap_or_else(|error| panic!("GET {path}: {error}"))
    }

    pub fn post(&mut self, path: &str, body: impl AsRef<[u8]>) -> Answer {
        self.request("POST", path, body.as_ref()).unwrap_or_else(|error| panic!("POST {path}: {error}"))
    }

    pub fn delete(&mut self, path: &str, body: impl AsRef<[u8]>) -> Answer {
        self.request("DELETE", path, body.as_ref()).unwrap_or_else(|error| panic!("DELETE {path}: {error}"))
    }

    /// Sends one request and reads its whole answer. Nothing is sent twice: after an error it is not known whether the
    /// server has acted.
    pub fn request(&mut self, method: &str, path: &str, body: &[u8]) -> io::Result<Answer> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => connect(self.address)?,
        };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        stream.get_mut().write_all(&[head.as_bytes(), body].concat())?;
        let answer = read_answer(&mut stream)?;
        if answer.header("connection") != Some("close") {
            self.stream = Some(stream);
        }
        Ok(answer)
    }
}

fn connect(address: SocketAddr) -> io::Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(ANSWER_TIME_MAX))?;
    stream.set_write_timeout(Some(ANSWER_TIME_MAX))?;
    Ok(BufReader::new(stream))
}

fn read_answer(stream: &mut BufReader<TcpStream>) -> io::Result<Answer> {
    let status_line = line(stream)?;
    let status = status_line.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or_else(|| wrong(&status_line))?;
    let mut headers = Vec::new();
    loop {
        let header = line(stream)?;
        if header.is_empty() {
            break;
        }
        let (name, value) = header.split_once(':').ok_or_else(|| wrong(&header))?;
        headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut answer = Answer { status, headers, body: Vec::new() };
    if answer.header("transfer-encoding") == Some("chunked") {
        answer.body = read_chunks(stream)?;
    } else if let Some(length) = answer.header("content-length") {
        let length: usize = length.parse().map_err(|_| wrong(length))?;
        answer.body.resize(length, 0);
        stream.read_exact(&mut answer.body)?;
    }
    Ok(answer)
}

fn read_chunks(stream: &mut BufReader<TcpStream>) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let size_line = line(stream)?;
        let size = usize::from_str_radix(&size_line, 16).map_err(|_| wrong(&size_line))?;
        let start = body.len();
        body.resize(start + size, 0);
        stream.read_exact(&mut body[start..])?;
        line(stream)?;
        if size == 0 {
            return Ok(body);
        }
    }
}

/// One line without its end.
fn line(stream: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    match line.strip_suffix("\r\n") {
        Some(line) => Ok(line.to_owned()),
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn wrong(part: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("not HTTP/1.1: {part:?}"))
}
