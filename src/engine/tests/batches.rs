//! The ways to handle a whole batch at once, and what becomes of each envelope when a stage panics in the middle of one.
#![cfg(not(loom))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "common/by_hand.rs"]
mod by_hand;
mod common;

use std::panic::{panic_any, set_hook, take_hook};
use std::sync::{Arc, Mutex, Once};

use by_hand::{config, pop_all, push_all, silent};
use common::{Pass, arena, numbered};
use levada_engine::{
    Arena, ArenaConfig, Batch, ClassConfig, Invoker, Outputs, Policy, Sink, Source, Stage, TopologyBuilder,
};

/// A stage that is a function.
struct Does<F>(F);

impl<F: FnMut(&mut Batch<'_, u64>, &mut Outputs<'_, u64>) + Send> Stage<u64> for Does<F> {
    fn ports(&self) -> &'static [&'static str] {
        &["out"]
    }

    fn process(&mut self, batch: &mut Batch<'_, u64>, outputs: &mut Outputs<'_, u64>) {
        self.0(batch, outputs);
    }
}

/// One stage, with `N` sinks at its port.
struct Line<const N: usize> {
    arena: Arc<Arena<u64>>,
    source: Source<u64>,
    invoker: Invoker<u64>,
    sinks: [Sink<u64>; N],
}

impl<const N: usize> Line<N> {
    fn new(work: impl FnMut(&mut Batch<'_, u64>, &mut Outputs<'_, u64>) + Send + 'static) -> Self {
        silence();
        let arena = arena(512);
        let mut drawing = TopologyBuilder::new(arena.clone());
        let worker = drawing.worker("w0");
        let stage = drawing.stage(worker, "does", Does(work));
        let source = drawing.source("in", stage, 256);
        let sinks = std::array::from_fn(|number| {
            drawing.sink(&format!("end{number}"), stage, "out", config(Policy::Reliable), silent())
        });
        if N == 0 {
            drawing.discard(stage, "out");
        }
        Self { arena, source, invoker: drawing.build().unwrap().invoker(), sinks }
    }

    /// Pushes `numbers`, and turns once: a batch of all of them, if they are at most 32.
    fn turn(&mut self, numbers: impl IntoIterator<Item = u64>) {
        push_all(&self.source, numbers);
        self.invoker.turn();
    }

    /// Turns to the end and checks what each sink got by then, the panics, and that no slot is out.
    fn ends_with(&mut self, expected: &[u64], panics: u64) {
        self.invoker.turn_until_idle();
        let stats = self.invoker.stats();
        assert_eq!(stats.stages[0].panics_total(), panics);
        for sink in &mut self.sinks {
            assert_eq!(pop_all(sink), expected);
        }
        assert_eq!(self.arena.slots_in_use(), 0);
    }
}

/// The panics are meant: their messages would drown a real one.
fn silence() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let report = take_hook();
        set_hook(Box::new(move |info| {
            let text = info.payload().downcast_ref::<&str>().copied().unwrap_or_default();
            if !["on purpose", "an envelope of another arena"].iter().any(|meant| text.starts_with(meant)) {
                report(info);
            }
        }));
    });
}

/// Panics, once, on number 4.
fn bad_once() -> impl FnMut(u64) + Send {
    let mut met = false;
    move |number| {
        if number == 4 && !std::mem::replace(&mut met, true) {
            panic_any("on purpose");
        }
    }
}

/// An arena that lives as long as the program, as an envelope of it must that is to end up in a batch of another.
fn another_arena() -> &'static Arc<Arena<u64>> {
    // It stays known, or a sanitizer takes it for a leak.
    static ALL: Mutex<Vec<&Arc<Arena<u64>>>> = Mutex::new(Vec::new());
    let another: &'static _ = Box::leak(Box::new(arena(4)));
    ALL.lock().unwrap().push(another);
    another
}

fn pass_goes_on_in_order<const N: usize>() {
    let mut line = Line::<N>::new(|batch, outputs| {
        batch.pass(outputs, 0, |envelope| *envelope.record_mut().expect("nobody else has it") += 100);
        assert!(batch.is_empty());
    });
    push_all(&line.source, 0..100);
    line.ends_with(&(100..200).collect::<Vec<_>>(), 0);
    assert_eq!(line.invoker.stats().stages[0].envelopes_total(), 100);
}

