//! From writers to records.

use std::io::{self, IoSlice};
use std::task::{Context, Poll};

use futures::{AsyncRead, AsyncWrite};
use levada_wire::mux::{Codec, HEADER_BYTES_MAX, Header, StreamId};

use super::connection::Connection;
use super::stream::keep_waker;
use crate::transport::error::TransportError;
use crate::transport::noise::PLAIN_BYTES_MAX;

/// A record that has less room than this is closed rather than filled up, if there is more to write.
const SCRAP_BYTES: usize = 1_024;

impl<S: AsyncRead + AsyncWrite + Unpin, C: Codec> Connection<S, C> {
    /// Gathers one frame of stream `id` from `parts`, as long as the window, the record and the buffer allow.
    pub(super) fn poll_write(
        &mut self,
        id: StreamId,
        cx: &Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let total: usize = parts.iter().map(|part| part.len()).sum();
        let stream = self.writable(id)?;
        let credit = if C::WINDOW_BYTES.is_some() { stream.credit as usize } else { usize::MAX };
        if total == 0 {
            return Poll::Ready(Ok(0));
        }
        if credit == 0 {
            keep_waker(&mut stream.writer, cx);
            self.nudge();
            return Poll::Pending;
        }
        let wanted = total.min(credit).min(PLAIN_BYTES_MAX - HEADER_BYTES_MAX);
        let Poll::Ready(room) = self.or_fail(cx, |this, driver| this.poll_room(wanted.min(SCRAP_BYTES), driver))?
        else {
            return self.wait_for_room(id, cx);
        };
        let bytes = wanted.min(room);
        self.or_fail(cx, |this, _| this.put_frame(id, parts, bytes))?;
        self.nudge();
        Poll::Ready(Ok(bytes))
    }

    /// How many bytes of payload the next frame may have, at least `bytes_min`.
    fn poll_room(&mut self, bytes_min: usize, cx: &mut Context<'_>) -> Result<Poll<usize>, TransportError> {
        let least = bytes_min + HEADER_BYTES_MAX;
        let mut room = self.secure.room(0)?;
        if room < least && self.is_home() {
            // A record that is full goes out at once: the next one is gathered in the same place, while that is in the cache.
            _ = self.poll_drain(cx)?;
            room = self.secure.room(least)?;
        }
        Ok(if room < least { Poll::Pending } else { Poll::Ready(room - HEADER_BYTES_MAX) })
    }

    fn put_frame(&mut self, id: StreamId, parts: &[IoSlice<'_>], bytes: usize) -> Result<(), TransportError> {
        let Some(stream) = self.streams.get_mut(&id) else { return Ok(()) };
        // It fits: a frame is smaller than a record.
        let length = bytes as u32;
        stream.credit = stream.credit.saturating_sub(if C::WINDOW_BYTES.is_some() { length } else { 0 });
        let greeting = stream.greet();
        self.put_header(Header::Data(id, greeting, length))?;
        let mut left = bytes;
        for part in parts {
            let taken = part.len().min(left);
            self.secure.put(&part[..taken])?;
            left -= taken;
        }
        Ok(())
    }

    /// Sends what was gathered, of all streams.
    pub(super) fn poll_flush(&mut self, id: StreamId, cx: &Context<'_>) -> Poll<io::Result<()>> {
        if let Some(kind) = self.ended {
            return Poll::Ready(Err(kind.into()));
        }
        let drained = if self.is_home() {
            self.or_fail(cx, |this, driver| Ok(this.poll_drain(driver)?))?.is_ready()
        } else {
            self.nudge();
            self.secure.is_drained()
        };
        if drained { Poll::Ready(Ok(())) } else { self.wait_for_room(id, cx) }
    }

    /// Ends our side of the stream.
    pub(super) fn poll_finish(&mut self, id: StreamId, cx: &Context<'_>) -> Poll<io::Result<()>> {
        if let Some(kind) = self.ended {
            return Poll::Ready(Err(kind.into()));
        }
        let Some(stream) = self.streams.get_mut(&id) else {
            return Poll::Ready(Err(io::ErrorKind::NotConnected.into()));
        };
        if stream.is_reset {
            return Poll::Ready(Ok(()));
        }
        if !std::mem::replace(&mut stream.is_finished, true) {
            let greeting = stream.greet();
            self.or_fail(cx, |this, _| this.put_header(Header::Finish(id, greeting)))?;
        }
        self.poll_flush(id, cx)
    }

    fn writable(&mut self, id: StreamId) -> io::Result<&mut super::stream::Stream> {
        if let Some(kind) = self.ended {
            return Err(kind.into());
        }
        match self.streams.get_mut(&id) {
            None => Err(io::ErrorKind::NotConnected.into()),
            Some(stream) if stream.is_reset => Err(io::ErrorKind::ConnectionReset.into()),
            Some(stream) if stream.is_finished => Err(io::ErrorKind::BrokenPipe.into()),
            Some(stream) => Ok(stream),
        }
    }

    fn wait_for_room<T>(&mut self, id: StreamId, cx: &Context<'_>) -> Poll<T> {
        if let Some(stream) = self.streams.get_mut(&id) {
            keep_waker(&mut stream.writer, cx);
            if !self.writers.contains(&id) {
                self.writers.push_back(id);
            }
        }
        Poll::Pending
    }

    /// Runs `work` with the waker of the connection's task. Its error is the end of the connection.
    fn or_fail<T>(
        &mut self,
        cx: &Context<'_>,
        work: impl FnOnce(&mut Self, &mut Context<'_>) -> Result<T, TransportError>,
    ) -> io::Result<T> {
        let waker = self.driver_or(cx);
        let driver = &mut Context::from_waker(&waker);
        work(self, driver).map_err(|error| {
            let kind = error.kind();
            self.fail(error, driver);
            kind.into()
        })
    }
}
