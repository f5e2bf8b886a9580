//! Several publishers that publish over REST as fast as the node answers, until it answers no more.

use std::net::SocketAddr;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use crate::support::http::Client;
use crate::support::message::{MESSAGES, Message};
use crate::support::random::Random;

/// Messages in flight at one time, since a publisher waits for its answer.
const PUBLISHERS: usize = 8;

/// Publishers at work.
pub struct Storm {
    threads: Vec<JoinHandle<Vec<String>>>,
    acknowledgements: Receiver<String>,
    acknowledged: Vec<String>,
}

/// What a storm leaves behind.
pub struct Aftermath {
    /// The hashes of messages that the node has answered with 200, each noted after the answer.
    pub acknowledged: Vec<String>,
    /// The hashes of all messages that were sent, whatever became of them.
    pub sent: Vec<String>,
}

impl Storm {
    /// Starts publishing to the node at `rest`. No two messages are the same, in this storm or in any other.
    pub fn start(rest: SocketAddr, random: &mut Random) -> Self {
        let (sender, acknowledgements) = mpsc::channel();
        let publisher = |_| {
            let (mut random, sender) = (random.fork(), sender.clone());
            thread::spawn(move || publish(rest, &mut random, &sender))
        };
        Self { threads: (0..PUBLISHERS).map(publisher).collect(), acknowledgements, acknowledged: Vec::new() }
    }

    /// Waits until `count` messages are acknowledged.
    pub fn await_acknowledged(&mut self, count: usize) {
        while self.acknowledged.len() < count {
            let hash = self.acknowledgements.recv().expect("the node answers until it is told to end");
            self.acknowledged.push(hash);
        }
    }

    /// Waits until every publisher has found the node gone.
    pub fn end(self) -> Aftermath {
        let sent = self.threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        // The publishers are gone, so this ends.
        let acknowledged = self.acknowledged.into_iter().chain(self.acknowledgements).collect();
        Aftermath { acknowledged, sent }
    }
}

/// Publishes until the node refuses or is gone; gives the hashes of all that was sent.
fn publish(rest: SocketAddr, random: &mut Random, acknowledged: &Sender<String>) -> Vec<String> {
    let mut client = Client::new(rest);
    let mut sent = Vec::new();
    loop {
        let message = Message::new(payload(random));
        let hash = message.hash();
        sent.push(hash.clone());
        match client.request("POST", MESSAGES, message.json().to_string().as_bytes()) {
            Ok(answer) if answer.status == 200 => acknowledged.send(hash).unwrap(),
            Ok(answer) => {
                let text = answer.text();
                assert_eq!((answer.status, text), (503, "Failed to publish: the node is shutting down"));
                return sent;
            }
            Err(_) => return sent,
        }
    }
}

/// Mostly small payloads, a few that fill several pages of the database; the beginning makes each unlike all others.
fn payload(random: &mut Random) -> Vec<u8> {
    let bytes = if random.below(8) == 0 { random.below(60_000) } else { random.below(2_000) };
    let mut payload = random.next().to_be_bytes().to_vec();
    payload.resize(payload.len() + bytes as usize, 0x5a);
    payload
}
