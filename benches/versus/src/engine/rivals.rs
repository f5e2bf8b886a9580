//! The queues of others behind one shape: push some, pop some, say how many. Each is used as its documentation shows.

use crossbeam::queue::ArrayQueue;
use ringbuf::traits::{Consumer as _, Producer as _, Split};

/// Pushes as many as fit; how many.
pub trait Push: Send {
    /// See the trait.
    fn push(&mut self, indices: &[u32]) -> usize;
}

/// Pops as many as there are and `indices` holds; how many.
pub trait Pop: Send {
    /// See the trait.
    fn pop(&mut self, indices: &mut [u32]) -> usize;
}

impl Push for levada_engine::ring::spsc::Producer {
    #[inline]
    fn push(&mut self, indices: &[u32]) -> usize {
        self.push_batch(indices)
    }
}

impl Pop for levada_engine::ring::spsc::Consumer {
    #[inline]
    fn pop(&mut self, indices: &mut [u32]) -> usize {
        self.pop_batch(indices)
    }
}

impl Push for rtrb::Producer<u32> {
    #[inline]
    fn push(&mut self, indices: &[u32]) -> usize {
        match indices {
            [index] => usize::from(rtrb::Producer::push(self, *index).is_ok()),
            _ => self.push_partial_slice(indices).0.len(),
        }
    }
}

impl Pop for rtrb::Consumer<u32> {
    #[inline]
    fn pop(&mut self, indices: &mut [u32]) -> usize {
        match indices {
            [index] => rtrb::Consumer::pop(self).map_or(0, |popped| (*index = popped, 1).1),
            _ => self.pop_partial_slice(indices).0.len(),
        }
    }
}

/// Both ends of ringbuf's ring.
pub fn ringbuf(capacity: usize) -> (RingbufPush, RingbufPop) {
    let (producer, consumer) = ringbuf::HeapRb::new(capacity).split();
    (RingbufPush(producer), RingbufPop(consumer))
}

/// The pushing end.
pub struct RingbufPush(<ringbuf::HeapRb<u32> as Split>::Prod);

/// The popping end.
pub struct RingbufPop(<ringbuf::HeapRb<u32> as Split>::Cons);

impl Push for RingbufPush {
    #[inline]
    fn push(&mut self, indices: &[u32]) -> usize {
        match indices {
            [index] => usize::from(self.0.try_push(*index).is_ok()),
            _ => self.0.push_slice(indices),
        }
    }
}

impl Pop for RingbufPop {
    #[inline]
    fn pop(&mut self, indices: &mut [u32]) -> usize {
        match indices {
            [index] => self.0.try_pop().map_or(0, |popped| (*index = popped, 1).1),
            _ => self.0.pop_slice(indices),
        }
    }
}

/// The disruptor's producer; all of a batch or nothing.
pub struct DisruptorPush<P>(pub P);

impl<P: disruptor::Producer<u32> + Send> Push for DisruptorPush<P> {
    #[inline]
    fn push(&mut self, indices: &[u32]) -> usize {
        match indices {
            [index] => usize::from(self.0.try_publish(|event| *event = *index).is_ok()),
            _ => self.0.try_batch_publish(indices.len(), |events| write(events, indices)).map_or(0, |_| indices.len()),
        }
    }
}

/// Writes a batch into the disruptor's events.
#[inline]
pub fn write<'e>(events: impl Iterator<Item = &'e mut u32>, indices: &[u32]) {
    events.zip(indices).for_each(|(event, index)| *event = *index);
}

/// Queues that take one at a time, by two closures.
pub struct Each<F>(pub F);

impl<F: FnMut(u32) -> bool + Send> Push for Each<F> {
    #[inline]
    fn push(&mut self, indices: &[u32]) -> usize {
        indices.iter().take_while(|index| (self.0)(**index)).count()
    }
}

impl<F: FnMut() -> Option<u32> + Send> Pop for Each<F> {
    #[inline]
    fn pop(&mut self, indices: &mut [u32]) -> usize {
        indices.iter_mut().map_while(|index| (self.0)().map(|popped| *index = popped)).count()
    }
}

impl Push for &ArrayQueue<u32> {
    #[inline]
    fn push(&mut self, indices: &[u32]) -> usize {
        indices.iter().take_while(|index| ArrayQueue::push(self, **index).is_ok()).count()
    }
}

impl Pop for &ArrayQueue<u32> {
    #[inline]
    fn pop(&mut self, indices: &mut [u32]) -> usize {
        indices.iter_mut().map_while(|index| ArrayQueue::pop(self).map(|popped| *index = popped)).count()
    }
}

/// Levada's ring for many, in batches; single ones by the single calls.
pub struct Mpmc<'a>(pub &'a levada_engine::ring::mpmc::Ring);

impl Push for Mpmc<'_> {
    #[inline]
    fn push(&mut self, indices: &[u32]) -> usize {
        match indices {
            [index] => usize::from(self.0.push(*index).is_ok()),
            _ => self.0.push_batch(indices).unwrap_or(0),
        }
    }
}

impl Pop for Mpmc<'_> {
    #[inline]
    fn pop(&mut self, indices: &mut [u32]) -> usize {
        match indices {
            [index] => self.0.pop().map_or(0, |popped| (*index = popped, 1).1),
            _ => self.0.pop_batch(indices),
        }
    }
}
