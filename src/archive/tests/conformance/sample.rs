//! Messages to store, and short ways to store and to query.

use levada_archive::{
    Archive, ArchiveMessage, ArchiveReader, Hash, InsertOutcome, Page, Query, StoredBody, StoredMessage,
};

/// A message that owns its parts.
#[derive(Clone, Debug)]
pub struct Sample {
    pub hash: Hash,
    pub body: StoredBody,
}

impl Sample {
    /// A message with a hash that is scattered by `number`, and small distinct fields.
    pub fn new(number: u64, timestamp: i64) -> Self {
        let body = StoredBody {
            pubsub_topic: format!("/waku/2/rs/0/{}", number % 3),
            content_topic: format!("/test/1/topic-{}/proto", number % 5),
            payload: format!("payload {number}").into_bytes(),
            version: (number % 2) as u32,
            timestamp,
            meta: if number.is_multiple_of(2) { Vec::new() } else { vec![number as u8; 4] },
        };
        Self { hash: hash_of(number), body }
    }

    pub fn borrow(&self) -> ArchiveMessage<'_> {
        ArchiveMessage {
            hash: self.hash,
            pubsub_topic: &self.body.pubsub_topic,
            content_topic: &self.body.content_topic,
            payload: &self.body.payload,
            version: self.body.version,
            timestamp: self.body.timestamp,
            meta: &self.body.meta,
        }
    }

    pub fn stored(&self, include_data: bool) -> StoredMessage {
        StoredMessage { hash: self.hash, body: include_data.then(|| self.body.clone()) }
    }
}

pub fn hash_of(number: u64) -> Hash {
    let mut hash = [0x11; 32];
    hash[..8].copy_from_slice(&(number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
    hash
}

/// `count` messages in an order of insertion that is not their order in time; every third timestamp is shared by three.
pub fn samples(count: u64) -> Vec<Sample> {
    (0..count).map(|index| index * 17 % count).map(|number| Sample::new(number, 1_000 + (number / 3) as i64)).collect()
}

/// The same, in the order of the archive.
pub fn sorted(mut samples: Vec<Sample>) -> Vec<Sample> {
    samples.sort_by_key(|sample| (sample.body.timestamp, sample.hash));
    samples
}

pub fn insert(archive: &mut dyn Archive, samples: &[Sample]) -> InsertOutcome {
    archive.insert_batch(&mut samples.iter().map(Sample::borrow)).unwrap()
}

pub fn ask(reader: &mut dyn ArchiveReader, query: &Query) -> Page {
    reader.query(query).unwrap()
}

pub fn hashes(page: &Page) -> Vec<Hash> {
    page.messages.iter().map(|message| message.hash).collect()
}
