//! Many digests at once against `sha2` one after another, with each kernel that this CPU supports and with the choice by
//! the number of messages.
//!
//! Goal: no length, cut, order or number of messages gives another digest in some lane. Each test derives its cases from a
//! seed and runs them through every kernel; 10^5 random messages per kernel by default, 10^6 with `LEVADA_DEEP=1`, which
//! also hashes messages around 2^32 bits.

mod random;

use levada_wire::hash::{Digest, Job, Kernel, Scratch, hash_many, message_hash, message_id, sha256};
use random::SplitMix;

/// Bytes that the cases borrow from: no two windows of it are alike.
fn noise(bytes: usize) -> Vec<u8> {
    let mut random = SplitMix(7);
    (0..bytes.div_ceil(8)).flat_map(|_| random.next().to_le_bytes()).take(bytes).collect()
}

fn deep() -> bool {
    std::env::var_os("LEVADA_DEEP").is_some_and(|deep| deep == "1")
}

/// Every kernel of this CPU alone, then the choice among them. One that it cannot run is named, with the reason.
#[expect(clippy::print_stderr, reason = "whoever reads the output of the tests should see what was not tested")]
fn each_kernel(mut check: impl FnMut(&str, &mut Scratch)) {
    for kernel in Kernel::ALL {
        match Scratch::with_kernel(kernel) {
            Ok(mut scratch) => check(kernel.name(), &mut scratch),
            Err(refusal) => eprintln!("{kernel} is not tested here: {refusal}"),
        }
    }
    check("any", &mut Scratch::new());
}

