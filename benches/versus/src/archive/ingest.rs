//! Storing messages in synced batches of 256, beside SQLite with the payloads inside.

use std::time::Instant;

use levada_archive::Archive;
use sha2::{Digest, Sha256};

use super::Effort;
use super::inline::Inline;
use super::workload::{BATCH, Payloads, folder, insert, message, open};
use crate::machine::processor_ns;
use crate::pair::Sample;
use crate::row::{Contest, Row, absolute};

/// The reference mix: 10, 50 and 150 kB at 25, 50 and 25 %.
pub const MIX: &[usize] = &[10_000, 50_000, 150_000, 50_000];
/// Small messages.
pub const SMALL: &[usize] = &[1_000];

/// Bytes that reach the disk per payload byte.
const AMPLIFICATION_MAX: f64 = 1.12;

fn messages_of(sizes: &[usize], effort: Effort) -> u64 {
    let messages: u64 = if sizes == MIX { 8_192 } else { 65_536 };
    (messages / effort.less).max(2 * BATCH)
}

/// Microseconds per message.
pub fn rate(measure: &'static str, sizes: &'static [usize], io: &'static str, bar: f64, effort: Effort) -> Row {
    let (payloads, messages) = (Payloads::new(sizes), messages_of(sizes, effort));
    let contest = Contest::new(measure, "us/message", bar).tolerate_switches();
    let ours = || ours(&payloads, messages, io, |work| time_us(messages, work));
    let rival = || rival(&payloads, messages, |work| time_us(messages, work));
    contest.with("segments", ours).with("SQLite inline", rival).run(effort.rounds)
}

/// Bytes written per payload byte, of the mix.
pub fn written(measure: &'static str, effort: Effort) -> Row {
    let (payloads, messages) = (Payloads::new(MIX), messages_of(MIX, effort));
    let bytes = payloads.total(messages) as f64;
    absolute(measure, "bytes/byte", AMPLIFICATION_MAX, effort.rounds, || {
        ours(&payloads, messages, "auto", |work| written_per(bytes, work)).value
    })
}

/// Bytes written per payload byte, of small messages.
pub fn written_small(measure: &'static str, effort: Effort) -> Row {
    let (payloads, messages) = (Payloads::new(SMALL), messages_of(SMALL, effort));
    let bytes = payloads.total(messages) as f64;
    let ours = || ours(&payloads, messages, "auto", |work| written_per(bytes, work));
    let rival = || rival(&payloads, messages, |work| written_per(bytes, work));
    let contest = Contest::new(measure, "bytes/byte", 1.0).tolerate_switches();
    contest.with("segments", ours).with("SQLite inline", rival).run(effort.rounds)
}

/// Processor time per message, of the mix, beside one SHA-256 of its payload.
pub fn processor_time(measure: &'static str, effort: Effort) -> Row {
    let (payloads, messages) = (Payloads::new(MIX), messages_of(MIX, effort));
    let ours = || ours(&payloads, messages, "auto", |work| processor_us(messages, work));
    let rival = || {
        let mut folded = 0;
        let sample = processor_us(messages, &mut || {
            (0..messages).for_each(|number| folded ^= Sha256::digest(payloads.of(number))[0]);
        });
        std::hint::black_box(folded);
        sample
    };
    let contest = Contest::new(measure, "us/message", 2.0).tolerate_switches();
    contest.with("segments", ours).with("sha2 pass", rival).run(effort.rounds)
}

/// What `measured` says of storing `messages` in an archive of ours; closing it belongs to it.
fn ours(payloads: &Payloads, messages: u64, io: &str, measured: impl FnOnce(&mut dyn FnMut()) -> Sample) -> Sample {
    let folder = folder();
    let (archive, _) = open(&folder, io);
    let mut archive = Some(Box::new(archive));
    measured(&mut || {
        let mut archive = archive.take().expect("it is measured once");
        (0..messages).step_by(BATCH as usize).for_each(|first| insert(&mut *archive, payloads, first));
        archive.close().expect("the disk takes it");
    })
}

/// The same of the rival.
fn rival(payloads: &Payloads, messages: u64, measured: impl FnOnce(&mut dyn FnMut()) -> Sample) -> Sample {
    let folder = folder();
    let mut inline = Some(Inline::open(&folder.path().join("inline.sqlite3")));
    measured(&mut || {
        let inline = inline.take().expect("it is measured once");
        for first in (0..messages).step_by(BATCH as usize) {
            inline.insert((first..first + BATCH).map(|number| message(number, payloads.of(number))), u64::MAX);
        }
        inline.close();
    })
}

fn time_us(messages: u64, work: &mut dyn FnMut()) -> Sample {
    let started = Instant::now();
    work();
    Sample { value: started.elapsed().as_secs_f64() * 1e6 / messages as f64, switches: 0 }
}

fn processor_us(messages: u64, work: &mut dyn FnMut()) -> Sample {
    let before = processor_ns();
    work();
    Sample { value: (processor_ns() - before) as f64 / 1e3 / messages as f64, switches: 0 }
}

fn written_per(bytes: f64, work: &mut dyn FnMut()) -> Sample {
    let before = written_bytes();
    work();
    Sample { value: (written_bytes() - before) as f64 / bytes, switches: 0 }
}

/// Bytes this process caused to be written to disks.
fn written_bytes() -> u64 {
    let io = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = io.lines().find_map(|line| line.strip_prefix("write_bytes: "));
    line.and_then(|bytes| bytes.parse().ok()).unwrap_or_default()
}