#[test]
fn pass_hands_everything_on_in_order_to_every_link() {
    pass_goes_on_in_order::<0>();
    pass_goes_on_in_order::<1>();
    pass_goes_on_in_order::<3>();
}

fn pass_loses_the_culprit_alone<const N: usize>() {
    let mut bad = bad_once();
    let mut line = Line::<N>::new(move |batch, outputs| batch.pass(outputs, 0, |envelope| bad(*envelope.record())));
    line.turn(0..10);
    // The batch ended at the culprit: what came before has left, and what came after waits.
    let stats = line.invoker.stats();
    assert_eq!((stats.stages[0].envelopes_total(), stats.stages[0].panics_total()), (5, 1));
    let left = if N == 0 { 0 } else { 4 };
    assert_eq!(line.arena.slots_in_use(), left + 5, "only the culprit's slot came back, beside those discarded");
    for sink in &mut line.sinks {
        assert_eq!(pop_all(sink), [0, 1, 2, 3]);
    }
    assert_eq!(line.arena.slots_in_use(), 5);
    line.ends_with(&[5, 6, 7, 8, 9], 1);
}

#[test]
fn a_panic_within_pass_loses_the_culprit_alone() {
    pass_loses_the_culprit_alone::<0>();
    pass_loses_the_culprit_alone::<1>();
    pass_loses_the_culprit_alone::<3>();
}

fn pass_takes_another_of_the_same_arena<const N: usize>() {
    let mut line = Line::<N>::new(|batch, outputs| {
        let arena = batch.arena();
        batch.pass(outputs, 0, |envelope| *envelope = numbered(arena, *envelope.record() + 50));
    });
    line.turn(0..10);
    assert_eq!(line.arena.slots_in_use(), 10, "the slots that were replaced came back");
    line.ends_with(&(50..60).collect::<Vec<_>>(), 0);
}

#[test]
fn pass_hands_on_what_the_work_put_in_place_of_an_envelope() {
    pass_takes_another_of_the_same_arena::<1>();
    pass_takes_another_of_the_same_arena::<2>();
}

fn pass_refuses_another_arenas<const N: usize>() {
    let other = another_arena();
    let mut line = Line::<N>::new(move |batch, outputs| {
        batch.pass(outputs, 0, |envelope| {
            if *envelope.record() == 4 {
                *envelope = numbered(other, 4);
            }
        });
    });
    line.turn(0..10);
    assert_eq!((line.arena.slots_in_use(), other.slots_in_use()), (9, 0));
    line.ends_with(&[0, 1, 2, 3, 5, 6, 7, 8, 9], 1);
}

#[test]
fn pass_refuses_an_envelope_of_another_arena_and_loses_nothing() {
    pass_refuses_another_arenas::<1>();
    pass_refuses_another_arenas::<2>();
}

#[test]
fn pass_leaves_what_was_taken_before_it_to_the_stage() {
    let mut line = Line::<1>::new(|batch, outputs| {
        let first = batch.next();
        batch.pass(outputs, 0, |_| ());
        first.into_iter().for_each(|envelope| outputs.send(0, envelope));
    });
    line.turn(0..5);
    line.ends_with(&[1, 2, 3, 4, 0], 0);
}

#[test]
fn take_each_gives_the_stage_everything_up_to_a_panic() {
    let mut bad = bad_once();
    let mut line = Line::<1>::new(move |batch, outputs| {
        batch.take_each(|envelope| {
            bad(*envelope.record());
            outputs.send(0, envelope);
        });
        assert!(batch.is_empty() && batch.next().is_none());
    });
    line.turn(0..10);
    assert_eq!(line.invoker.stats().stages[0].envelopes_total(), 5);
    assert_eq!(line.arena.slots_in_use(), 9, "only the culprit's slot came back");
    line.ends_with(&[0, 1, 2, 3, 5, 6, 7, 8, 9], 1);
}

