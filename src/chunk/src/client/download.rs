//! Gets a file: each chunk from the closest peer that has it, verified, to its place in the file.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use levada_engine::Held;
use levada_wire::Span;
use levada_wire::autonomi::{Address, ChunkBody, ChunkMessage, GetResponse, PutResponse, span_of};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::data_map::{DataMap, beside};
use super::fault::{Fault, FaultKind};
use super::peers::Peers;
use super::progress::Progress;
use crate::outgoing::Outgoing;
use crate::signature::Signer;
use crate::stages::{ChunkRecord, address_of};

/// Why a file was not fetched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GetError {
    /// The file that is written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A chunk that no peer gives.
    #[error("no peer gives the chunk {address} of {}; the faults are listed by peer; get it again to go on", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// The chunk, in hexadecimal digits.
        address: String,
    },
    /// It was stopped.
    #[error("stopped with {fetched} of {chunks} chunks of {} fetched; get it again to go on", path.display())]
    Stopped {
        /// The file.
        path: PathBuf,
        /// Chunks in their places.
        fetched: u64,
        /// Chunks of the file.
        chunks: u64,
    },
}

/// How files are fetched.
#[derive(Debug)]
pub struct GetOptions {
    /// How long a peer may take to answer before the next one is asked.
    pub answer_within: Duration,
    /// How often all peers are asked before a chunk is given up.
    pub attempts: u32,
    /// Chunks under way at once.
    pub concurrency: usize,
    /// Whose signature goes with every request.
    pub signer: Option<Signer>,
}

/// Gets files one after another.
#[derive(Debug)]
pub struct Downloader {
    peers: Arc<Peers>,
    options: Arc<GetOptions>,
}

/// A chunk and its place.
#[derive(Clone, Copy, Debug)]
struct Piece {
    address: Address,
    offset: u64,
    bytes: usize,
    /// An earlier run has left a file.
    is_perhaps_there: bool,
}

impl Downloader {
    /// Gets files from `peers`, whose answers lie in an arena made by [`crate::arena::receiver`].
    pub fn new(peers: Arc<Peers>, options: GetOptions) -> Self {
        Self { peers, options: Arc::new(options) }
    }

    /// Gets one file to `path`. It grows as `path.part` and is renamed when it is whole; what an earlier run left there and is right is
    /// kept. When `stop` turns true no further chunk is asked for. Gives how many chunks an earlier run had fetched.
    ///
    /// # Errors
    /// [`GetError`].
    pub async fn get(
        &self,
        map: &DataMap,
        path: &Path,
        progress: &Arc<Progress>,
        stop: &mut watch::Receiver<bool>,
    ) -> Result<u64, GetError> {
        let part = beside(path, "part");
        let failed = |source| GetError::Write { path: part.clone(), source };
        let is_continued = part.exists();
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&part).map_err(failed)?;
        file.set_len(map.file_bytes).map_err(failed)?;
        let file = Arc::new(file);
        progress.begin(map.file_bytes);
        let (mut pieces, mut under_way, mut fetched, mut kept) = (pieces(map, is_continued), JoinSet::new(), 0, 0);
        progress.set_limit(self.options.concurrency);
        loop {
            while under_way.len() < self.options.concurrency.max(1) && !*stop.borrow() {
                let Some(piece) = pieces.next() else { break };
                let (peers, options, file) = (self.peers.clone(), self.options.clone(), file.clone());
                progress.sets_out(piece.bytes);
                under_way.spawn(async move { (piece, fetch(&peers, &options, &file, piece).await) });
            }
            let Some(next) = under_way.join_next().await else { break };
            let (piece, outcome) = next.map_err(|error| failed(io::Error::other(error)))?;
            progress.comes_back(piece.bytes, matches!(outcome, Ok(Fetched::Now)));
            match outcome.map_err(failed)? {
                Fetched::Now => fetched += 1,
                Fetched::Before => {
                    progress.kept(piece.bytes);
                    kept += 1;
                }
                Fetched::Nowhere => {
                    let address = hex::encode(piece.address);
                    return Err(GetError::Missing { path: path.to_owned(), address });
                }
            }
        }
        let chunks = map.chunks.len() as u64;
        if fetched + kept < chunks {
            return Err(GetError::Stopped { path: path.to_owned(), fetched: fetched + kept, chunks });
        }
        file.sync_all().and_then(|()| fs::rename(&part, path)).map_err(failed)?;
        Ok(kept)
    }
}

