//! Puts a file: its chunks to their close groups, then the list of them beside the file.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use levada_engine::{Arena, Held, TopologyError};
use levada_wire::autonomi::{Address, CHUNK_BYTES_MAX};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::cutter::{Cutter, Job};
use super::data_map::{DataMap, MapError, beside};
use super::gate::Gate;
use super::journal::{Journal, title};
use super::peers::Peers;
use super::progress::Progress;
use super::put::{PutOptions, Putter};
use crate::aimd::Aimd;
use crate::stages::ChunkRecord;

/// Why a file was not put.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PutError {
    /// The file.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The file is not what it was at the start.
    #[error("{} changed while it was read; put it again when nobody writes to it", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The journal.
    #[error("cannot keep the journal {}: {source}; make its folder writable", path.display())]
    Journal {
        /// The journal.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The data map.
    #[error("{0}")]
    Map(#[from] MapError),
    /// The engine.
    #[error("{0}")]
    Engine(#[from] TopologyError),
    /// Too few peers took some chunks.
    #[error(
        "{failed} of {chunks} chunks of {} did not reach {wanted} peers; the faults are listed by peer; put it again to go on",
        path.display()
    )]
    Majority {
        /// The file.
        path: PathBuf,
        /// Chunks given up.
        failed: u64,
        /// Chunks of the file.
        chunks: u64,
        /// Peers that must have each.
        wanted: usize,
    },
    /// It was stopped.
    #[error("stopped with {stored} of {chunks} chunks of {} stored; put it again to go on", path.display())]
    Stopped {
        /// The file.
        path: PathBuf,
        /// Chunks on their majority.
        stored: u64,
        /// Chunks of the file.
        chunks: u64,
    },
}

/// A file that was put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uploaded {
    /// Where the list of its chunks lies.
    pub map: PathBuf,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Chunks of the file.
    pub chunks: u64,
    /// Chunks that an earlier run had put.
    pub kept: u64,
}

/// Puts files one after another.
#[derive(Debug)]
pub struct Uploader {
    peers: Arc<Peers>,
    options: Arc<PutOptions>,
    cutter: Cutter,
    /// Chunks under way at most, whatever the controller says.
    ceiling: usize,
}

/// Where the list of a file's chunks is written.
pub fn map_of(file: &Path) -> PathBuf {
    beside(file, "chunks")
}

/// A file on its way.
struct Upload {
    journal: Journal,
    putter: Arc<Putter>,
    addresses: Vec<Address>,
    /// Chunks that came back, well or ill.
    finished: u64,
    kept: u64,
    failed: u64,
    under_way: JoinSet<Put>,
}

/// How a chunk came back.
struct Put {
    number: u64,
    address: Address,
    bytes: usize,
    is_stored: bool,
}

impl Uploader {
    /// Chunks lie in slots of `arena`, made by [`crate::arena::sender`]; as many are under way as it has, at most.
    ///
    /// # Errors
    /// [`PutError::Engine`].
    pub fn new(peers: Arc<Peers>, options: PutOptions, arena: Arc<Arena<ChunkRecord>>) -> Result<Self, PutError> {
        let large = arena.usage().find(|class| class.payload_bytes >= CHUNK_BYTES_MAX);
        let ceiling = large.map_or(1, |class| class.slots as usize).min(Aimd::CEILING);
        Ok(Self { peers, options: Arc::new(options), cutter: Cutter::start(arena)?, ceiling })
    }

