//! The form of an export: a JSON object per line and message, with the names of nwaku's REST interface.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use levada_archive::upkeep::{ImportReport, Progress};
use levada_archive::{
    Archive, ArchiveMessage, Hash, PAYLOAD_BYTES_MAX, SegmentArchive, SegmentOptions, StoredBody, StoredMessage,
};
use serde::{Deserialize, Serialize};

use super::{Fault, is_genuine};

/// Longest line that is read: the largest payload in base64, and room for all else.
const LINE_BYTES_MAX: u64 = (PAYLOAD_BYTES_MAX as u64).div_ceil(3) * 4 + (4 << 20);
const BATCH_MESSAGES_MAX: usize = 256;
const BATCH_BYTES_MAX: usize = 16 << 20;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    message_hash: String,
    pubsub_topic: String,
    content_topic: String,
    payload: String,
    version: u32,
    timestamp: i64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    meta: String,
}

/// Writes a message as a line.
pub(super) fn write(output: &mut dyn Write, message: &StoredMessage) -> io::Result<()> {
    let Some(body) = &message.body else { return Ok(()) };
    let line = Line {
        message_hash: format!("0x{}", hex::encode(message.hash)),
        pubsub_topic: body.pubsub_topic.clone(),
        content_topic: body.content_topic.clone(),
        payload: STANDARD.encode(&body.payload),
        version: body.version,
        timestamp: body.timestamp,
        meta: STANDARD.encode(&body.meta),
    };
    serde_json::to_writer(&mut *output, &line)?;
    output.write_all(b"\n")
}

/// Reads a line; the error is half a sentence.
fn read(line: &[u8]) -> Result<(Hash, StoredBody), String> {
    let line: Line = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let mut hash = [0; 32];
    let digits = line.message_hash.strip_prefix("0x").unwrap_or(&line.message_hash);
    hex::decode_to_slice(digits, &mut hash).map_err(|error| format!("its hash: {error}"))?;
    let decode = |text: &str| STANDARD.decode(text).map_err(|error| error.to_string());
    let (payload, meta) = (decode(&line.payload)?, decode(&line.meta)?);
    let Line { pubsub_topic, content_topic, version, timestamp, .. } = line;
    Ok((hash, StoredBody { pubsub_topic, content_topic, payload, version, timestamp, meta }))
}

/// Stores every message of the export `from` in the archive whose index is `to`. What is there already is passed by, so that an import
/// that was interrupted goes on when it is made again. Progress is told in bytes.
pub(super) fn import(
    from: &Path,
    to: &Path,
    options: &SegmentOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<ImportReport, Fault> {
    let file = File::open(from).map_err(Fault::of(from))?;
    let total = file.metadata().map_err(Fault::of(from))?.len();
    let mut file = BufReader::new(file);
    let mut archive = SegmentArchive::open(to, options)?;
    let mut report = ImportReport::default();
    let (mut batch, mut batch_bytes) = (Vec::new(), 0);
    let (mut line, mut number, mut done) = (Vec::new(), 0, 0);
    loop {
        line.clear();
        let bytes = (&mut file).take(LINE_BYTES_MAX).read_until(b'\n', &mut line).map_err(Fault::of(from))?;
        if bytes == 0 || batch.len() == BATCH_MESSAGES_MAX || batch_bytes >= BATCH_BYTES_MAX {
            store(&mut archive, &batch, &mut report)?;
            batch.clear();
            batch_bytes = 0;
            progress(Progress { done, total });
        }
        if bytes == 0 {
            break;
        }
        (number, done) = (number + 1, done + bytes as u64);
        let (hash, body) = read(&line).map_err(|reason| {
            let path = from.display().to_string();
            Fault::Line { path, line: number, reason }
        })?;
        batch_bytes += body.payload.len();
        batch.push((hash, body));
    }
    Box::new(archive).close()?;
    Ok(report)
}

fn store(archive: &mut SegmentArchive, batch: &[(Hash, StoredBody)], report: &mut ImportReport) -> Result<(), Fault> {
    let messages = batch.iter().map(|(hash, body)| ArchiveMessage {
        hash: *hash,
        pubsub_topic: &body.pubsub_topic,
        content_topic: &body.content_topic,
        payload: &body.payload,
        version: body.version,
        timestamp: body.timestamp,
        meta: &body.meta,
    });
    let outcome = archive.insert_batch(&mut messages.filter(is_genuine))?;
    report.messages += outcome.stored;
    report.duplicates += outcome.duplicates;
    report.invalid += batch.len() as u64 - outcome.stored - outcome.duplicates;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(payload: &[u8], meta: &[u8]) -> StoredMessage {
        let (pubsub_topic, content_topic) = ("/waku/2/rs/0/0".to_owned(), "/a/1/b/proto".to_owned());
        let hash = levada_wire::hash::message_hash(&pubsub_topic, payload, &content_topic, meta, 5);
        let (payload, meta) = (payload.to_vec(), meta.to_vec());
        StoredMessage {
            hash,
            body: Some(StoredBody { pubsub_topic, content_topic, payload, version: 1, timestamp: 5, meta }),
        }
    }

    #[test]
    fn lines_come_back_as_they_were() {
        for message in [message(b"", b""), message(b"hello", b"m"), message(&[0xff; 70_000], &[0; 64])] {
            let mut line = Vec::new();
            write(&mut line, &message).expect("memory takes it");
            let (hash, body) = read(&line).expect("it was just written");
            assert_eq!(StoredMessage { hash, body: Some(body) }, message);
        }
    }

    #[test]
    fn an_export_is_imported_once_and_a_wrong_line_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let (from, to) = (folder.path().join("lines"), folder.path().join("archive"));
        let mut forged = message(b"forged", b"");
        forged.hash = [7; 32];
        let mut lines = Vec::new();
        for message in [message(b"one", b""), message(b"two", b""), forged] {
            write(&mut lines, &message).expect("memory takes it");
        }
        std::fs::write(&from, &lines).expect("the file");
        let import = || import(&from, &to, &SegmentOptions::default(), &mut |_| ());
        let report = import().expect("an import");
        assert_eq!((report.messages, report.duplicates, report.invalid), (2, 0, 1));
        assert_eq!(import().expect("an import").duplicates, 2);
        for wrong in [&b"{}\n"[..], b"\n", b"{\"messageHash\":\"0x00\"}", b"\xff"] {
            std::fs::write(&from, [lines.as_slice(), wrong].concat()).expect("the file");
            let error = import().expect_err("a wrong line");
            assert!(matches!(error, Fault::Line { line: 4, .. }), "{error}");
        }
    }
}
