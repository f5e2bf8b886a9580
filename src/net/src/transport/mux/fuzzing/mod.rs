//! Any frames of a peer, and anything that the users of the streams may do meanwhile.
//!
//! What a stream carries is told by its number and the place in it, so that bytes which are lost, doubled or led astray are seen
//! wherever they arrive. That holds while the peer keeps the rules; one that does not is owed bounded memory and whole frames.

mod peer;

use std::pin::Pin;
use std::sync::LazyLock;
use std::task::{Context, Poll, Waker};

use futures::AsyncWrite;
use levada_wire::mux::Codec;
use levada_wire::mux::mplex::Mplex;
use levada_wire::mux::yamux::Yamux;
use libp2p::core::muxing::StreamMuxer;
use tokio::runtime::{Builder, Runtime};

use super::Substream;
use super::limits::WAITING_BYTES_MAX;
use crate::transport::by_hand::{Bench, Pipe, read};
use peer::{FROM_US, Peer, TO_US, carried};

/// Bytes of the longest read: more than a record.
const READ_BYTES_MAX: usize = 70_000;

/// The state of a yamux connection in the role that the first byte names; the rest says what happens on it.
pub fn yamux(data: &[u8]) {
    let Some((role, steps)) = data.split_first() else { return };
    let is_dialler = role & 1 == 0;
    Play::new(Yamux::new(is_dialler), Yamux::new(!is_dialler)).run(steps);
}

/// The state of an mplex connection.
pub fn mplex(data: &[u8]) {
    // Patience with slow readers is measured by a clock, which stands still here.
    static RUNTIME: LazyLock<Runtime> =
        LazyLock::new(|| Builder::new_current_thread().enable_time().build().expect("a runtime"));
    let _inside = RUNTIME.enter();
    Play::new(Mplex::default(), Mplex::default()).run(data);
}

/// A stream that its user holds.
struct User<C: Codec> {
    stream: Substream<Pipe, C>,
    read: usize,
    written: usize,
    has_failed: bool,
}

/// A connection, its peer and the users of its streams.
struct Play<C: Codec> {
    bench: Bench<C>,
    peer: Peer<C>,
    users: Vec<User<C>>,
    has_ended: bool,
}

impl<C: Codec> Play<C> {
    fn new(near: C, far: C) -> Self {
        Self { bench: Bench::new(near), peer: Peer::new(far), users: Vec::new(), has_ended: false }
    }

    /// Plays a step for each byte, with the bytes behind it that it asks for: the lower three bits say what, the others how much.
    fn run(mut self, mut steps: &[u8]) {
        while let Some((step, rest)) = steps.split_first() {
            steps = self.step(step & 7, usize::from(step >> 3), rest);
            let heard = self.bench.received();
            self.peer.hear(&heard);
            let (waiting, sent) = (self.bench.muxer.waiting_bytes(), self.peer.sent());
            assert!(waiting <= sent.min(WAITING_BYTES_MAX), "{waiting} bytes wait of {sent}");
        }
        self.conclude();
    }

