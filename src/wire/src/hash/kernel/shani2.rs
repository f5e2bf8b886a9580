//! Two interleaved streams of the SHA-256 instructions (SHA-NI): each hides the latency of the other.

use std::arch::asm;
use std::arch::x86_64::*;

use super::rounds::ROUND_CONSTANTS;
use super::{Columns, Runs};

/// Streams side by side; more would not fit the sixteen vector registers.
const STREAMS: usize = 2;

/// One stream: the state in the order the instructions want it, and sixteen words of the message schedule.
#[derive(Clone, Copy)]
struct Stream {
    abef: __m128i,
    cdgh: __m128i,
    words: [__m128i; 4],
}

/// Hashes `runs.blocks` blocks of each of the first two lanes into `columns`.
///
/// Nothing is zipped here: without optimisation across codegen units the adapter is a call, before which all vectors go to memory, for
/// every block.
#[target_feature(enable = "sha,sse4.1,ssse3")]
pub(super) fn compress(columns: &mut Columns, runs: &Runs<'_>) {
    let mut streams = [load_state(columns, 0), load_state(columns, 1)];
    for block in 0..runs.blocks {
        let [before_first, before_second] = streams;
        let [first, second] = &mut streams;
        // SAFETY: `block` is below `runs.blocks`, and no run is shorter.
        let blocks = unsafe { [runs.runs[0].get_unchecked(block), runs.runs[1].get_unchecked(block)] };
        first.words = load_words(blocks[0]);
        second.words = load_words(blocks[1]);
        given_rounds(&mut streams);
        for first in [16, 32, 48] {
            scheduled_rounds(&mut streams, first);
        }
        let [first, second] = &mut streams;
        add_state(first, &before_first);
        add_state(second, &before_second);
    }
    for (lane, stream) in streams.iter().enumerate() {
        store_state(columns, lane, stream);
    }
}

#[inline]
#[target_feature(enable = "sse4.1")]
fn add_state(stream: &mut Stream, before: &Stream) {
    stream.abef = _mm_add_epi32(stream.abef, before.abef);
    stream.cdgh = _mm_add_epi32(stream.cdgh, before.cdgh);
}

/// Rounds 0 to 15, on the words of the block.
#[inline]
#[target_feature(enable = "sha,sse4.1,ssse3")]
fn given_rounds(streams: &mut [Stream; STREAMS]) {
    for quarter in 0..4 {
        let constants = constants(4 * quarter);
        for stream in &mut *streams {
            four_rounds(stream, quarter, constants);
        }
        abreast(streams);
    }
}

/// Sixteen rounds from round `first` on, on words of the message schedule.
#[inline]
#[target_feature(enable = "sha,sse4.1,ssse3")]
fn scheduled_rounds(streams: &mut [Stream; STREAMS], first: usize) {
    for quarter in 0..4 {
        let constants = constants(first + 4 * quarter);
        for stream in &mut *streams {
            let [last, next] = [stream.words[(quarter + 3) % 4], stream.words[(quarter + 1) % 4]];
            let nine_on = _mm_alignr_epi8::<4>(last, stream.words[(quarter + 2) % 4]);
            let partial = _mm_add_epi32(_mm_sha256msg1_epu32(stream.words[quarter], next), nine_on);
            stream.words[quarter] = _mm_sha256msg2_epu32(partial, last);
            four_rounds(stream, quarter, constants);
        }
        abreast(streams);
    }
}

/// Keeps the streams abreast in the program. The compiler, which counts on the processor to look far ahead, puts sixteen rounds of one
/// stream before those of the other, and that is farther than it looks.
#[inline]
#[target_feature(enable = "sse2")]
fn abreast(streams: &mut [Stream; STREAMS]) {
    let [first, second] = streams;
    // SAFETY: there is no instruction; the compiler only takes it that both states are needed here.
    unsafe {
        asm!("/* {0} {1} */", inout(xmm_reg) first.abef, inout(xmm_reg) second.abef, options(nomem, nostack, preserves_flags));
    }
}

#[inline]
#[target_feature(enable = "sha,sse4.1,ssse3")]
fn four_rounds(stream: &mut Stream, quarter: usize, constants: __m128i) {
    let words = _mm_add_epi32(stream.words[quarter], constants);
    stream.cdgh = _mm_sha256rnds2_epu32(stream.cdgh, stream.abef, words);
    stream.abef = _mm_sha256rnds2_epu32(stream.abef, stream.cdgh, _mm_shuffle_epi32::<0x0e>(words));
}

/// The constants of four rounds from `first` on.
#[inline]
#[target_feature(enable = "sse4.1")]
fn constants(first: usize) -> __m128i {
    let four = &ROUND_CONSTANTS[first..first + 4];
    // SAFETY: the slice holds the sixteen bytes of one vector.
    unsafe { _mm_loadu_si128(four.as_ptr().cast()) }
}

/// A block as four vectors of words in the order of this machine.
#[inline]
#[target_feature(enable = "ssse3")]
fn load_words(block: &super::Block) -> [__m128i; 4] {
    let swap = _mm_set_epi32(0x0c0d_0e0f, 0x0809_0a0b, 0x0405_0607, 0x0001_0203);
    let mut words = [_mm_setzero_si128(); 4];
    for (quarter, word) in words.iter_mut().enumerate() {
        // SAFETY: a block is four vectors long.
        let bytes = unsafe { _mm_loadu_si128(block.as_ptr().cast::<__m128i>().add(quarter)) };
        *word = _mm_shuffle_epi8(bytes, swap);
    }
    words
}

#[inline]
#[target_feature(enable = "sse4.1")]
fn load_state(columns: &Columns, lane: usize) -> Stream {
    let [a, b, c, d, e, f, g, h] = columns.lane(lane).map(u32::cast_signed);
    let words = [_mm_setzero_si128(); 4];
    Stream { abef: _mm_set_epi32(a, b, e, f), cdgh: _mm_set_epi32(c, d, g, h), words }
}

#[inline]
#[target_feature(enable = "sse4.1")]
fn store_state(columns: &mut Columns, lane: usize, stream: &Stream) {
    let word = |vector: __m128i| {
        [
            _mm_extract_epi32::<3>(vector),
            _mm_extract_epi32::<2>(vector),
            _mm_extract_epi32::<1>(vector),
            _mm_extract_epi32::<0>(vector),
        ]
        .map(i32::cast_unsigned)
    };
    let ([a, b, e, f], [c, d, g, h]) = (word(stream.abef), word(stream.cdgh));
    columns.set_lane(lane, [a, b, c, d, e, f, g, h]);
}
