//! The arena between five threads, under random schedules: no slot is lost, given out twice or written while it is shared.
#![cfg(shuttle)]

#[path = "support/schedules.rs"]
mod schedules;

use levada_engine::{Arena, ArenaConfig, ClassConfig, Held};
use schedules::check;
use shuttle::sync::{Arc, Mutex};
use shuttle::thread;

/// Envelopes that a claiming thread makes.
const COUNT: u64 = 3;

fn checked(held: &Held<u64>) -> u64 {
    assert_eq!(held.payload(), held.record().to_le_bytes());
    held.record()
}

/// Two threads claim and pass two handles on for each slot, two others drop them.
fn pass_around(slots: u32) {
    let classes = vec![ClassConfig { payload_bytes: 128, slots }];
    let arena: std::sync::Arc<Arena<u64>> =
        Arena::new(&ArenaConfig { classes, huge_pages: false, prefault: false }).unwrap();
    let queue: Arc<Mutex<Vec<Held<u64>>>> = Arc::default();
    let claiming = [0, 1].map(|thread| {
        let (arena, queue) = (arena.clone(), queue.clone());
        thread::spawn(move || {
            for number in thread * COUNT..(thread + 1) * COUNT {
                let mut unique = loop {
                    match arena.claim(8) {
                        Ok(unique) => break unique,
                        Err(_) => thread::yield_now(),
                    }
                };
                unique.fill(&number.to_le_bytes());
                *unique.record_mut() = number;
                let handles = unique.share().fan_out::<2>().map(|envelope| envelope.hold());
                queue.lock().unwrap().extend(handles);
            }
        })
    });
    let dropping = [(); 2].map(|()| {
        let queue = queue.clone();
        thread::spawn(move || {
            let mut numbers = Vec::new();
            while numbers.len() < 2 * COUNT as usize {
                let held = queue.lock().unwrap().pop();
                match held {
                    Some(held) => numbers.push(checked(&held)),
                    None => thread::yield_now(),
                }
            }
            numbers
        })
    });
    claiming.into_iter().for_each(|thread| thread.join().unwrap());
    let mut numbers = dropping.map(|thread| thread.join().unwrap()).concat();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq((0..2 * COUNT).flat_map(|number| [number, number])));
    assert_eq!(arena.slots_in_use(), 0);
    let all: Vec<_> = std::iter::from_fn(|| arena.claim(1).ok()).collect();
    assert_eq!(all.len(), slots as usize);
}

#[test]
fn slots_come_back_to_the_shared_stack() {
    check(|| pass_around(4));
}

/// The fewest slots that give each thread a magazine.
#[test]
fn slots_come_back_through_magazines() {
    check(|| pass_around(64));
}