    fn step<'a>(&mut self, what: u8, amount: usize, rest: &'a [u8]) -> &'a [u8] {
        let cx = &mut Context::from_waker(Waker::noop());
        match what {
            0 => {
                let (bytes, rest) = rest.split_at(rest.len().min(amount));
                self.peer.send_raw(bytes, &mut self.bench);
                return rest;
            }
            1 => {
                let Some((frame, rest)) = rest.split_first() else { return rest };
                self.peer.send_frame(frame & 7, usize::from(frame >> 3), amount, &mut self.bench);
                return rest;
            }
            2 => self.has_ended |= self.bench.turns(2).is_ready(),
            3 => self.accept(),
            4 => {
                if let Poll::Ready(Ok(stream)) = Pin::new(&mut self.bench.muxer).poll_outbound(cx) {
                    self.hold(stream);
                }
            }
            5 => {
                let is_wild = self.peer.is_wild();
                self.with_user(amount, |user| _ = user.read(1 + amount * READ_BYTES_MAX / 32, is_wild));
            }
            6 => self.with_user(amount, |user| user.write(amount * 1_000, amount & 1 == 1)),
            _ if amount & 1 == 0 => self.bench.set_full(amount & 2 == 0),
            _ if self.users.is_empty() => {}
            _ => drop(self.users.swap_remove(amount % self.users.len())),
        }
        rest
    }

    fn accept(&mut self) {
        if let Some(stream) = self.bench.accept() {
            self.hold(stream);
        }
    }

    fn hold(&mut self, stream: Substream<Pipe, C>) {
        self.users.push(User { stream, read: 0, written: 0, has_failed: false });
    }

    fn with_user(&mut self, which: usize, act: impl FnOnce(&mut User<C>)) {
        let count = self.users.len().max(1);
        if let Some(user) = self.users.get_mut(which % count) {
            act(user);
        }
        self.check_reads();
    }

    /// Nobody has read more than was sent to him.
    fn check_reads(&self) {
        if self.peer.is_wild() {
            return;
        }
        for user in &self.users {
            let sent = self.peer.way(user.stream.id()).map_or(0, |way| way.sent);
            assert!(user.read <= sent, "{} bytes are read of {sent}", user.read);
        }
    }

    /// Lets everything arrive that can, and compares.
    fn conclude(mut self) {
        self.bench.set_full(false);
        loop {
            self.has_ended |= self.bench.turns(8).is_ready();
            let before = self.users.len();
            self.accept();
            let mut is_new = self.users.len() > before;
            for user in &mut self.users {
                is_new |= user.read(20_000, self.peer.is_wild()) > 0;
            }
            let heard = self.bench.received();
            self.peer.hear(&heard);
            if !is_new && heard.is_empty() {
                break;
            }
        }
        assert!(!self.has_ended || self.bench.turns(1).is_ready(), "a connection that has ended goes on");
        self.check_reads();
        if !self.has_ended {
            self.peer.check_whole();
        }
        self.check_arrived();
        self.users.clear();
        assert_eq!(self.bench.muxer.waiting_bytes(), 0, "bytes wait for nobody");
    }

    /// What a peer that keeps the rules has sent, and what it was sent, has come to its end.
    fn check_arrived(&self) {
        if self.peer.is_wild() {
            return;
        }
        assert!(!self.has_ended, "a peer that keeps the rules has lost its connection");
        for user in self.users.iter().filter(|user| !user.has_failed) {
            let Some(way) = self.peer.way(user.stream.id()) else { continue };
            let carried = (user.read, user.written);
            assert!(way.is_reset || carried == (way.sent, way.heard), "{carried:?} of {:?}", user.stream.id());
        }
    }
}

impl<C: Codec> User<C> {
    /// Reads once; how much has come.
    fn read(&mut self, bytes: usize, is_wild: bool) -> usize {
        match read(&mut self.stream, bytes) {
            Some(Ok(bytes)) => {
                let id = self.stream.id();
                let is_next = carried(id, TO_US, self.read).take(bytes.len()).eq(bytes.iter().copied());
                assert!(is_next || is_wild, "{id:?} reads what is not next on it");
                self.read += bytes.len();
                bytes.len()
            }
            Some(Err(_)) => {
                self.has_failed = true;
                0
            }
            None => 0,
        }
    }

    fn write(&mut self, bytes: usize, closes: bool) {
        let cx = &mut Context::from_waker(Waker::noop());
        let body: Vec<u8> = carried(self.stream.id(), FROM_US, self.written).take(bytes).collect();
        if let Poll::Ready(Ok(written)) = Pin::new(&mut self.stream).poll_write(cx, &body) {
            self.written += written;
        }
        let stream = Pin::new(&mut self.stream);
        _ = if closes { stream.poll_close(cx) } else { stream.poll_flush(cx) };
    }
}
