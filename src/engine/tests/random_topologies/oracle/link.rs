//! A link as it should behave: a queue, and what is counted about it.

use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;

use levada_engine::{LinkConfig, Policy};

/// An envelope. Its handles are the `Rc`s; the last to go counts the slot as free.
#[derive(Debug)]
pub struct Message {
    pub number: u64,
    slots_in_use: Rc<Cell<u64>>,
}

impl Message {
    pub fn new(number: u64, slots_in_use: &Rc<Cell<u64>>) -> Rc<Self> {
        slots_in_use.set(slots_in_use.get() + 1);
        Rc::new(Self { number, slots_in_use: slots_in_use.clone() })
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        self.slots_in_use.set(self.slots_in_use.get() - 1);
    }
}

/// A source, a link between stages, or a sink.
#[derive(Debug)]
pub struct Link {
    pub config: LinkConfig,
    pub queue: VecDeque<Rc<Message>>,
    pub passed: u64,
    pub dropped: u64,
    pub full: u64,
    /// Nothing more comes.
    pub closed: bool,
    /// The consumer went away.
    pub abandoned: bool,
}

impl Link {
    pub fn new(config: LinkConfig) -> Self {
        Self { config, queue: VecDeque::new(), passed: 0, dropped: 0, full: 0, closed: false, abandoned: false }
    }

    pub fn room(&self) -> usize {
        self.config.capacity - self.queue.len()
    }

    /// Takes what it can of `staged`, and drops what its policy says.
    pub fn offer(&mut self, staged: &mut Vec<Rc<Message>>) {
        if staged.is_empty() {
            return;
        }
        match self.config.policy {
            Policy::DropOldest => self.offer_over_oldest(staged),
            _ if self.abandoned => self.drop_all(staged),
            policy => {
                let fit = staged.len().min(self.room());
                self.queue.extend(staged.drain(..fit));
                self.passed += fit as u64;
                if !staged.is_empty() {
                    self.full += 1;
                    if policy == Policy::DropNewest {
                        self.drop_all(staged);
                    }
                }
            }
        }
    }

    fn offer_over_oldest(&mut self, staged: &mut Vec<Rc<Message>>) {
        let before = self.dropped;
        for message in staged.drain(..) {
            if self.abandoned || (self.room() == 0 && self.queue.pop_front().is_some()) {
                self.dropped += 1;
            }
            if !self.abandoned {
                self.queue.push_back(message);
                self.passed += 1;
            }
        }
        self.full += u64::from(self.dropped > before);
    }

    fn drop_all(&mut self, staged: &mut Vec<Rc<Message>>) {
        self.dropped += staged.len() as u64;
        staged.clear();
    }

    /// Nothing waits and nothing comes.
    pub fn is_finished(&self) -> bool {
        self.closed && self.queue.is_empty()
    }
}
