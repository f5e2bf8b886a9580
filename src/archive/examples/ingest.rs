//! Ingest side by side: the segment log in every way of writing, and SQLite with the payloads inside, in turns on one disk.
//!
//! `cargo run --release -p levada-archive --example ingest -- FOLDER [MESSAGES] [ROUNDS] [small]`, on Linux. Messages of 10, 50 and
//! 150 kB at 25, 50 and 25 % (of 1 kB with `small`) in synced batches of 256. Prints messages per second, bytes written per payload byte
//! as the kernel counts them, and processor time per message; the last column is the time to drop the oldest half.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use levada_archive::{Archive, ArchiveMessage, Retention, SegmentArchive, SegmentOptions, SqliteArchive, StoreIo};

const BATCH: u64 = 256;
const MIX_BYTES: [usize; 4] = [10_000, 50_000, 150_000, 50_000];

#[expect(clippy::print_stdout, reason = "the result of the program")]
fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("name a folder on the disk to be measured")?);
    let messages: u64 = arguments.next().map_or(Ok(8_192), |text| text.parse())?;
    let rounds: u32 = arguments.next().map_or(Ok(3), |text| text.parse())?;
    let mix = if arguments.next().is_some() { [1_000; 4] } else { MIX_BYTES };
    println!(
        "{:<20} {:>10} {:>8} {:>8} {:>10} {:>10}",
        "archive", "messages/s", "MB/s", "written", "cpu us/msg", "drop ms"
    );
    for _ in 0..rounds {
        for name in ["sqlite", "segments uring", "segments pwritev", "segments buffered"] {
            let path = folder.join("ingest.archive");
            remove(&path)?;
            let run = measure(name, &path, messages, mix)?;
            println!("{name:<20} {run}");
            remove(&path)?;
        }
    }
    Ok(())
}

fn measure(name: &str, path: &Path, messages: u64, mix: [usize; 4]) -> Result<String, Box<dyn Error>> {
    let io = name.strip_prefix("segments ").map_or(Ok(StoreIo::Auto), str::parse)?;
    let (mut sqlite, mut segments) = (None, None);
    let archive: &mut dyn Archive = if name == "sqlite" {
        sqlite.insert(SqliteArchive::open(path)?)
    } else {
        segments.insert(SegmentArchive::open(path, &SegmentOptions { io, ..SegmentOptions::default() })?)
    };
    let payload: Vec<u8> = (0..150_000_u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let (started, written, cpu_ns) = (Instant::now(), written_bytes()?, cpu_ns()?);
    let mut payload_bytes = 0;
    for first in (0..messages).step_by(BATCH as usize) {
        let mut batch = (first..first + BATCH).map(|number| {
            let payload = &payload[..mix[(number % 4) as usize]];
            payload_bytes += payload.len();
            message(number, payload)
        });
        archive.insert_batch(&mut batch)?;
    }
    let seconds = started.elapsed().as_secs_f64();
    let cpu_us = (self::cpu_ns()? - cpu_ns) as f64 / 1e3;
    let written = (written_bytes()? - written) as f64;
    let half = Retention { messages_max: Some(messages / 2), ..Retention::default() };
    let started = Instant::now();
    let dropped = segments.as_mut().map(|segments| drop_all(segments, &half)).transpose()?;
    let drop_ms = dropped.map_or(f64::NAN, |_| started.elapsed().as_secs_f64() * 1e3);
    let (count, bytes) = (messages as f64, payload_bytes as f64);
    let (rate, megabytes) = (count / seconds, bytes / seconds / 1e6);
    Ok(format!("{rate:>10.0} {megabytes:>8.0} {:>8.3} {:>10.1} {drop_ms:>10.1}", written / bytes, cpu_us / count))
}

/// Takes every step of retention.
fn drop_all(archive: &mut SegmentArchive, retention: &Retention) -> Result<(), Box<dyn Error>> {
    while archive.retain(retention)?.unfinished {}
    Ok(())
}

fn message(number: u64, payload: &[u8]) -> ArchiveMessage<'_> {
    let mut hash = [0x3c; 32];
    hash[..8].copy_from_slice(&(number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
    let (pubsub_topic, content_topic) = ("/waku/2/rs/0/0", "/ingest/1/example/proto");
    ArchiveMessage { hash, pubsub_topic, content_topic, payload, version: 0, timestamp: number as i64, meta: &[] }
}

/// Bytes this process caused to be written to disks.
fn written_bytes() -> Result<u64, Box<dyn Error>> {
    let io = fs::read_to_string("/proc/self/io")?;
    let line = io.lines().find_map(|line| line.strip_prefix("write_bytes: "));
    Ok(line.ok_or("the kernel counts no bytes")?.parse()?)
}

/// Processor time of this thread, user and system.
fn cpu_ns() -> Result<u64, Box<dyn Error>> {
    let times = fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(times.split(' ').next().ok_or("the kernel counts no time")?.parse()?)
}

fn remove(path: &Path) -> std::io::Result<()> {
    for suffix in ["", "-wal", "-shm", "-lock", ".lock"] {
        let file = PathBuf::from(format!("{}{suffix}", path.display()));
        if file.exists() {
            fs::remove_file(file)?;
        }
    }
    let folder = PathBuf::from(format!("{}.segments", path.display()));
    if folder.exists() { fs::remove_dir_all(folder) } else { Ok(()) }
}
