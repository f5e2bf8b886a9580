//! Reads a stream of pushes. The message goes from the stream into its slot; only topic and unknown fields pass through other memory.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures::{AsyncRead, AsyncReadExt};
use levada_engine::{ClaimError, Held, HeldUnique};
use levada_wire::varint;
use levada_wire::waku::filter::PUSH_BYTES_MAX;
use levada_wire::waku::{Origin, TOPIC_BYTES_MAX, WakuRecord};
use libp2p::{PeerId, Stream};
use tokio::time::{sleep, timeout};

use super::counters::FilterCounters;
use crate::exchange::{FrameFault, Place, read_byte, read_length};
use crate::inbound::{Inbound, Refused};

/// A push that has begun is here by then.
const PUSH_TIMEOUT: Duration = Duration::from_secs(30);
/// Pause between two attempts to find a slot, or room on the message path. The stream is not read meanwhile.
const AGAIN_AFTER: Duration = Duration::from_millis(1);

/// Why a stream is read no more.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("{0}")]
    Frame(#[from] FrameFault),
    #[error("a push that is no protobuf message")]
    Malformed,
    #[error("a message of {bytes} bytes, larger than this node takes")]
    TooLarge { bytes: usize },
    #[error("a push that took too long")]
    TimedOut,
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Frame(error.into())
    }
}

/// Takes pushes until the stream ends. Between two of them it may be idle for as long as the service node likes.
pub(super) async fn run(place: Place, mut stream: Stream, inbound: Arc<dyn Inbound>, counters: Arc<FilterCounters>) {
    let peer = place.peer();
    while let Ok(first) = read_byte(&mut stream).await {
        let read = async { timeout(PUSH_TIMEOUT, read_push(&mut stream, first, &*inbound)).await };
        match read.await.unwrap_or(Err(Fault::TimedOut)) {
            Ok(push) => match push.into_message(&*inbound, &peer) {
                Some(message) => offer(&*inbound, message, &counters).await,
                None => counters.refused.add(1),
            },
            Err(fault) => {
                counters.refused.add(1);
                tracing::debug!(%peer, %fault, "a push stream was reset");
                return;
            }
        }
    }
}

/// What was read of a push.
#[derive(Default)]
struct Read {
    message: Option<HeldUnique<WakuRecord>>,
    topic: Option<String>,
}

impl Read {
    /// The message for the path; none if a field is missing or the topic is not known here.
    fn into_message(self, inbound: &dyn Inbound, peer: &PeerId) -> Option<Held<WakuRecord>> {
        let topic = inbound.topic(&self.topic?)?;
        let mut message = self.message?;
        // Which lane a message takes depends on this number, and the order of one node's messages on the lane.
        let lane = peer.to_bytes().last_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        *message.record_mut() = WakuRecord { topic, peer: lane, origin: Origin::Push, ..WakuRecord::default() };
        Some(message.share())
    }
}

async fn read_push<S: AsyncRead + Unpin>(stream: &mut S, first: u8, inbound: &dyn Inbound) -> Result<Read, Fault> {
    let bytes = read_length(stream, first, PUSH_BYTES_MAX).await?;
    let mut rest = stream.take(bytes as u64);
    let mut push = Read::default();
    while rest.limit() > 0 {
        let key = read_varint(&mut rest).await?;
        match (key >> 3, key & 7) {
            (0, _) => return Err(Fault::Malformed),
            (1, 2) => push.message = Some(read_message(&mut rest, inbound).await?),
            (2, 2) => push.topic = Some(read_topic(&mut rest).await?),
            (_, 0) => _ = read_varint(&mut rest).await?,
            (_, 1) => skip(&mut rest, 8).await?,
            (_, 2) => {
                let bytes = read_field_length(&mut rest).await?;
                skip(&mut rest, bytes).await?;
            }
            (_, 5) => skip(&mut rest, 4).await?,
            _ => return Err(Fault::Malformed),
        }
    }
    Ok(push)
}

type Rest<'a, S> = futures::io::Take<&'a mut S>;

async fn read_varint<S: AsyncRead + Unpin>(rest: &mut Rest<'_, S>) -> Result<u64, Fault> {
    let mut bytes = [0; varint::VARINT_BYTES_MAX];
    for count in 1..=bytes.len() {
        bytes[count - 1] = read_byte(rest).await?;
        if bytes[count - 1] < 0x80 {
            return varint::decode(&bytes[..count]).map(|(value, _)| value).map_err(|_| Fault::Malformed);
        }
    }
    Err(Fault::Malformed)
}

async fn read_field_length<S: AsyncRead + Unpin>(rest: &mut Rest<'_, S>) -> Result<u64, Fault> {
    let bytes = read_varint(rest).await?;
    if bytes > rest.limit() { Err(Fault::Malformed) } else { Ok(bytes) }
}