#[test]
fn take_each_releases_what_a_panic_finds_in_the_stages_hands() {
    let mut bad = bad_once();
    let mut line = Line::<1>::new(move |batch, outputs| {
        let mut kept = Vec::new();
        batch.take_each(|envelope| {
            bad(*envelope.record());
            kept.push(envelope);
        });
        kept.into_iter().for_each(|envelope| outputs.send(0, envelope));
    });
    line.turn(0..10);
    assert_eq!(line.arena.slots_in_use(), 5, "those it had kept were dropped with the culprit");
    line.ends_with(&[5, 6, 7, 8, 9], 1);
}

#[test]
fn release_each_gives_every_slot_back_up_to_a_panic() {
    let mut bad = bad_once();
    let mut line = Line::<1>::new(move |batch, _| batch.release_each(|envelope| bad(*envelope.record())));
    line.turn(0..10);
    assert_eq!(line.invoker.stats().stages[0].envelopes_total(), 5);
    assert_eq!(line.arena.slots_in_use(), 5, "the culprit's slot came back with those before it");
    line.ends_with(&[], 1);
    // More than go back together, and more than a thread keeps.
    push_all(&line.source, 100..356);
    line.ends_with(&[], 1);
    let all = std::iter::from_fn(|| line.arena.claim(1).ok()).collect::<Vec<_>>();
    assert_eq!(all.len(), 512, "no slot is lost");
}

#[test]
fn release_each_leaves_slots_to_other_handles() {
    let mut line = Line::<1>::new(|batch, outputs| {
        let mut kept = Vec::new();
        batch.release_each(|envelope| kept.push(envelope.clone()));
        kept.into_iter().for_each(|envelope| outputs.send(0, envelope));
    });
    line.turn(0..10);
    assert_eq!(line.arena.slots_in_use(), 10);
    line.ends_with(&(0..10).collect::<Vec<_>>(), 0);
}

#[test]
fn release_each_gives_another_arenas_slot_back_to_that() {
    let other = another_arena();
    let mut line = Line::<1>::new(move |batch, _| {
        batch.release_each(|envelope| *envelope = numbered(other, 1));
    });
    line.turn(0..20);
    assert_eq!(other.slots_in_use(), 0);
    line.ends_with(&[], 0);
}

#[test]
fn release_each_sorts_slots_of_several_classes() {
    let class = |payload_bytes| ClassConfig { payload_bytes, slots: 128 };
    let classes = [128, 256, 512].map(class).to_vec();
    let arena = Arena::new(&ArenaConfig { classes, huge_pages: false, prefault: false }).unwrap();
    let mut drawing = TopologyBuilder::new(arena.clone());
    let worker = drawing.worker("w0");
    let release = |batch: &mut Batch<'_, u64>, _: &mut Outputs<'_, u64>| batch.release_each(|_| ());
    let first = drawing.stage(worker, "pass", Pass);
    let last = drawing.stage(worker, "releases", Does(release));
    drawing.link(first, "out", last);
    drawing.discard(last, "out");
    let source = drawing.source("in", first, 256);
    let mut invoker = drawing.build().unwrap().invoker();
    for round in 0..100 {
        for payload_bytes in [1, 200, 200, 400, 1] {
            source.push(arena.claim(payload_bytes).unwrap().share()).unwrap();
        }
        if round % 3 == 0 {
            invoker.turn_until_idle();
        }
    }
    invoker.turn_until_idle();
    assert!(arena.usage().all(|class| class.slots_in_use == 0));
    for payload_bytes in [512, 256, 128] {
        let all: Vec<_> = arena.claims(payload_bytes, 128).map(|mut slot| slot.payload_mut().len()).collect();
        assert_eq!(all, [payload_bytes; 128], "each came back to its own class");
    }
}

fn send_all_fits<const N: usize>(wanted: usize) {
    // For five envelopes in the batch the stage may send five.
    let mut line = Line::<N>::new(move |batch, outputs| {
        let mut kept: Vec<_> = batch.collect();
        let room = outputs.room(0);
        kept.truncate(wanted);
        let mut numbers = kept.into_iter();
        let sent = outputs.send_all(0, numbers.by_ref());
        assert_eq!((sent, numbers.len()), (wanted.min(room), wanted - wanted.min(room)));
    });
    line.turn(0..5);
    line.ends_with(&(0..wanted as u64).collect::<Vec<_>>(), 0);
}

#[test]
fn send_all_sends_what_it_is_given_to_every_link() {
    for wanted in [0, 1, 5] {
        send_all_fits::<0>(wanted);
        send_all_fits::<1>(wanted);
        send_all_fits::<3>(wanted);
    }
}

