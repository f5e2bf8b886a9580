//! Writes that are under way while the next one is prepared.
//!
//! The kernel reads what it writes at any time until it says that it is done. So a ring keeps the file and the bytes that it owns until
//! then, and bytes that are only lent to it are written within a [scope](WriteRing::scope), which does not end before its writes have.

use std::fmt;
use std::fs::File;
use std::io::{Error, ErrorKind, IoSlice, Result};
use std::marker::PhantomData;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use bytes::Bytes;
use io_uring::types::Fd;
use io_uring::{IoUring, Probe, opcode};

use super::Piece;

/// The most bytes the kernel takes in one write.
const WRITE_BYTES_MAX: usize = i32::MAX as usize;
/// The most pieces it takes (`UIO_MAXIOV`).
const PIECES_MAX: usize = 1_024;
/// How long a scope that cannot even wait stands still before it tries again.
const RETRY: Duration = Duration::from_millis(1);

/// Writes on their way to files, of any number of files, in no order.
pub struct WriteRing {
    ring: IoUring,
    /// By the number that the kernel gives back.
    writes: Vec<Write>,
    in_flight: usize,
    /// The first error since the last that was handed out.
    failed: Option<Error>,
}

/// A write, or the room for one: what it allocated is used again.
#[derive(Default)]
struct Write {
    /// Present while it is in flight.
    file: Option<Arc<File>>,
    kept: Vec<Bytes>,
    /// All pieces. Their lifetime is that of the write.
    slices: Vec<IoSlice<'static>>,
    /// Slices that are written.
    done: usize,
    offset: u64,
}

impl WriteRing {
    /// A ring that has at most `writes_max` writes under way, at least 1.
    ///
    /// # Errors
    /// Whatever the system refuses it with: a kernel without io_uring, one that is too old
    /// ([`ErrorKind::Unsupported`]), or a container that forbids it.
    pub fn new(writes_max: usize) -> Result<Self> {
        let writes_max = writes_max.clamp(1, 1_024);
        let ring = IoUring::new(writes_max as u32)?;
        let mut probe = Probe::new();
        ring.submitter().register_probe(&mut probe)?;
        if !probe.is_supported(opcode::Writev::CODE) {
            return Err(ErrorKind::Unsupported.into());
        }
        let writes = std::iter::repeat_with(Write::default).take(writes_max).collect();
        Ok(Self { ring, writes, in_flight: 0, failed: None })
    }

    /// Lets `work` write bytes that live longer than this call, and waits for all of its writes, also when it panics. An error that
    /// `work` did not ask for by [`Writes::finish`] is forgotten.
    pub fn scope<'env, R>(&mut self, work: impl FnOnce(&mut Writes<'_, 'env>) -> R) -> R {
        work(&mut Writes { ring: self, env: PhantomData })
    }

    fn begin(&mut self, number: usize) -> Result<()> {
        let write = &self.writes[number];
        let (slices, file) = (&write.slices[write.done..], write.file.as_ref().expect("it is in flight"));
        // A slice has the layout of the kernel's iovec.
        let entry = opcode::Writev::new(Fd(file.as_raw_fd()), slices.as_ptr().cast(), slices.len() as u32);
        let entry = entry.offset(write.offset).build().user_data(number as u64);
        // SAFETY: the file, the list of slices and the bytes that it owns stay in `writes`, unchanged, until the completion of this entry;
        // lent bytes outlive the scope, which waits for it. Nobody changes the bytes, since they are borrowed.
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
        match usize::try_from(result) {
            Ok(0) => self.fail(ErrorKind::WriteZero.into()),
            Ok(written) => {
                if self.writes[number].advance(written) {
                    return self.begin(number);
                }
            }
            Err(_) => {
                let error = Error::from_raw_os_error(-result);
                if is_for_now(&error) {
                    return self.begin(number);
                }
                self.fail(error);
            }
        }
        self.writes[number].clear();
        self.in_flight -= 1;
        Ok(())
    }

    fn fail(&mut self, error: Error) {
        self.failed.get_or_insert(error);
    }
}

impl Write {
    /// Passes over what was written; whether there is more.
    fn advance(&mut self, bytes: usize) -> bool {
        let mut rest = &mut self.slices[self.done..];
        let before = rest.len();
        IoSlice::advance_slices(&mut rest, bytes);
        let left = rest.len();
        self.done += before - left;
        self.offset += bytes as u64;
        left > 0
    }

    fn clear(&mut self) {
        (self.file, self.done) = (None, 0);
        self.kept.clear();
        self.slices.clear();
    }
}

/// The writes of a [scope](WriteRing::scope).
pub struct Writes<'ring, 'env> {
    ring: &'ring mut WriteRing,
    /// Neither longer nor shorter: what is lent must outlive the scope.
    env: PhantomData<fn(&'env ()) -> &'env ()>,
}

impl<'env> Writes<'_, 'env> {
    /// Begins to write `pieces`, one behind the other, at `offset` of `file`; waits first if too many writes are under way.
    ///
    /// # Errors
    /// The first error of a write that was begun before, the system's refusal to take this one, or [`ErrorKind::InvalidInput`] for more
    /// than 1 024 pieces, or 2 GiB.
    pub fn write(
        &mut self,
        file: &Arc<File>,
        pieces: impl IntoIterator<Item = Piece<'env>>,
        offset: u64,
    ) -> Result<()> {
        let ring = &mut *self.ring;
        while ring.in_flight == ring.writes.len() {
            ring.wait()?;
        }
        ring.failed.take().map_or(Ok(()), Err)?;
        let number = ring.writes.iter().position(|write| write.file.is_none()).expect("one is free");
        let write = &mut ring.writes[number];
        write.clear();
        for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
            let (start, bytes) = (piece.as_ptr(), piece.len());
            // SAFETY: the slice is used until the write is done: so long, bytes of its own are kept beside it, and lent ones live.
            write.slices.push(IoSlice::new(unsafe { std::slice::from_raw_parts(start, bytes) }));
            if let Piece::Kept(bytes) = piece {
                write.kept.push(bytes);
            }
        }
        let bytes = write.slices.iter().fold(0_usize, |sum, slice| sum.saturating_add(slice.len()));
        if bytes > WRITE_BYTES_MAX || write.slices.len() > PIECES_MAX {
            write.clear();
            return Err(ErrorKind::InvalidInput.into());
        }
        if bytes == 0 {
            return Ok(());
        }
        (write.file, write.offset) = (Some(Arc::clone(file)), offset);
        ring.in_flight += 1;
        ring.begin(number)
    }

    /// Waits until every write is done.
    ///
    /// # Errors
    /// The first error of any of them.
    pub fn finish(&mut self) -> Result<()> {
        while self.ring.in_flight > 0 {
            self.ring.wait()?;
        }
        self.ring.failed.take().map_or(Ok(()), Err)
    }
}

impl Drop for Writes<'_, '_> {
    fn drop(&mut self) {
        // Whatever the system says, the kernel may read lent bytes until it has told of each write.
        while self.ring.in_flight > 0 {
            if self.ring.wait().is_err() {
                sleep(RETRY);
            }
        }
        self.ring.failed = None;
    }
}

impl fmt::Debug for WriteRing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("WriteRing").field("writes_max", &self.writes.len()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Writes<'_, '_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Writes").field("in_flight", &self.ring.in_flight).finish_non_exhaustive()
    }
}

/// Whether the same call may succeed when it is made again.
fn is_for_now(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::ResourceBusy)
}