async fn read_message<S: AsyncRead + Unpin>(
    rest: &mut Rest<'_, S>,
    inbound: &dyn Inbound,
) -> Result<HeldUnique<WakuRecord>, Fault> {
    let bytes = read_field_length(rest).await? as usize;
    let mut slot = loop {
        match inbound.arena().claim(bytes) {
            Ok(slot) => break slot.hold(),
            Err(ClaimError::TooLarge { .. }) => return Err(Fault::TooLarge { bytes }),
            Err(_) => sleep(AGAIN_AFTER).await,
        }
    };
    rest.read_exact(&mut slot.payload_mut()[..bytes]).await?;
    slot.set_len(bytes);
    Ok(slot)
}

async fn read_topic<S: AsyncRead + Unpin>(rest: &mut Rest<'_, S>) -> Result<String, Fault> {
    let bytes = read_field_length(rest).await? as usize;
    if bytes > TOPIC_BYTES_MAX {
        return Err(Fault::Malformed);
    }
    let mut name = vec![0; bytes];
    rest.read_exact(&mut name).await?;
    String::from_utf8(name).map_err(|_| Fault::Malformed)
}

async fn skip<S: AsyncRead + Unpin>(rest: &mut Rest<'_, S>, bytes: u64) -> Result<(), Fault> {
    let mut sink = [0; 256];
    let mut left = bytes;
    while left > 0 {
        let part = left.min(sink.len() as u64) as usize;
        rest.read_exact(&mut sink[..part]).await?;
        left -= part as u64;
    }
    Ok(())
}

async fn offer(inbound: &dyn Inbound, mut message: Held<WakuRecord>, counters: &FilterCounters) {
    loop {
        match inbound.offer(message) {
            Ok(()) => return counters.received.add(1),
            Err(Refused::Full(again)) => message = again,
            Err(Refused::Dropped) => return counters.refused.add(1),
        }
        sleep(AGAIN_AFTER).await;
    }
}

#[cfg(test)]
mod tests {
    use futures::io::Cursor;
    use levada_engine::{Arena, ArenaConfig};

    use super::*;

    struct Room(Arc<Arena<WakuRecord>>);

    impl Inbound for Room {
        fn arena(&self) -> &Arc<Arena<WakuRecord>> {
            &self.0
        }

        fn topic(&self, name: &str) -> Option<u32> {
            (name == "t").then_some(7)
        }

        fn offer(&self, message: Held<WakuRecord>) -> Result<(), Refused> {
            Err(Refused::Full(message))
        }
    }

    fn room() -> Room {
        Room(Arena::new(&ArenaConfig::with_budget(16 << 20, 150 << 10)).unwrap())
    }

    fn read(body: &[u8]) -> Result<Option<(Vec<u8>, u32)>, Fault> {
        let wire = [&[body.len() as u8][..], body].concat();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let room = room();
        let push = runtime.block_on(read_push(&mut Cursor::new(&wire[1..]), wire[0], &room))?;
        let message = push.into_message(&room, &PeerId::random());
        Ok(message.map(|message| (message.payload().to_vec(), message.record().topic)))
    }

    #[test]
    fn fields_come_in_any_order_and_unknown_ones_are_passed_over() {
        let message = Some((b"abc".to_vec(), 7));
        for body in [
            &[0x0a, 3, b'a', b'b', b'c', 0x12, 1, b't'][..],
            &[0x12, 1, b't', 0x0a, 3, b'a', b'b', b'c'],
            &[0x18, 0x96, 1, 0x12, 1, b't', 0x1a, 2, 9, 9, 0x0a, 3, b'a', b'b', b'c', 0x25, 1, 2, 3, 4],
            &[0x0a, 1, b'x', 0x12, 1, b'u', 0x0a, 3, b'a', b'b', b'c', 0x12, 1, b't', 0x19, 1, 2, 3, 4, 5, 6, 7, 8],
        ] {
            assert_eq!(read(body).unwrap(), message, "{body:02x?}");
        }
    }

    #[test]
    fn a_push_without_message_or_known_topic_is_refused_and_the_stream_goes_on() {
        for body in [&[][..], &[0x0a, 1, b'x'], &[0x12, 1, b't'], &[0x0a, 1, b'x', 0x12, 1, b'u']] {
            assert_eq!(read(body).unwrap(), None, "{body:02x?}");
        }
    }

    #[test]
    fn what_is_no_push_ends_the_stream() {
        for body in [
            &[0x02, 0][..],
            &[0x0b],
            &[0x0e, 0],
            &[0x0a, 9, b'x'],
            &[0x12, 2, 0xff, 0xfe],
            &[0x1a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
            &[0xff; 12],
        ] {
            assert!(matches!(read(body), Err(Fault::Malformed)), "{body:02x?}");
        }
        assert!(matches!(read(&[0x0a]), Err(Fault::Frame(_))), "a key at the end");
    }
}
