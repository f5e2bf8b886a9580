//! Where messages go: nowhere, or through a socket per recipient to a thread that reads and counts.

use std::hint::black_box;
use std::io::{self, IoSlice, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;

use bytes::Buf;

use super::error::ChunkBenchError;
use super::form::{Flight, Message};

/// The kinds of sink.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SinkKind {
    /// Messages are dropped.
    Null,
    /// A Unix socket per recipient.
    Unix,
    /// A TCP connection over loopback per recipient.
    Tcp,
}

impl SinkKind {
    /// The name in options and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Unix => "unix",
            Self::Tcp => "tcp",
        }
    }
}

/// Bytes that a recipient reads at once.
const READ_BYTES: usize = 256 * 1_024;

/// An open sink.
pub(super) struct Sink {
    recipients: Vec<Box<dyn Write>>,
    readers: Vec<JoinHandle<io::Result<u64>>>,
    sent_bytes: u64,
}

impl Sink {
    pub fn open(kind: SinkKind, recipients: usize) -> Result<Self, ChunkBenchError> {
        let mut sink = Self { recipients: Vec::new(), readers: Vec::new(), sent_bytes: 0 };
        for _ in 0..recipients {
            match kind {
                SinkKind::Null => {}
                SinkKind::Unix => {
                    let (writer, reader) = UnixStream::pair()?;
                    sink.add(writer, reader);
                }
                SinkKind::Tcp => {
                    let listener = TcpListener::bind(("127.0.0.1", 0))?;
                    let writer = TcpStream::connect(listener.local_addr()?)?;
                    writer.set_nodelay(true)?;
                    sink.add(writer, listener.accept()?.0);
                }
            }
        }
        Ok(sink)
    }

    fn add(&mut self, writer: impl Write + 'static, reader: impl Read + Send + 'static) {
        self.recipients.push(Box::new(writer));
        self.readers.push(std::thread::spawn(move || count(reader)));
    }

    /// Sends a chunk's messages to their recipients, and lets them go.
    pub fn take(&mut self, flight: Flight) -> Result<(), ChunkBenchError> {
        for (number, message) in flight.messages.iter().enumerate() {
            match self.recipients.get_mut(number) {
                Some(recipient) => {
                    self.sent_bytes += message.len() as u64;
                    write(recipient, message)?;
                }
                None => _ = black_box(message.len()),
            }
        }
        Ok(())
    }

    /// Closes the sockets; every recipient must have got everything.
    pub fn close(self) -> Result<(), ChunkBenchError> {
        drop(self.recipients);
        let mut got = 0;
        for reader in self.readers {
            got += reader.join().map_err(|_| io::Error::other("a recipient broke down"))??;
        }
        let sent = self.sent_bytes;
        if got == sent { Ok(()) } else { Err(ChunkBenchError::Lost { got, sent }) }
    }
}

fn write(recipient: &mut dyn Write, message: &Message) -> io::Result<()> {
    if let Message::Own { encoded, .. } = message {
        return recipient.write_all(encoded);
    }
    let mut pieces = message.pieces();
    while pieces.iter().any(|piece| !piece.is_empty()) {
        let mut written = recipient.write_vectored(&pieces.each_ref().map(|piece| IoSlice::new(piece)))?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        for piece in &mut pieces {
            let bytes = written.min(piece.len());
            piece.advance(bytes);
            written -= bytes;
        }
    }
    Ok(())
}

fn count(mut reader: impl Read) -> io::Result<u64> {
    let (mut buffer, mut bytes) = (vec![0; READ_BYTES], 0);
    loop {
        match reader.read(&mut buffer)? {
            0 => return Ok(bytes),
            read => bytes += read as u64,
        }
    }
}
