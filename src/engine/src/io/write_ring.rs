//! Writes that are under way while the next one is prepared.
//!
//! A ring keeps what it writes, and the file, until the kernel is done with both: nothing here borrows, so nothing can be given back too
//! early. That is all that the unsafe call needs.

use std::fmt;
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::os::fd::AsRawFd;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use io_uring::types::Fd;
use io_uring::{IoUring, Probe, opcode};

/// The most bytes the kernel takes in one write.
const WRITE_BYTES_MAX: usize = i32::MAX as usize;

/// Writes on their way to files, of any number of files, in no order.
pub struct WriteRing {
    ring: IoUring,
    /// By the number that the kernel gives back.
    writes: Vec<Option<Write>>,
    in_flight: usize,
    /// The first error since the last that was handed out.
    failed: Option<Error>,
}

struct Write {
    file: Arc<File>,
    bytes: Bytes,
    offset: u64,
}

impl WriteRing {
    /// A ring that has at most `writes_max` writes under way, at least 1.
    ///
    /// # Errors
    /// Whatever the system refuses it with: a kernel without io_uring, one that is too old for plain writes
    /// ([`ErrorKind::Unsupported`]), or a container that forbids it.
    pub fn new(writes_max: usize) -> Result<Self> {
        let writes_max = writes_max.clamp(1, 1_024);
        let ring = IoUring::new(writes_max as u32)?;
        let mut probe = Probe::new();
        ring.submitter().register_probe(&mut probe)?;
        if !probe.is_supported(opcode::Write::CODE) {
            return Err(ErrorKind::Unsupported.into());
        }
        let writes = std::iter::repeat_with(|| None).take(writes_max).collect();
        Ok(Self { ring, writes, in_flight: 0, failed: None })
    }

    /// Begins to write `bytes` at `offset` of `file`, and waits first if too many writes are under way.
    ///
    /// # Errors
    /// The first error of a write that was begun before, or the system's refusal to take this one.
    pub fn write(&mut self, file: &Arc<File>, bytes: Bytes, offset: u64) -> Result<()> {
        if bytes.len() > WRITE_BYTES_MAX {
            return Err(ErrorKind::InvalidInput.into());
        }
        while self.in_flight == self.writes.len() {
            self.wait()?;
        }
        self.failed.take().map_or(Ok(()), Err)?;
        if bytes.is_empty() {
            return Ok(());
        }
        let free = self.writes.iter().position(Option::is_none).expect("one is free while not all are in flight");
        self.begin(free, Write { file: Arc::clone(file), bytes, offset })
    }

    /// Waits until every write is done.
    ///
    /// # Errors
    /// The first error of any of them.
    pub fn finish(&mut self) -> Result<()> {
        while self.in_flight > 0 {
            self.wait()?;
        }
        self.failed.take().map_or(Ok(()), Err)
    }

    fn begin(&mut self, number: usize, write: Write) -> Result<()> {
        let (at, length) = (write.bytes.as_ptr(), write.bytes.len() as u32);
        let entry = opcode::Write::new(Fd(write.file.as_raw_fd()), at, length).offset(write.offset).build();
        let entry = entry.user_data(number as u64);
        self.writes[number] = Some(write);
        self.in_flight += 1;
        // SAFETY: the file and the bytes are kept in `writes` until the completion of this entry, or for ever; the bytes do not move
        // and nobody changes them, which `Bytes` promises.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.expect("the queue has an entry for each write");
        match self.ring.submit() {
            // The entry stays in the queue, and the next call takes it along.
            Err(error) if is_for_now(&error) => Ok(()),
            submitted => submitted.map(|_| ()),
        }
    }

    /// Waits for at least one write to be done.
    fn wait(&mut self) -> Result<()> {
        loop {
            match self.ring.submit_and_wait(1) {
                Err(error) if is_for_now(&error) => {}
                waited => break waited.map(|_| ())?,
            }
        }
        loop {
            // The queue is let go of before a write is begun again.
            let Some(entry) = self.ring.completion().next() else { return Ok(()) };
            self.complete(entry.user_data() as usize, entry.result())?;
        }
    }

    fn complete(&mut self, number: usize, result: i32) -> Result<()> {
        let mut write = self.writes[number].take().expect("the kernel completes what was begun");
        self.in_flight -= 1;
        match usize::try_from(result) {
            Ok(0) => self.fail(ErrorKind::WriteZero.into()),
            Ok(written) if written < write.bytes.len() => {
                write.bytes.advance(written);
                write.offset += written as u64;
                return self.begin(number, write);
            }
            Ok(_) => {}
            Err(_) => {
                let error = Error::from_raw_os_error(-result);
                if is_for_now(&error) {
                    return self.begin(number, write);
                }
                self.fail(error);
            }
        }
        Ok(())
    }

    fn fail(&mut self, error: Error) {
        self.failed.get_or_insert(error);
    }
}

impl Drop for WriteRing {
    fn drop(&mut self) {
        if self.finish().is_err() && self.in_flight > 0 {
            // The kernel may still read them.
            std::mem::forget(std::mem::take(&mut self.writes));
        }
    }
}

impl fmt::Debug for WriteRing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("WriteRing").field("writes_max", &self.writes.len()).finish_non_exhaustive()
    }
}

/// Whether the same call may succeed when it is made again.
fn is_for_now(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::ResourceBusy)
}
