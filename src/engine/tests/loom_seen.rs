//! Models of the shared seen set. All keys fall into one bucket of two words.
#![cfg(loom)]

use levada_engine::seen::{Set, Sight};
use loom::sync::Arc;
use loom::thread;

#[path = "common/proof.rs"]
mod proof;
#[path = "common/sources.rs"]
mod sources;

use proof::Proof;

fn model(body: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(body);
}

/// Two words of the key; with the others zero, and no secret, every key hashes to zero.
fn key(second: u8, last: u8) -> [u8; 32] {
    let mut key = [0; 32];
    (key[8], key[24]) = (second, last);
    key
}

/// A set whose log has so many entries: as many as a model takes, or it comes round.
fn set(entries: usize) -> Arc<Set> {
    Arc::new(Set::with_secret(entries, [0; 4]))
}

/// A thread that inserts `keys` in order, with a mark; which of them were new.
fn inserting(set: &Arc<Set>, keys: &'static [(u8, u8)], mark: u8) -> thread::JoinHandle<Vec<Sight>> {
    let set = set.clone();
    thread::spawn(move || keys.iter().map(|(second, last)| set.insert(&key(*second, *last), mark)).collect())
}

fn known(marks: u8) -> Sight {
    Sight::Known { marks }
}

#[test]
fn one_of_two_threads_is_told_that_a_key_is_new() {
    model(|| {
        let set = set(4);
        let other = inserting(&set, &[(1, 1)], 2);
        let mine = set.insert(&key(1, 1), 1);
        let other = other.join().unwrap()[0];
        assert!([(Sight::New, known(1)), (known(2), Sight::New)].contains(&(mine, other)), "{mine:?} {other:?}");
        assert_eq!(set.insert(&key(1, 1), 0), known(3));
    });
}

#[test]
fn one_of_three_threads_is_told_that_a_key_is_new() {
    model(|| {
        let set = set(4);
        let others = [inserting(&set, &[(1, 1)], 0), inserting(&set, &[(1, 1)], 0)];
        let mine = set.insert(&key(1, 1), 0);
        let others = others.map(|other| other.join().unwrap()[0]);
        let new = [mine, others[0], others[1]].into_iter().filter(|sight| *sight == Sight::New).count();
        assert_eq!(new, 1);
    });
}

#[test]
fn keys_inserted_crosswise_are_new_once_each() {
    model(|| {
        let set = set(4);
        let other = inserting(&set, &[(1, 1), (2, 2)], 0);
        let mine = [set.insert(&key(2, 2), 0), set.insert(&key(1, 1), 0)];
        let other = other.join().unwrap();
        for (mine, other) in mine.iter().zip(other.iter().rev()) {
            assert!((*mine == Sight::New) != (*other == Sight::New), "{mine:?} {other:?}");
        }
    });
}

#[test]
fn a_thread_that_newer_keys_overtook_makes_no_word_smaller() {
    model(|| {
        let set = set(4);
        // Both words of the bucket may be newer than the entry the other thread has taken.
        let other = inserting(&set, &[(1, 1)], 0);
        assert_eq!([set.insert(&key(2, 2), 0), set.insert(&key(3, 3), 0)], [Sight::New; 2]);
        assert_eq!(other.join().unwrap(), [Sight::New]);
        assert_ne!(set.insert(&key(3, 3), 0), Sight::New, "at most one newer key came");
    });
}

#[test]
fn a_rotation_in_between_forgets_nothing() {
    model(|| {
        let set = set(4);
        let other = {
            let set = set.clone();
            thread::spawn(move || {
                let sight = set.insert(&key(1, 1), 0);
                set.rotate();
                sight
            })
        };
        let mine = set.insert(&key(1, 1), 0);
        let other = other.join().unwrap();
        assert_eq!([mine, other].into_iter().filter(|sight| *sight == Sight::New).count(), 1, "{mine:?} {other:?}");
        assert_ne!(set.insert(&key(1, 1), 0), Sight::New);
        set.rotate();
        assert_eq!(set.insert(&key(1, 1), 0), Sight::New, "the second rotation after it forgets it");
    });
}

#[test]
fn rotations_by_two_threads_are_two() {
    model(|| {
        let set = set(4);
        set.insert(&key(1, 1), 0);
        let other = {
            let set = set.clone();
            thread::spawn(move || set.rotate())
        };
        set.rotate();
        other.join().unwrap();
        set.rotate();
        assert_eq!(set.insert(&key(1, 1), 0), Sight::New);
        assert_ne!(set.insert(&key(1, 1), 0), Sight::New);
    });
}

#[test]
fn one_of_two_threads_is_the_first_to_mark_a_key() {
    model(|| {
        let set = set(4);
        set.insert(&key(1, 1), 0);
        let other = inserting(&set, &[(1, 1)], 1);
        let mine = set.insert(&key(1, 1), 1);
        let other = other.join().unwrap()[0];
        assert!([(known(0), known(1)), (known(1), known(0))].contains(&(mine, other)), "{mine:?} {other:?}");
    });
}

#[test]
fn a_key_that_is_half_written_over_is_not_taken_for_another() {
    model(|| {
        let set = set(2);
        set.insert(&key(1, 1), 0);
        let other = inserting(&set, &[(2, 2), (3, 3)], 0);
        // The first half of the key that was there, and the second half of the one that comes.
        assert_eq!(set.insert(&key(1, 3), 0), Sight::New);
        other.join().unwrap();
    });
}

const MODELS: &[proof::Model] = &[
    ("one_of_two_threads_is_told_that_a_key_is_new", one_of_two_threads_is_told_that_a_key_is_new),
    (
        "a_key_that_is_half_written_over_is_not_taken_for_another",
        a_key_that_is_half_written_over_is_not_taken_for_another,
    ),
];

const PROOF: Proof =
    Proof { about: &["seen/"], elsewhere: &[], models: MODELS, spared: &[], fences_only_exclude: false };

#[test]
fn every_ordering_is_needed() {
    PROOF.check();
}

needed! {
    PROOF;
    without_the_release_of_a_word: "seen/bucket.rs Bucket::replace word.compare_exchange release",
        one_of_two_threads_is_told_that_a_key_is_new;
    without_the_acquire_of_a_word: "seen/bucket.rs Bucket::find word.load acquire",
        one_of_two_threads_is_told_that_a_key_is_new;
    without_the_release_of_a_key: "seen/log.rs Entry::write stored.store release",
        a_key_that_is_half_written_over_is_not_taken_for_another;
    without_the_release_of_an_entry: "seen/log.rs Entry::finish stamp.store release",
        a_key_that_is_half_written_over_is_not_taken_for_another;
    without_the_acquire_of_an_entry: "seen/log.rs Entry::begin stamp.compare_exchange acquire",
        a_key_that_is_half_written_over_is_not_taken_for_another;
    without_the_acquire_of_a_key: "seen/log.rs Log::holds stored.load acquire",
        a_key_that_is_half_written_over_is_not_taken_for_another;
}
