//! The message cache: what was accepted in the last heartbeats, to announce and to answer IWANT.

use std::collections::{HashMap, VecDeque};

use crate::action::Message;
use crate::index::{MessageId, PeerIndex};
use crate::time::Moment;

/// What an entry costs besides its payload: itself, its place in the table of ids, and a few requests.
pub(crate) const ENTRY_BYTES: usize = 256;

#[derive(Debug)]
struct Entry<H> {
    message: Message<H>,
    since: Moment,
    window: u64,
    /// How often it was sent to whom.
    requests: Vec<(PeerIndex, u8)>,
}

/// The message cache, in heartbeats and in bytes. What it has let go is neither announced nor sent.
///
/// Memory: at most [`crate::Limits::mcache_bytes_max`], payloads and [`ENTRY_BYTES`] an entry. The payloads are the caller's, held
/// through handles.
#[derive(Debug)]
pub(crate) struct Mcache<H> {
    entries: VecDeque<Entry<H>>,
    /// Where an id is, counted from the first entry that ever was.
    numbers: HashMap<MessageId, u64>,
    /// The number of the front entry.
    first: u64,
    window: u64,
    bytes: usize,
}

impl<H> Default for Mcache<H> {
    fn default() -> Self {
        Self { entries: VecDeque::new(), numbers: HashMap::new(), first: 0, window: 0, bytes: 0 }
    }
}

impl<H> Mcache<H> {
    /// Adds a message to the present window and lets the oldest go until the bytes fit. Tells how many went.
    pub(crate) fn put(&mut self, message: Message<H>, now: Moment, bytes_max: usize) -> usize {
        let bytes = cost(&message);
        if bytes > bytes_max || self.numbers.contains_key(&message.id) {
            return 0;
        }
        let evicted = self.shrink_to(bytes_max - bytes);
        self.numbers.insert(message.id, self.first + self.entries.len() as u64);
        self.entries.push_back(Entry { message, since: now, window: self.window, requests: Vec::new() });
        self.bytes += bytes;
        evicted
    }

    /// Lets the oldest messages go until at most `bytes` are held. Tells how many went.
    pub(crate) fn shrink_to(&mut self, bytes: usize) -> usize {
        let before = self.entries.len();
        while self.bytes > bytes && self.pop_oldest() {}
        before - self.entries.len()
    }

    fn pop_oldest(&mut self) -> bool {
        let Some(entry) = self.entries.pop_front() else { return false };
        self.first += 1;
        self.bytes -= cost(&entry.message);
        self.numbers.remove(&entry.message.id);
        true
    }

    pub(crate) fn contains(&self, id: &MessageId) -> bool {
        self.numbers.contains_key(id)
    }

    /// When the message was put in, if it is still there.
    pub(crate) fn accepted_at(&self, id: &MessageId) -> Option<Moment> {
        let at = self.numbers.get(id)?.checked_sub(self.first)?;
        Some(self.entries.get(usize::try_from(at).ok()?)?.since)
    }

    /// The message for a peer that asks for it, unless it was sent to that peer `times_max` times already.
    pub(crate) fn request(&mut self, id: &MessageId, from: PeerIndex, times_max: u8) -> Option<&Message<H>> {
        let at = self.numbers.get(id)?.checked_sub(self.first)?;
        let entry = self.entries.get_mut(usize::try_from(at).ok()?)?;
        match entry.requests.iter_mut().find(|(peer, _)| *peer == from) {
            Some((_, times)) if *times >= times_max => return None,
            Some((_, times)) => *times += 1,
            None => entry.requests.push((from, 1)),
        }
        Some(&entry.message)
    }

    /// The messages of the last `windows` windows.
    pub(crate) fn recent(&self, windows: u64) -> impl Iterator<Item = &Message<H>> {
        let entries = self.entries.iter().rev();
        entries.take_while(move |entry| entry.window + windows > self.window).map(|entry| &entry.message)
    }

    /// Begins a new window and lets go what is older than `windows`.
    pub(crate) fn shift(&mut self, windows: u64) {
        self.window += 1;
        while self.entries.front().is_some_and(|entry| entry.window + windows <= self.window) {
            self.pop_oldest();
        }
    }

    /// How many messages are held, and their bytes, entries included.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.entries.len(), self.bytes)
    }
}

fn cost<H>(message: &Message<H>) -> usize {
    message.bytes as usize + ENTRY_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::TopicIndex;
    use std::rc::Rc;

    const ONE: usize = 1_000 + ENTRY_BYTES;

    fn message(number: u8, handle: &Rc<()>) -> Message<Rc<()>> {
        let topic = TopicIndex { slot: 0, generation: 0 };
        Message { id: [number; 32], topic, bytes: 1_000, handle: handle.clone() }
    }

    fn peer(slot: u32) -> PeerIndex {
        PeerIndex { slot, generation: 0 }
    }

    #[test]
    fn bytes_are_bounded_and_what_went_is_not_answered_or_announced() {
        let handle = Rc::new(());
        let mut mcache = Mcache::default();
        for number in 0..10 {
            let evicted = mcache.put(message(number, &handle), Moment::ZERO, 4 * ONE);
            assert_eq!(evicted, usize::from(number >= 4));
            assert!(mcache.size().1 <= 4 * ONE);
        }
        assert_eq!((mcache.size(), Rc::strong_count(&handle)), ((4, 4 * ONE), 5));
        assert!(!mcache.contains(&[5; 32]) && mcache.request(&[5; 32], peer(0), 3).is_none());
        let recent: Vec<u8> = mcache.recent(1).map(|message| message.id[0]).collect();
        assert_eq!(recent, [9, 8, 7, 6]);
        assert!((6..10).all(|number| mcache.request(&[number; 32], peer(0), 3).is_some_and(|m| m.id == [number; 32])));
        assert_eq!(mcache.shrink_to(ONE), 3);
        assert_eq!(Rc::strong_count(&handle), 2);
    }

    #[test]
    fn windows_shift_out_of_gossip_and_then_out_of_history() {
        let handle = Rc::new(());
        let mut mcache = Mcache::default();
        for number in 0..6 {
            mcache.put(message(number, &handle), Moment::ZERO, 99 * ONE);
            mcache.shift(4);
        }
        // The present window is 6 and empty; 5, 4 and 3 are the history, 5 and 4 are announced.
        let recent: Vec<u8> = mcache.recent(3).map(|message| message.id[0]).collect();
        assert_eq!(recent, [5, 4]);
        let kept = |number| mcache.contains(&[number; 32]);
        assert!(kept(3) && !kept(2));
    }

    #[test]
    fn a_message_is_sent_to_a_peer_so_many_times_only() {
        let mut mcache = Mcache::default();
        mcache.put(message(1, &Rc::new(())), Moment::ZERO, ONE);
        let mut answers = |slot| (0..5).filter(|_| mcache.request(&[1; 32], peer(slot), 3).is_some()).count();
        assert_eq!((answers(1), answers(2), answers(1)), (3, 3, 0));
    }

    #[test]
    fn what_is_too_large_or_there_already_changes_nothing() {
        let handle = Rc::new(());
        let mut mcache = Mcache::default();
        mcache.put(message(1, &handle), Moment::ZERO, ONE);
        assert_eq!(mcache.put(message(2, &handle), Moment::ZERO, ONE - 1), 0);
        assert_eq!(mcache.put(message(1, &handle), Moment::ZERO, ONE), 0);
        assert_eq!(mcache.size(), (1, ONE));
    }
}
