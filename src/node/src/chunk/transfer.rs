//! `levada chunk put` and `levada chunk get`: files to nodes of chunks, and back.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use levada_chunk::arena;
use levada_chunk::client::{
    DataMap, Downloader, GetError, GetOptions, Peers, Progress, PutError, PutOptions, Uploader,
};
use levada_chunk::signature::Signer;
use levada_chunk::stages::ChunkRecord;
use levada_chunk::transport::Limits;
use levada_engine::{Arena, ArenaConfig};
use levada_wire::autonomi::{CHUNK_BYTES_MAX, PROOF_BYTES_MAX, check_proof};
use tokio::sync::watch;

use super::bar::Bar;
use super::{EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED, complain, fail, say};
use crate::cli::{ChunkGet, ChunkPut, Transfer};

/// Bytes of the longest answer to a request to store: a few words.
const PUT_ANSWER_BYTES_MAX: usize = arena::SMALL_BYTES;

/// Bytes of a slot in which a chunk arrives, roughly.
const ARRIVAL_BYTES: usize = CHUNK_BYTES_MAX + (1 << 20);

/// Puts files one after another; gives the exit code.
pub(super) async fn put(command: &ChunkPut, mut stopping: watch::Receiver<bool>) -> u8 {
    let limits = Limits { message_bytes_max: PUT_ANSWER_BYTES_MAX, ..Limits::default() };
    let config = arena::sender(command.transfer.memory_bytes / CHUNK_BYTES_MAX);
    let (peers, arena) = match connect(&command.transfer, &config, None, limits).await {
        Ok(connected) => connected,
        Err(error) => return fail(&error),
    };
    let uploader = options_of(command)
        .and_then(|options| Uploader::new(peers.clone(), options, arena).map_err(|error| error.to_string()));
    let mut uploader = match uploader {
        Ok(uploader) => uploader,
        Err(error) => return fail(&error),
    };
    let mut code = EXIT_DONE;
    for file in &command.files {
        let progress = Arc::<Progress>::default();
        let bar = Bar::of(file, progress.clone());
        let outcome = uploader.put(file, &progress, &mut stopping).await;
        let moved = bar.finish();
        match outcome {
            Ok(uploaded) => say(&format!(
                "{}: {} chunks on {} of {} nodes each, {moved}; get it back by {}",
                file.display(),
                uploaded.chunks,
                peers.wanted(),
                peers.reached(),
                uploaded.map.display()
            )),
            Err(error) => {
                complain(&error.to_string());
                code = EXIT_FAILED;
                if matches!(error, PutError::Stopped { .. }) {
                    code = EXIT_INTERRUPTED;
                    break;
                }
            }
        }
        if *stopping.borrow() {
            break;
        }
    }
    list_faults(&peers);
    code
}

/// Gets files one after another; gives the exit code.
pub(super) async fn get(command: &ChunkGet, mut stopping: watch::Receiver<bool>) -> u8 {
    let transfer = &command.transfer;
    let config = arena::receiver(transfer.memory_bytes);
    let (peers, _arena) = match connect(transfer, &config, Some(1), Limits::default()).await {
        Ok(connected) => connected,
        Err(error) => return fail(&error),
    };
    let signer = match transfer.key.as_deref().map(Signer::of_file).transpose() {
        Ok(signer) => signer,
        Err(error) => return fail(&error.to_string()),
    };
    // Half of what fits: an answer may need a slot before the last one is written.
    let concurrency = (transfer.memory_bytes / ARRIVAL_BYTES / 2).clamp(1, 16);
    let (answer_within, attempts) = (transfer.answer_within, transfer.attempts);
    let downloader = Downloader::new(peers.clone(), GetOptions { answer_within, attempts, concurrency, signer });
    let mut code = EXIT_DONE;
    for map_path in &command.maps {
        let (map, file) = match DataMap::read(map_path).map(|map| (map, target(command, map_path))) {
            Ok(read) => read,
            Err(error) => {
                code = fail(&error.to_string());
                continue;
            }
        };
        let progress = Arc::<Progress>::default();
        let bar = Bar::of(&file, progress.clone());
        let outcome = downloader.get(&map, &file, &progress, &mut stopping).await;
        let moved = bar.finish();
        match outcome {
            Ok(_) => say(&format!("{}: {} chunks verified, {moved}", file.display(), map.chunks.len())),
            Err(error) => {
                complain(&error.to_string());
                code = if matches!(error, GetError::Stopped { .. }) { EXIT_INTERRUPTED } else { EXIT_FAILED };
            }
        }
        if *stopping.borrow() {
            break;
        }
    }
    list_faults(&peers);
    code
}

/// Where the file of a list goes.
fn target(command: &ChunkGet, map: &Path) -> PathBuf {
    match &command.out {
        Some(out) => out.clone(),
        None if map.extension().is_some_and(|ending| ending == "chunks") => map.with_extension(""),
        None => map.with_extension("file"),
    }
}

/// Connects to the nodes; at least `reached_min` must answer, or a majority of a close group.
async fn connect(
    transfer: &Transfer,
    config: &ArenaConfig,
    reached_min: Option<usize>,
    limits: Limits,
) -> Result<(Arc<Peers>, Arc<Arena<ChunkRecord>>), String> {
    let arena = Arena::new(config).map_err(|error| error.to_string())?;
    let peers = Peers::connect(&transfer.peers, transfer.close_group, reached_min, arena.clone(), limits).await;
    Ok((Arc::new(peers.map_err(|error| error.to_string())?), arena))
}

fn options_of(command: &ChunkPut) -> Result<PutOptions, String> {
    let transfer = &command.transfer;
    Ok(PutOptions {
        answer_within: transfer.answer_within,
        attempts: transfer.attempts,
        payment_proof: command.proof.as_deref().map(read_proof).transpose()?,
        signer: transfer.key.as_deref().map(Signer::of_file).transpose().map_err(|error| error.to_string())?,
    })
}

fn read_proof(path: &Path) -> Result<Vec<u8>, String> {
    let named = |error: &dyn std::fmt::Display| format!("cannot use --proof {}: {error}", path.display());
    let bytes = std::fs::metadata(path).map_err(|error| named(&error))?.len();
    if bytes > PROOF_BYTES_MAX as u64 {
        return Err(named(&format!("{bytes} bytes are more than the {PROOF_BYTES_MAX} that a node looks at")));
    }
    let proof = std::fs::read(path).map_err(|error| named(&error))?;
    check_proof(&proof).map_err(|error| named(&error))?;
    Ok(proof)
}

/// Which node did what instead of what it was asked.
fn list_faults(peers: &Peers) {
    for (peer, kind, count) in peers.faults.counts() {
        complain(&format!("fault of {peer}: {} ({count} times)", kind.name()));
    }
}