fn pieces(map: &DataMap, is_perhaps_there: bool) -> impl Iterator<Item = Piece> {
    let (file_bytes, chunk_bytes) = (map.file_bytes, map.chunk_bytes);
    (0..).zip(&map.chunks).map(move |(number, address)| Piece {
        address: *address,
        offset: number * chunk_bytes as u64,
        bytes: DataMap::bytes_of(file_bytes, chunk_bytes, number),
        is_perhaps_there,
    })
}

/// Where a chunk came from.
enum Fetched {
    Now,
    Before,
    Nowhere,
}

/// Brings a chunk to its place, unless it is there.
async fn fetch(peers: &Arc<Peers>, options: &Arc<GetOptions>, file: &Arc<File>, piece: Piece) -> io::Result<Fetched> {
    if piece.is_perhaps_there {
        let there = file.clone();
        if blocking(move || Ok(is_there(&there, &piece))).await? {
            return Ok(Fetched::Before);
        }
    }
    for attempt in 0..options.attempts.max(1) {
        if attempt > 0 {
            tokio::time::sleep(Duration::from_millis(250) * attempt).await;
        }
        for number in peers.candidates(&piece.address) {
            let asked = timeout(options.answer_within, ask(peers, options, number, piece.address)).await;
            let chunk = match asked {
                Ok(Ok(chunk)) => chunk,
                Ok(Err(_)) => continue,
                Err(_) => {
                    peers.failed(number, &Fault::new(FaultKind::TimedOut, "no answer in time"));
                    continue;
                }
            };
            let file = file.clone();
            let is_right = blocking(move || place(&file, &piece, &chunk)).await?;
            if is_right {
                return Ok(Fetched::Now);
            }
            peers.failed(number, &Fault::new(FaultKind::WrongAddress, "its content is not the chunk's"));
        }
    }
    Ok(Fetched::Nowhere)
}

/// A chunk in the slot in which it came, and where it lies there.
type Chunk = (Held<ChunkRecord>, Span);

async fn ask(peers: &Peers, options: &GetOptions, number: usize, address: Address) -> Result<Chunk, Fault> {
    let request_id = peers.request_id();
    let request = ChunkMessage { request_id, body: ChunkBody::GetRequest { address: &address } };
    let message = Arc::new(Outgoing::small(&request, options.signer.as_ref()));
    peers.ask(number, request_id, &message, |payload, body| judge_get(payload, body, &address)).await
}

/// Where the chunk lies in the answer.
fn judge_get(payload: &[u8], body: &ChunkBody<'_>, expected: &Address) -> Result<Span, Fault> {
    match body {
        ChunkBody::GetResponse(GetResponse::Success { address, content }) => {
            let other = || Fault::new(FaultKind::WrongAddress, "it sent another chunk");
            span_of(content, payload).filter(|_| *address == expected).ok_or_else(other)
        }
        ChunkBody::GetResponse(GetResponse::NotFound { .. }) => {
            Err(Fault::new(FaultKind::NotFound, "it does not have the chunk"))
        }
        ChunkBody::GetResponse(GetResponse::Error(error)) => Err(Fault::of_protocol(error)),
        // A node that cannot tell which kind of request it was refuses it as one to store.
        ChunkBody::PutResponse(PutResponse::Error(error)) => Err(Fault::of_protocol(error)),
        _ => Err(Fault::new(FaultKind::UnexpectedAnswer, "it answered something else than a get")),
    }
}

/// An earlier run has put the chunk in its place.
fn is_there(file: &File, piece: &Piece) -> bool {
    let mut hasher = blake3::Hasher::new();
    let (mut block, mut at) = ([0; 64 * 1_024], 0);
    while at < piece.bytes {
        let bytes = block.len().min(piece.bytes - at);
        if file.read_exact_at(&mut block[..bytes], piece.offset + at as u64).is_err() {
            return false;
        }
        hasher.update(&block[..bytes]);
        at += bytes;
    }
    hasher.finalize().as_bytes() == &piece.address
}

/// Writes a chunk to its place, from the slot, if it is the right one.
fn place(file: &File, piece: &Piece, (answer, span): &Chunk) -> io::Result<bool> {
    let content = span.of(answer.payload());
    if content.len() != piece.bytes || address_of(content) != piece.address {
        return Ok(false);
    }
    file.write_all_at(content, piece.offset).map(|()| true)
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}