fn send_all_keeps_to_the_room<const N: usize>() {
    let mut line = Line::<N>::new(|batch, outputs| {
        let arena = batch.arena();
        let room = outputs.room(0);
        let mut asked = 0;
        let without_end = std::iter::from_fn(|| {
            asked += 1;
            Some(numbered(arena, asked))
        });
        assert_eq!(outputs.send_all(0, without_end), room);
        assert_eq!((asked as usize, outputs.room(0)), (room, 0), "it asks for no more than there is room for");
        assert_eq!(outputs.send_all(0, std::iter::from_fn(|| panic_any("on purpose"))), 0);
        batch.release_each(|_| ());
    });
    line.turn([1000]);
    let got: Vec<Vec<u64>> = line.sinks.iter_mut().map(pop_all).collect();
    assert!(got.iter().all(|got| !got.is_empty() && got.iter().copied().eq(1..=got.len() as u64)));
    line.ends_with(&[], 0);
}

#[test]
fn send_all_takes_no_more_than_there_is_room_for() {
    send_all_keeps_to_the_room::<1>();
    send_all_keeps_to_the_room::<3>();
}

fn send_all_loses_the_rest_of_a_panicking_iterator<const N: usize>() {
    let mut bad = bad_once();
    let mut line = Line::<N>::new(move |batch, outputs| {
        let sound = batch.by_ref().inspect(|envelope| bad(*envelope.record()));
        outputs.send_all(0, sound);
    });
    line.turn(0..10);
    assert_eq!(line.invoker.stats().stages[0].envelopes_total(), 5);
    line.ends_with(&[0, 1, 2, 3, 5, 6, 7, 8, 9], 1);
}

#[test]
fn a_panic_within_send_all_loses_the_culprit_alone() {
    send_all_loses_the_rest_of_a_panicking_iterator::<1>();
    send_all_loses_the_rest_of_a_panicking_iterator::<3>();
}

fn send_all_refuses_another_arenas<const N: usize>() {
    let other = another_arena();
    let mut line = Line::<N>::new(move |batch, outputs| {
        let mixed = batch.by_ref().map(|envelope| match *envelope.record() {
            4 => numbered(other, 4),
            _ => envelope,
        });
        outputs.send_all(0, mixed);
    });
    line.turn(0..10);
    assert_eq!((line.arena.slots_in_use(), other.slots_in_use()), (9, 0));
    line.ends_with(&[0, 1, 2, 3, 5, 6, 7, 8, 9], 1);
}

#[test]
fn send_all_refuses_an_envelope_of_another_arena_and_loses_nothing() {
    send_all_refuses_another_arenas::<1>();
    send_all_refuses_another_arenas::<2>();
}

/// Keeps everything, and sends it when the topology ends.
struct Keeps(Vec<levada_engine::Held<u64>>);

impl Stage<u64> for Keeps {
    fn ports(&self) -> &'static [&'static str] {
        &["out"]
    }

    fn process(&mut self, batch: &mut Batch<'_, u64>, _: &mut Outputs<'_, u64>) {
        batch.take_each(|envelope| self.0.push(envelope.hold()));
    }

    fn finish(&mut self, outputs: &mut Outputs<'_, u64>) {
        let arena = outputs.arena();
        let kept = self.0.drain(..).map(|held| held.attach(arena).unwrap());
        assert_eq!(outputs.send_all(0, kept), 200);
    }
}

#[test]
fn send_all_sends_any_number_at_the_end() {
    let arena = arena(512);
    let mut drawing = TopologyBuilder::new(arena.clone());
    let worker = drawing.worker("w0");
    let stage = drawing.stage(worker, "keeps", Keeps(Vec::new()));
    let source = drawing.source("in", stage, 256);
    let mut sinks =
        [0, 1].map(|number| drawing.sink(&format!("end{number}"), stage, "out", config(Policy::Reliable), silent()));
    let mut invoker = drawing.build().unwrap().invoker();
    push_all(&source, 0..200);
    assert!(invoker.drain());
    for sink in &mut sinks {
        assert!(pop_all(sink).into_iter().eq(0..200));
    }
    assert_eq!(arena.slots_in_use(), 0);
}