    /// Puts one file and writes the list of its chunks beside it. When `stop` turns true no chunk sets out any more; those under
    /// way are waited for.
    ///
    /// # Errors
    /// [`PutError`]: what was stored so far is in the journal beside the file, and is not sent again.
    pub async fn put(
        &mut self,
        path: &Path,
        progress: &Arc<Progress>,
        stop: &mut watch::Receiver<bool>,
    ) -> Result<Uploaded, PutError> {
        let unreadable = |source| PutError::Read { path: path.to_owned(), source };
        let file = File::open(path).map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        if !metadata.is_file() {
            return Err(unreadable(io::Error::other("it is no ordinary file")));
        }
        let chunks = DataMap::chunks_of(metadata.len(), CHUNK_BYTES_MAX);
        let title = title(&metadata, CHUNK_BYTES_MAX, self.peers.wanted());
        let journal_path = beside(path, "put-journal");
        let unkept = |source| PutError::Journal { path: journal_path.clone(), source };
        let journal = Journal::open(&journal_path, &title, &self.peers.names()).map_err(unkept)?;
        progress.begin(metadata.len());
        let mut upload = self.upload(journal, chunks, progress);
        let gate = upload.putter.gate.clone();
        let job = Job { file, file_bytes: metadata.len(), gate, progress: progress.clone() };
        let read = self.run(&mut upload, job, stop).await.map_err(unkept)?;
        read.map_err(unreadable)?;
        let Upload { journal, addresses, finished, kept, failed, .. } = upload;
        let (path, wanted) = (path.to_owned(), self.peers.wanted());
        if failed > 0 {
            return Err(PutError::Majority { path, failed, chunks, wanted });
        }
        if finished < chunks {
            return Err(PutError::Stopped { path, stored: finished, chunks });
        }
        let now = std::fs::metadata(&path).and_then(|now| Ok((now.len(), now.modified()?)));
        if now.ok() != metadata.modified().ok().map(|modified| (metadata.len(), modified)) {
            return Err(PutError::Changed { path });
        }
        let map = map_of(&path);
        DataMap { file_bytes: metadata.len(), chunk_bytes: CHUNK_BYTES_MAX, chunks: addresses }.write(&map)?;
        journal.remove().map_err(unkept)?;
        Ok(Uploaded { map, file_bytes: metadata.len(), chunks, kept })
    }

    fn upload(&self, journal: Journal, chunks: u64, progress: &Arc<Progress>) -> Upload {
        let gate = Arc::new(Gate::new(self.ceiling));
        progress.set_limit(gate.limit());
        let (peers, options) = (self.peers.clone(), self.options.clone());
        let putter = Arc::new(Putter { peers, options, gate, progress: progress.clone() });
        let addresses = vec![Address::default(); usize::try_from(chunks).unwrap_or(usize::MAX)];
        Upload { journal, putter, addresses, finished: 0, kept: 0, failed: 0, under_way: JoinSet::new() }
    }

    /// Brings every chunk that is read to its majority; gives how the reading ended.
    async fn run(
        &mut self,
        upload: &mut Upload,
        job: Job,
        stop: &mut watch::Receiver<bool>,
    ) -> io::Result<io::Result<()>> {
        let reading = self.cutter.reading();
        let mut reader = tokio::task::spawn_blocking(move || reading(job));
        let mut read = None;
        let mut is_stopping = false;
        loop {
            if let Some((chunks, outcome)) = read.take_if(|(chunks, _)| upload.finished >= *chunks) {
                debug_assert_eq!(upload.finished, chunks);
                return Ok(outcome);
            }
            tokio::select! {
                ended = &mut reader, if read.is_none() => read = Some(ended.map_err(io::Error::other)?),
                chunk = self.cutter.next() => upload.set_out(chunk),
                Some(put) = upload.under_way.join_next() => upload.come_back(put.map_err(io::Error::other)?)?,
                _ = stop.wait_for(|stop| *stop), if !is_stopping => {
                    is_stopping = true;
                    upload.putter.gate.close();
                }
            }
        }
    }
}

impl Upload {
    /// A chunk has its address: it is put, unless an earlier run did.
    fn set_out(&mut self, chunk: Held<ChunkRecord>) {
        let ChunkRecord { request_id: number, address, content, .. } = chunk.record();
        let bytes = content.len as usize;
        if self.journal.holds(number, &address) {
            self.kept += 1;
            self.finished += 1;
            self.addresses[number as usize] = address;
            self.putter.progress.comes_back(bytes, false);
            self.putter.progress.kept(bytes);
            self.putter.gate.leave();
            return;
        }
        let putter = self.putter.clone();
        self.under_way.spawn(async move {
            let is_stored = putter.put(chunk).await.is_ok();
            Put { number, address, bytes, is_stored }
        });
    }

    fn come_back(&mut self, put: Put) -> io::Result<()> {
        self.finished += 1;
        self.putter.progress.comes_back(put.bytes, put.is_stored);
        self.putter.gate.leave();
        if put.is_stored {
            self.addresses[put.number as usize] = put.address;
            self.journal.add(put.number, &put.address)?;
        } else {
            // The next chunks would find the same peers.
            self.failed += 1;
            self.putter.gate.close();
        }
        Ok(())
    }
}
