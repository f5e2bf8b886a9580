//! Heap and slots in use over time, sampled every 10 ms while a run goes on, for those who want to plot it.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use levada_engine::{Arena, heap};
use levada_wire::waku::WakuRecord;

use crate::micro::error::BenchError;

const INTERVAL: Duration = Duration::from_millis(10);

type Watched = Arc<Mutex<Option<Arc<Arena<WakuRecord>>>>>;

/// The sampler, or nothing when no series was asked for.
#[derive(Debug, Default)]
pub struct Series {
    watched: Watched,
    sampler: Option<(Arc<AtomicBool>, JoinHandle<std::io::Result<()>>, String)>,
}

impl Series {
    /// Starts a sampler that writes to `path`.
    ///
    /// # Errors
    /// [`BenchError::Output`] when the file cannot be created.
    pub fn start(path: Option<&Path>) -> Result<Self, BenchError> {
        let mut series = Self::default();
        if let Some(path) = path {
            let name = path.display().to_string();
            let file =
                std::fs::File::create(path).map_err(|source| BenchError::Output { path: name.clone(), source })?;
            let (stop, watched) = (Arc::new(AtomicBool::new(false)), series.watched.clone());
            let flag = stop.clone();
            let sampler = std::thread::spawn(move || sample(file, &watched, &flag));
            series.sampler = Some((stop, sampler, name));
        }
        Ok(series)
    }

    /// The arena whose slots are counted from now on.
    pub fn watch(&self, arena: &Arc<Arena<WakuRecord>>) {
        if self.sampler.is_some() {
            *self.watched.lock().unwrap_or_else(PoisonError::into_inner) = Some(arena.clone());
        }
    }

    /// The run is over.
    pub fn unwatch(&self) {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Ends the sampler.
    ///
    /// # Errors
    /// [`BenchError::Output`] when some sample could not be written.
    pub fn finish(self) -> Result<(), BenchError> {
        let Some((stop, sampler, path)) = self.sampler else { return Ok(()) };
        stop.store(true, Relaxed);
        let written = sampler.join().unwrap_or_else(|_| Err(std::io::Error::other("the sampler failed")));
        written.map_err(|source| BenchError::Output { path, source })
    }
}

fn sample(file: std::fs::File, watched: &Watched, stop: &AtomicBool) -> std::io::Result<()> {
    let mut file = std::io::BufWriter::new(file);
    let started = Instant::now();
    writeln!(file, "time_ms,heap_bytes,slot_bytes")?;
    while !stop.load(Relaxed) {
        if let Some(arena) = &*watched.lock().unwrap_or_else(PoisonError::into_inner) {
            let slots: u64 = arena.usage().map(|class| class.slots_in_use * class.payload_bytes as u64).sum();
            writeln!(file, "{},{},{slots}", started.elapsed().as_millis(), heap::tracked_bytes().0)?;
        }
        std::thread::sleep(INTERVAL);
    }
    file.flush()
}
