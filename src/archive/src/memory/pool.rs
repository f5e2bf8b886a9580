//! Message bodies kept for reuse, by the size class of their payload buffer.
//!
//! Eight classes per doubling: a buffer is at most an eighth longer than its payload, and the sizes of a workload soon find
//! buffers of their own, so that inserting allocates next to nothing (an allocation of 150 kB costs more than its copy).

use std::sync::Arc;

use levada_engine::copy;

use crate::{ArchiveMessage, StoredBody};

/// Allowance for what a message costs beside its buffers: the body, its count, an entry in each index.
const OVERHEAD_BYTES: usize = 320;
/// Shortest payload buffer, which is also the step between the shortest classes.
const CLASS_BYTES_MIN: usize = 128;

/// Bodies without a message.
#[derive(Debug, Default)]
pub(super) struct Pool {
    /// One stack per class; the last in is the first out, because its bytes may still be in a cache.
    classes: Vec<Vec<Arc<StoredBody>>>,
    bytes: usize,
}

impl Pool {
    /// Bytes of everything kept.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// A body whose buffer is of the class of `payload_bytes`.
    pub(super) fn take(&mut self, payload_bytes: usize) -> Option<Arc<StoredBody>> {
        let body = self.classes.get_mut(class_of(payload_bytes))?.pop()?;
        self.bytes -= bytes_of(&body);
        Some(body)
    }

    /// Keeps `body`, unless a reader still holds it.
    pub(super) fn put(&mut self, mut body: Arc<StoredBody>) {
        if Arc::get_mut(&mut body).is_none() {
            return;
        }
        // The length tells the class: a buffer is only ever filled with payloads of its own class.
        let class = class_of(body.payload.len());
        if self.classes.len() <= class {
            self.classes.resize_with(class + 1, Vec::new);
        }
        self.bytes += bytes_of(&body);
        self.classes[class].push(body);
    }

    /// Frees one body, of the largest class there is; false if there is none.
    pub(super) fn release_one(&mut self) -> bool {
        let Some(body) = self.classes.iter_mut().rev().find_map(Vec::pop) else { return false };
        self.bytes -= bytes_of(&body);
        true
    }
}

/// A new body with a buffer of the class of `payload_bytes`.
pub(super) fn allocate(payload_bytes: usize) -> Arc<StoredBody> {
    let payload = Vec::with_capacity(class_bytes(class_of(payload_bytes)));
    Arc::new(StoredBody { payload, ..StoredBody::default() })
}

/// Writes `message` into `body`: the one copy of the payload.
pub(super) fn fill(body: &mut StoredBody, message: &ArchiveMessage<'_>) {
    body.pubsub_topic.clear();
    body.pubsub_topic.push_str(message.pubsub_topic);
    body.content_topic.clear();
    body.content_topic.push_str(message.content_topic);
    body.payload.clear();
    copy::append(message.payload, &mut body.payload);
    body.version = message.version;
    body.timestamp = message.timestamp;
    body.meta.clear();
    body.meta.extend_from_slice(message.meta);
}

/// Bytes that `body` occupies; the same while it is stored and while it is kept.
pub(super) fn bytes_of(body: &StoredBody) -> usize {
    body.payload.capacity()
        + body.pubsub_topic.capacity()
        + body.content_topic.capacity()
        + body.meta.capacity()
        + OVERHEAD_BYTES
}

/// Bytes that a new body for `message` would occupy.
pub(super) fn bytes_needed(message: &ArchiveMessage<'_>) -> usize {
    let strings = message.pubsub_topic.len() + message.content_topic.len() + message.meta.len();
    class_bytes(class_of(message.payload.len())) + strings + OVERHEAD_BYTES
}

/// The class of a payload: classes below 8 are one step apart, and each further eight double the step.
fn class_of(payload_bytes: usize) -> usize {
    let steps = payload_bytes.div_ceil(CLASS_BYTES_MIN).max(1) - 1;
    let doublings = (usize::BITS - (steps >> 3).leading_zeros()) as usize;
    if doublings == 0 { steps } else { doublings * 8 + ((steps >> (doublings - 1)) - 8) }
}

/// The length of the buffers of a class.
fn class_bytes(class: usize) -> usize {
    let steps = if class < 8 { class + 1 } else { (class % 8 + 9) << (class / 8 - 1) };
    steps * CLASS_BYTES_MIN
}

#[cfg(test)]
mod tests {
    use super::{CLASS_BYTES_MIN, class_bytes, class_of};

    #[test]
    fn classes_fit_and_waste_little() {
        for payload_bytes in (0..300_000).chain([1 << 20, 64 << 20, (64 << 20) + 1]) {
            let class = class_of(payload_bytes);
            let bytes = class_bytes(class);
            assert!(bytes >= payload_bytes, "{payload_bytes} in {bytes}");
            assert!(bytes <= payload_bytes + payload_bytes / 8 + CLASS_BYTES_MIN, "{payload_bytes} in {bytes}");
            assert!(class == 0 || class_bytes(class - 1) < payload_bytes, "{payload_bytes} in {bytes}");
        }
    }
}
