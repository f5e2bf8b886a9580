//! The streams of Waku's protocols that are open, of all connections of the process.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::census::PROTOCOLS;
use crate::peers::Direction;

static OPEN: [[AtomicU64; 2]; PROTOCOLS.len()] = [const { [const { AtomicU64::new(0) }; 2] }; PROTOCOLS.len()];

/// Counts a stream for as long as it is kept.
#[derive(Debug)]
pub(crate) struct OpenStream(Option<&'static AtomicU64>);

impl OpenStream {
    /// A stream that has been opened by that side. Those of protocols that peers are not counted by are not counted either.
    pub(crate) fn new(protocol: &str, direction: Direction) -> Self {
        let protocol = PROTOCOLS.iter().position(|known| *known == protocol);
        let count = protocol.map(|protocol| &OPEN[protocol][direction as usize]);
        if let Some(count) = count {
            count.fetch_add(1, Relaxed);
        }
        Self(count)
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        if let Some(count) = self.0 {
            count.fetch_sub(1, Relaxed);
        }
    }
}

/// How many streams of each of [`PROTOCOLS`] are open, by who opened them.
pub fn open_streams() -> impl Iterator<Item = (Direction, &'static str, u64)> {
    let of = |direction: Direction| {
        PROTOCOLS
            .iter()
            .zip(&OPEN)
            .map(move |(protocol, open)| (direction, *protocol, open[direction as usize].load(Relaxed)))
    };
    [Direction::In, Direction::Out].into_iter().flat_map(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No other test of this crate's library opens one of these.
    const PROTOCOL: &str = levada_wire::waku::lightpush::PROTOCOL_V2;

    fn open(direction: Direction) -> u64 {
        let mut rows = open_streams().filter(|(of, protocol, _)| *of == direction && *protocol == PROTOCOL);
        rows.next().expect("the protocol has a row").2
    }

    #[test]
    fn a_stream_counts_while_it_is_open() {
        let streams = [Direction::In, Direction::In, Direction::Out].map(|by| OpenStream::new(PROTOCOL, by));
        let _unknown = OpenStream::new("/made/up/1.0.0", Direction::In);
        assert_eq!((open(Direction::In), open(Direction::Out)), (2, 1));
        drop(streams);
        assert_eq!((open(Direction::In), open(Direction::Out)), (0, 0));
        assert_eq!(open_streams().count(), 2 * PROTOCOLS.len());
    }
}
