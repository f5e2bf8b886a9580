//! An archive whose times are so far apart that the small times of the suite lie in many of its hours.

use levada_archive::{
    Archive, ArchiveError, ArchiveMessage, ArchiveReader, Dropped, InsertOutcome, Key, Page, Query, Retention,
};

/// Sixteen times of the suite are an hour.
const FACTOR: i64 = 3_600_000_000_000 / 16;

pub struct Stretched(pub Box<dyn Archive>);

struct StretchedReader(Box<dyn ArchiveReader>);

fn stretch(time: i64) -> i64 {
    time.saturating_mul(FACTOR)
}

impl Archive for Stretched {
    fn insert_batch<'a>(
        &mut self,
        batch: &mut dyn Iterator<Item = ArchiveMessage<'a>>,
    ) -> Result<InsertOutcome, ArchiveError> {
        let stretched =
            |message: ArchiveMessage<'a>| ArchiveMessage { timestamp: stretch(message.timestamp), ..message };
        self.0.insert_batch(&mut batch.map(stretched))
    }

    fn reader(&self) -> Result<Box<dyn ArchiveReader>, ArchiveError> {
        Ok(Box::new(StretchedReader(self.0.reader()?)))
    }

    fn clear(&mut self) -> Result<(), ArchiveError> {
        self.0.clear()
    }

    fn retain(&mut self, retention: &Retention) -> Result<Dropped, ArchiveError> {
        let timestamp_min_ns = retention.timestamp_min_ns.map(stretch);
        let segment_timestamp_min_ns = retention.segment_timestamp_min_ns.map(stretch);
        self.0.retain(&Retention { timestamp_min_ns, segment_timestamp_min_ns, ..*retention })
    }

    fn message_count(&self) -> Result<u64, ArchiveError> {
        self.0.message_count()
    }

    fn location(&self) -> String {
        self.0.location()
    }

    fn close(self: Box<Self>) -> Result<(), ArchiveError> {
        self.0.close()
    }
}

impl ArchiveReader for StretchedReader {
    fn query(&mut self, query: &Query) -> Result<Page, ArchiveError> {
        let (time_start, time_end) = (query.time_start.map(stretch), query.time_end.map(stretch));
        let mut page = self.0.query(&Query { time_start, time_end, ..query.clone() })?;
        for body in page.messages.iter_mut().filter_map(|message| message.body.as_mut()) {
            body.timestamp /= FACTOR;
        }
        Ok(page)
    }

    fn keys_after(&mut self, pubsub_topic: &str, after: Key, keys_max: usize) -> Result<Vec<Key>, ArchiveError> {
        let keys = self.0.keys_after(pubsub_topic, (stretch(after.0), after.1), keys_max)?;
        Ok(keys.into_iter().map(|(time, hash)| (time / FACTOR, hash)).collect())
    }
}
