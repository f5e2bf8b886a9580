//! Heap and slots in use over time, sampled every 10 ms while a run goes on, for those who want to plot it.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use levada_engine::{Arena, heap};
use levada_wire::waku::WakuRecord;

use crate::micro::error::BenchError;

const INTERVAL: Duration = Duration::from_millis(10);

/// The sampler, or nothing when no series was asked for. Dropping it ends the sampler.
#[derive(Debug, Default)]
pub struct Series(Option<Sampler>);

#[derive(Debug)]
struct Sampler {
    path: String,
    samples: Arc<Mutex<Samples>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<std::io::Result<()>>>,
}

/// The file, and what is written to it.
#[derive(Debug)]
struct Samples {
    file: BufWriter<File>,
    started: Instant,
    arena: Option<Arc<Arena<WakuRecord>>>,
}

impl Samples {
    fn write(&mut self) -> std::io::Result<()> {
        let Some(arena) = &self.arena else { return Ok(()) };
        let slots: u64 = arena.usage().map(|class| class.slots_in_use * class.payload_bytes as u64).sum();
        let (heap, time_ms) = (heap::tracked_bytes().0, self.started.elapsed().as_millis());
        writeln!(self.file, "{time_ms},{heap},{slots}")
    }
}

fn lock(samples: &Mutex<Samples>) -> MutexGuard<'_, Samples> {
    samples.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Series {
    /// Starts a sampler that writes to `path`.
    ///
    /// # Errors
    /// [`BenchError::Output`] when the file cannot be written.
    pub fn start(path: Option<&Path>) -> Result<Self, BenchError> {
        let Some(path) = path else { return Ok(Self(None)) };
        let name = path.display().to_string();
        let created = File::create(path).and_then(|file| {
            let mut file = BufWriter::new(file);
            writeln!(file, "time_ms,heap_bytes,slot_bytes")?;
            Ok(file)
        });
        let file = created.map_err(|source| BenchError::Output { path: name.clone(), source })?;
        let samples = Arc::new(Mutex::new(Samples { file, started: Instant::now(), arena: None }));
        let stop = Arc::new(AtomicBool::new(false));
        let (shared, flag) = (samples.clone(), stop.clone());
        let thread = std::thread::spawn(move || sample(&shared, &flag));
        Ok(Self(Some(Sampler { path: name, samples, stop, thread: Some(thread) })))
    }

    /// The arena whose slots are counted from now on.
    pub fn watch(&self, arena: &Arc<Arena<WakuRecord>>) {
        if let Some(sampler) = &self.0 {
            lock(&sampler.samples).arena = Some(arena.clone());
        }
    }

    /// The run is over: takes a last sample, which shows what it retains.
    ///
    /// # Errors
    /// [`BenchError::Output`] when it could not be written.
    pub fn unwatch(&self) -> Result<(), BenchError> {
        let Some(sampler) = &self.0 else { return Ok(()) };
        let mut samples = lock(&sampler.samples);
        let written = samples.write();
        samples.arena = None;
        written.map_err(|source| BenchError::Output { path: sampler.path.clone(), source })
    }

    /// Ends the sampler.
    ///
    /// # Errors
    /// [`BenchError::Output`] when some sample could not be written.
    pub fn finish(mut self) -> Result<(), BenchError> {
        let Some(sampler) = &mut self.0 else { return Ok(()) };
        sampler.end().map_err(|source| BenchError::Output { path: sampler.path.clone(), source })
    }
}

impl Sampler {
    fn end(&mut self) -> std::io::Result<()> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        self.stop.store(true, Relaxed);
        thread.join().unwrap_or_else(|_| Err(std::io::Error::other("the sampler failed")))?;
        lock(&self.samples).file.flush()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        // A benchmark that failed has a reason of its own to report.
        let _ = self.end();
    }
}

fn sample(samples: &Mutex<Samples>, stop: &AtomicBool) -> std::io::Result<()> {
    while !stop.load(Relaxed) {
        lock(samples).write()?;
        std::thread::sleep(INTERVAL);
    }
    Ok(())
}
