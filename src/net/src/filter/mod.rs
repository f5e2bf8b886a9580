//! Filter (12/WAKU2-FILTER): light clients subscribe, and messages are pushed to them.
//!
//! A message is framed once for all its subscribers: they share a header, the slot that the message lies in, and a trailer. Each subscriber
//! has a queue of such shared pushes and a task that writes them, from where they lie, to one long-lived stream. Nobody waits for a
//! subscriber: what finds no room in its queue is dropped and counted, and so is the backlog of the slowest when all queues together keep
//! more slots than they may.

mod client;
mod counters;
mod push;
mod pushes;
mod queue;
mod reading;
mod service;
mod writer;

pub use client::{Client, FilterError};
pub use counters::FilterCounters;
pub use pushes::Pushes;
pub use service::{Answer, Registrar, serve};
