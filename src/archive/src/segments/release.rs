//! Giving the room of removed files back to the disk.
//!
//! The name of a file is gone at once, its room with the last handle on it; and where a file system is mounted with `discard`, whoever lets
//! go of that waits for the disk, a millisecond per MiB for instance. So the last handles are for a thread that does nothing else.

use std::fs::File;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// Files on their way at once; of more, whoever removes them lets go himself, and so waits for the disk. Each takes a descriptor.
const FILES_MAX: usize = 256;

/// The thread, while there is one.
#[derive(Debug)]
pub(super) struct Releaser {
    files: SyncSender<File>,
    thread: JoinHandle<()>,
}

impl Releaser {
    /// Starts the thread, if the system grants one.
    pub(super) fn start() -> Option<Self> {
        let (files, removed) = sync_channel::<File>(FILES_MAX);
        let thread = thread::Builder::new().name("archive-release".to_owned());
        let thread = thread.spawn(move || removed.into_iter().for_each(drop)).ok()?;
        Some(Self { files, thread })
    }

    /// Lets go of a file that was removed.
    pub(super) fn release(&self, file: File) {
        // What the thread does not take is let go here.
        let _ = self.files.try_send(file);
    }

    /// Returns when the disk has the room of all files again.
    pub(super) fn finish(self) {
        drop(self.files);
        // It cannot panic.
        let _ = self.thread.join();
    }
}
