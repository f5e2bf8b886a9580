//! What no node can avoid, alone: a message is written with its length before it to a TCP connection, encrypted by
//! ChaCha20-Poly1305 in place, and read, decrypted in place and hashed once at the other end, with as many messages in flight.
//! How near a node comes to this is its quality.

use std::hint::black_box;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use levada_wire::hash::sha256;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use ring::digest::{Context, SHA256};

use super::orders::Workload;
use super::publisher::Templates;
use super::{Options, machine};

/// Plain bytes of a record: what Noise allows, less the tag.
const RECORD_BYTES: usize = 65_535 - TAG_BYTES;
const TAG_BYTES: usize = 16;
const LENGTH_BYTES: usize = 4;

/// Both ends have it, and it protects nothing.
const KEY: [u8; 32] = [7; 32];

/// What the bound took.
#[derive(Debug, Clone)]
pub struct Bound {
    wall_ns: u64,
    sha2_ns: u64,
}

impl Bound {
    /// Sends the workload once, and hashes it once without sending: the sender on the publisher's core, the receiver on the next.
    pub fn measure(options: &Options) -> io::Result<Self> {
        let work = Workload { seed: options.seed, messages: options.messages, warmup: options.warmup };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let (heard, said) = io::pipe()?;
        let window = options.window as u64;
        std::thread::scope(|scope| {
            let receiver = scope.spawn(move || {
                machine::bind(1);
                let (stream, _) = listener.accept()?;
                receive(stream, said, &work)
            });
            let sender = scope.spawn(move || {
                machine::bind(0);
                let feedback = Feedback { heard, window, in_flight: 0 };
                send(TcpStream::connect(address)?, feedback, &work)
            });
            let broke = |_| io::Error::other("an end of the bound panicked");
            let started = sender.join().map_err(broke)??;
            let ended = receiver.join().map_err(broke)??;
            let hasher = scope.spawn(move || {
                machine::bind(0);
                hash_all(&work)
            });
            Ok(Self { wall_ns: ns(ended - started), sha2_ns: ns(hasher.join().map_err(broke)?) })
        })
    }

    /// Its rate.
    pub fn msg_per_s(&self, options: &Options) -> f64 {
        options.messages as f64 * 1e9 / self.wall_ns.max(1) as f64
    }

    /// The rate of hashing alone.
    pub fn sha2_msg_per_s(&self, options: &Options) -> f64 {
        options.messages as f64 * 1e9 / self.sha2_ns.max(1) as f64
    }
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// One SHA-256 over each message measured, by the `sha2` crate, which no counter counts.
fn hash_all(work: &Workload) -> Duration {
    let mut templates = Templates::new(work.seed);
    let sizes = work.measured();
    let started = Instant::now();
    for (number, payload_bytes) in sizes.into_iter().enumerate() {
        black_box(sha256(templates.numbered(number as u64, payload_bytes)));
    }
    started.elapsed()
}

/// Counts records, as Noise does.
struct Cipher {
    key: LessSafeKey,
    records: u64,
}

impl Cipher {
    fn new() -> Self {
        let key = UnboundKey::new(&CHACHA20_POLY1305, &KEY).expect("the key has the right length");
        Self { key: LessSafeKey::new(key), records: 0 }
    }

    /// Seals a record in place and gives its tag.
    fn seal(&mut self, record: &mut [u8]) -> [u8; TAG_BYTES] {
        let tag = self.key.seal_in_place_separate_tag(nonce(self.records), Aad::empty(), record);
        self.records += 1;
        let tag = tag.expect("a record is shorter than the cipher allows");
        tag.as_ref().try_into().expect("the tag has its length")
    }

    /// Opens a record with its tag in place.
    fn open<'a>(&mut self, record: &'a mut [u8]) -> io::Result<&'a [u8]> {
        let opened = self.key.open_in_place(nonce(self.records), Aad::empty(), record);
        self.records += 1;
        opened.map(|plain| &*plain).map_err(|_| io::Error::other("a record of the bound does not open"))
    }
}

fn nonce(record: u64) -> Nonce {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&record.to_le_bytes());
    Nonce::assume_unique_for_key(nonce)
}

/// Keeps the window: a byte comes for each message received.
struct Feedback {
    heard: PipeReader,
    window: u64,
    in_flight: u64,
}

impl Feedback {
    /// Waits until one more may be sent.
    fn room(&mut self) -> io::Result<()> {
        self.wait(self.window - 1)?;
        self.in_flight += 1;
        Ok(())
    }

    /// Waits until at most so many are in flight.
    fn wait(&mut self, in_flight_max: u64) -> io::Result<()> {
        let mut bytes = [0; 64];
        while self.in_flight > in_flight_max {
            let received = self.heard.read(&mut bytes)? as u64;
            if received == 0 {
                return Err(io::Error::other("the receiver of the bound has ended"));
            }
            self.in_flight -= received;
        }
        Ok(())
    }
}

/// Gives the time of the first message measured.
fn send(mut stream: TcpStream, mut feedback: Feedback, work: &Workload) -> io::Result<Instant> {
    stream.set_nodelay(true)?;
    let mut templates = Templates::new(work.seed);
    let (mut cipher, mut frame) = (Cipher::new(), Vec::new());
    let mut send_all = |sizes: Vec<usize>, first: usize| {
        let started = Instant::now();
        for (position, payload_bytes) in sizes.into_iter().enumerate() {
            let message = templates.numbered((first + position) as u64, payload_bytes);
            seal(&mut cipher, message, &mut frame);
            feedback.room()?;
            stream.write_all(&frame)?;
        }
        feedback.wait(0)?;
        io::Result::Ok(started)
    };
    send_all(work.warm_up(), work.messages)?;
    send_all(work.measured(), 0)
}

/// The length, then record after record with its tag.
fn seal(cipher: &mut Cipher, message: &[u8], frame: &mut Vec<u8>) {
    let sealed_bytes = message.len() + message.len().div_ceil(RECORD_BYTES) * TAG_BYTES;
    frame.clear();
    frame.extend_from_slice(&(sealed_bytes as u32).to_le_bytes());
    for record in message.chunks(RECORD_BYTES) {
        let at = frame.len();
        frame.extend_from_slice(record);
        let tag = cipher.seal(&mut frame[at..]);
        frame.extend_from_slice(&tag);
    }
}

/// Gives the time after the last message.
fn receive(mut stream: TcpStream, mut said: PipeWriter, work: &Workload) -> io::Result<Instant> {
    let (mut cipher, mut frame) = (Cipher::new(), Vec::new());
    for _ in 0..work.warmup + work.messages {
        let mut length = [0; LENGTH_BYTES];
        stream.read_exact(&mut length)?;
        frame.resize(u32::from_le_bytes(length) as usize, 0);
        stream.read_exact(&mut frame)?;
        let mut hash = Context::new(&SHA256);
        for record in frame.chunks_mut(RECORD_BYTES + TAG_BYTES) {
            hash.update(cipher.open(record)?);
        }
        black_box(hash.finish());
        said.write_all(&[1])?;
    }
    Ok(Instant::now())
}
