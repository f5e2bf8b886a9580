//! What postcard lets through that its encoder never writes, applied to every recorded message: padded numbers and bytes
//! behind the message; and what it refuses: cut messages and single wrong bytes.

use crate::compare::{compare, encoded};
use crate::vectors::recorded;
use crate::view::view;

/// Recorded messages short enough to try every place in them.
fn short() -> Vec<(String, Vec<u8>)> {
    let short: Vec<_> = recorded().into_iter().filter(|(_, bytes)| bytes.len() <= 80).collect();
    assert!(short.len() > 80, "nearly all recorded messages are short");
    short
}

/// Each byte that can end a number is followed by up to ten bytes of padding. Where it does not end one, the message becomes
/// another or malformed, and the decision must agree all the same.
#[test]
fn every_place_padded_to_every_length() {
    let (mut same, mut refused) = (0, 0);
    for (name, bytes) in short() {
        let message = compare(&bytes, &name).expect("a recorded message");
        for place in (0..bytes.len()).filter(|&place| bytes[place] < 0x80) {
            for padding in 1..=10 {
                let mut padded = bytes.clone();
                padded[place] |= 0x80;
                padded.splice(place + 1..place + 1, (1..=padding).map(|index| if index == padding { 0 } else { 0x80 }));
                match compare(&padded, &format_args!("{name}: {padding} behind byte {place}")) {
                    Ok(padded) if padded == message => same += 1,
                    Ok(_) => {}
                    Err(_) => refused += 1,
                }
            }
        }
    }
    assert!(same > 2_000 && refused > 2_000, "{same} read as before, {refused} refused");
}

/// A padded message decodes to the same fields, which then encode in the shortest form.
#[test]
fn a_padded_message_encodes_in_the_shortest_form() {
    let address = [0x11; 32];
    let padded = [&[0xac, 0x82, 0x80, 0x00, 0x80, 0x00][..], &address, &[0x82, 0x80, 0x00, 7, 8, 1, 0x81, 0x00, 9]];
    let shortest = [&[0xac, 0x02, 0x00][..], &address, &[2, 7, 8, 1, 1, 9]].concat();
    let message = compare(&padded.concat(), &"padded").expect("padding is read");
    assert_eq!(encoded(&view(&message), &"padded"), shortest);
}

/// An option and a flag are single bytes, not numbers: their padded forms are refused.
#[test]
fn options_and_flags_have_no_padded_form() {
    let put = [&[1, 0][..], &[0x22; 32], &[0, 0x81, 0x00, 0]].concat();
    let refused = compare(&put, &"option").map_err(|error| error.to_string());
    assert_eq!(refused, Err("chunk message option at byte 35 must be 0 or 1, not 129".to_owned()));
    let quote = [1, 5, 0, 0, 0x81, 0x00, 0];
    let refused = compare(&quote, &"flag").map_err(|error| error.to_string());
    assert_eq!(refused, Err("chunk message flag at byte 4 must be 0 or 1, not 129".to_owned()));
}

#[test]
fn bytes_behind_a_message_are_ignored() {
    for (name, bytes) in recorded() {
        let message = compare(&bytes, &name).expect("a recorded message");
        for behind in [&[0][..], &[1], &[0xff; 20], &bytes] {
            let longer = [&bytes, behind].concat();
            assert_eq!(compare(&longer, &name).as_ref(), Ok(&message), "{name}");
        }
    }
}

#[test]
fn a_message_cut_anywhere_is_refused() {
    for (name, bytes) in recorded() {
        for len in 0..bytes.len() {
            let outcome = compare(&bytes[..len], &format_args!("{name}: the first {len} bytes"));
            assert!(outcome.is_err(), "{name}: the first {len} bytes");
        }
    }
}

/// Every byte of every short message replaced: by all values in a deep run, else by those near the edges of something.
#[test]
fn every_byte_replaced() {
    let deep = std::env::var_os("LEVADA_DEEP").is_some_and(|deep| deep == "1");
    let edges = (0..=16).chain([0x1f, 0x20, 0x7f, 0x80, 0x81, 0xbf, 0xc0, 0xf0, 0xfe, 0xff]);
    let values: Vec<u8> = if deep { (0..=0xff).collect() } else { edges.collect() };
    for (name, bytes) in short() {
        for place in 0..bytes.len() {
            for &value in &values {
                let mut changed = bytes.clone();
                changed[place] = value;
                // Both outcomes are fine, if they are the reference's.
                drop(compare(&changed, &format_args!("{name}: byte {place} is {value:#04x}")));
            }
        }
    }
}