fn digests(jobs: &[Job<'_>], scratch: &mut Scratch) -> Vec<Digest> {
    let mut digests = vec![[0xee; 32]; jobs.len()];
    hash_many(jobs, &mut digests, scratch);
    digests
}

/// Hashes `messages`, all in one call and each in a call of its own, with every kernel.
fn check_whole(messages: &[&[u8]]) {
    let expected: Vec<Digest> = messages.iter().map(|message| sha256(message)).collect();
    let jobs: Vec<Job<'_>> = messages.iter().map(|message| Job::uncounted([message])).collect();
    each_kernel(|name, scratch| {
        assert_eq!(digests(&jobs, scratch), expected, "{name}, all at once");
        for (job, expected) in jobs.iter().zip(&expected) {
            assert_eq!(digests(&[*job], scratch), [*expected], "{name}, {} bytes alone", job.bytes());
        }
    });
}

#[test]
fn every_length_up_to_300() {
    let noise = noise(600);
    let messages: Vec<&[u8]> = (0..=300).map(|bytes| &noise[bytes / 2..][..bytes]).collect();
    check_whole(&messages);
}

#[test]
fn lengths_around_whole_blocks_and_around_what_the_padding_leaves() {
    let noise = noise(5_000);
    let lengths = (1..=70).flat_map(|blocks| [-9, -8, -1, 0, 1].map(|off| (64 * blocks + off) as usize));
    let messages: Vec<&[u8]> = lengths.map(|bytes| &noise[bytes % 61..][..bytes]).collect();
    check_whole(&messages);
}

#[test]
fn pieces_cut_at_every_offset() {
    let noise = noise(200);
    for bytes in [55, 56, 64, 120, 128, 200] {
        let message = &noise[..bytes];
        let cuts = (0..=bytes).flat_map(|first| (first..=bytes).map(move |second| (first, second)));
        let jobs: Vec<Job<'_>> = cuts
            .map(|(first, second)| Job::uncounted([&message[..first], &message[first..second], &message[second..]]))
            .collect();
        let expected = vec![sha256(message); jobs.len()];
        each_kernel(|name, scratch| assert!(digests(&jobs, scratch) == expected, "{name}, {bytes} bytes"));
    }
}

#[test]
fn empty_pieces_anywhere() {
    let noise = noise(400);
    let lengths = [0, 1, 63, 64, 65, 130, 400];
    for (bytes, empty) in lengths.into_iter().flat_map(|bytes| (0..32).map(move |empty| (bytes, empty))) {
        let mut rest = &noise[..bytes];
        // A piece is empty if its bit is set, else half of what is left.
        let pieces = [0, 1, 2, 3, 4].map(|piece| {
            let taken = if empty >> piece & 1 == 1 { 0 } else { rest.len().div_ceil(2) };
            let (now, later) = rest.split_at(taken);
            rest = later;
            now
        });
        let job = Job::uncounted(pieces);
        let expected = sha256(&pieces.concat());
        each_kernel(|name, scratch| {
            assert_eq!(digests(&[job; 3], scratch), [expected; 3], "{name}, {bytes}, {empty:b}")
        });
    }
}

#[test]
fn one_to_130_messages_of_unequal_length() {
    let noise = noise(40_000);
    let mut random = SplitMix(11);
    let messages: Vec<&[u8]> = (0..130)
        .map(|_| {
            let bound = [100, 2_000, 40_000][random.below(3)];
            let bytes = random.below(bound);
            &noise[random.below(noise.len() - bytes)..][..bytes]
        })
        .collect();
    let expected: Vec<Digest> = messages.iter().map(|message| sha256(message)).collect();
    let jobs: Vec<Job<'_>> = messages.iter().map(|message| Job::uncounted([message])).collect();
    each_kernel(|name, scratch| {
        for count in 0..=jobs.len() {
            assert!(digests(&jobs[..count], scratch) == expected[..count], "{name}, {count} messages");
        }
    });
}

#[test]
fn random_messages_in_random_batches() {
    let noise = noise(30_000);
    let messages = if deep() { 1_000_000 } else { 100_000 };
    each_kernel(|name, scratch| {
        let (mut random, mut hashed) = (SplitMix(13), 0);
        while hashed < messages {
            let (jobs, expected): (Vec<Job<'_>>, Vec<Digest>) =
                (0..=random.below(130)).map(|_| random_job(&noise, &mut random)).unzip();
            assert!(digests(&jobs, scratch) == expected, "{name}, the batch after {hashed} messages");
            hashed += jobs.len();
        }
    });
}

/// A job of any kind, rarely a long one, and what `sha2` makes of it.
fn random_job<'n>(noise: &'n [u8], random: &mut SplitMix) -> (Job<'n>, Digest) {
    let bytes = if random.below(100) == 0 { random.below(20_000) } else { random.below(400) };
    let message = &noise[random.below(noise.len() - bytes)..][..bytes];
    let [mut first, mut second] = [random.below(bytes + 1), random.below(bytes + 1)];
    if first > second {
        (first, second) = (second, first);
    }
    let (start, middle, end) = (&message[..first], &message[first..second], &message[second..]);
    match random.below(4) {
        0 => (Job::message_id(message), message_id(message)),
        1 => {
            let timestamp = random.next().cast_signed();
            let job = Job::message_hash("/waku/2/rs/0/0", middle, start, end, timestamp);
            (job, message_hash("/waku/2/rs/0/0", middle, start, end, timestamp))
        }
        _ => (Job::uncounted([start, middle, end]), sha256(message)),
    }
}

/// Five pieces of about a hundred megabytes from one buffer, so that the length in bits takes 32 bits and more.
#[test]
fn messages_around_two_to_the_32_bits() {
    if !deep() {
        return;
    }
    let noise = noise((1 << 29) / 5 + 100);
    let pieces = |bytes: usize| [0, 1, 2, 3, 4].map(|piece| &noise[..(bytes + piece) / 5]);
    let lengths = [(1 << 29) - 64, (1 << 29) - 9, (1 << 29) - 1, 1 << 29, (1 << 29) + 1, (1 << 29) + 130];
    let jobs = lengths.map(|bytes| Job::uncounted(pieces(bytes)));
    let mut oracle = Scratch::with_kernel(Kernel::Sha2).expect("the fallback is always supported");
    let expected = digests(&jobs, &mut oracle);
    assert_eq!(expected[3], sha256(&pieces(1 << 29).concat()));
    each_kernel(|name, scratch| assert_eq!(digests(&jobs, scratch), expected, "{name}"));
}

#[test]
#[should_panic(expected = "one digest per job")]
fn digests_must_be_as_many_as_jobs() {
    hash_many(&[Job::message_id(b"a")], &mut [[0; 32]; 2], &mut Scratch::new());
}
