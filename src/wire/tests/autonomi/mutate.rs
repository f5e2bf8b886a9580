//! Changes to an encoded message, most of them where its numbers, lengths and tags stand.

use crate::random::SplitMix;

/// Applies one to four changes.
pub fn mutated(data: &[u8], random: &mut SplitMix) -> Vec<u8> {
    let mut data = data.to_vec();
    for _ in 0..=random.below(4) {
        let at = place(data.len(), random);
        change(&mut data, at, random);
    }
    data
}

/// A third of the places among the first bytes, a third among the last, where an option or a flag may be.
fn place(len: usize, random: &mut SplitMix) -> usize {
    match random.below(3) {
        0 => random.below(len.min(14) + 1),
        1 => len - random.below(len.min(14) + 1),
        _ => random.below(len + 1),
    }
}

fn change(data: &mut Vec<u8>, at: usize, random: &mut SplitMix) {
    match random.below(9) {
        0 => data.insert(at, random.next() as u8),
        1 => data.truncate(at),
        2 => data.extend((0..random.below(9)).map(|_| random.next() as u8)),
        // Numbers over their limit, and lengths beyond the message.
        3 => drop(data.splice(at..at, (0..=random.below(10)).map(|_| 0xff))),
        4 => pad(data, at, random),
        _ if at >= data.len() => {}
        5 => drop(data.remove(at)),
        6 => data[at] ^= 1 << random.below(8),
        7 => data[at] = random.below(16) as u8,
        _ => data[at] = [0x00, 0x01, 0x7f, 0x80, 0x81, 0xc0, 0xfe, 0xff][random.below(8)],
    }
}

/// Makes a number that ends at `at` longer without changing its value.
fn pad(data: &mut Vec<u8>, at: usize, random: &mut SplitMix) {
    if at < data.len() && data[at] < 0x80 {
        data[at] |= 0x80;
        data.insert(at + 1, 0);
        (0..random.below(9)).for_each(|_| data.insert(at + 1, 0x80));
    }
}
