//! What both eight-lane kernels share: state and blocks into 256-bit vectors and back (AVX2).

use std::arch::x86_64::*;

use super::{Columns, Runs};

/// Lanes of a 256-bit vector.
const LANES: usize = 8;

/// The states of the first eight lanes.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn load_state(columns: &Columns) -> [__m256i; 8] {
    let mut state = [_mm256_setzero_si256(); 8];
    for (vector, row) in state.iter_mut().zip(&columns.0) {
        // SAFETY: a row is two vectors long.
        *vector = unsafe { _mm256_loadu_si256(row.as_ptr().cast()) };
    }
    state
}

/// Writes the states of the first eight lanes back.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn store_state(columns: &mut Columns, state: &[__m256i; 8]) {
    for (vector, row) in state.iter().zip(&mut columns.0) {
        // SAFETY: a row is two vectors long.
        unsafe { _mm256_storeu_si256(row.as_mut_ptr().cast(), *vector) };
    }
}

/// One block of each lane, one vector per word.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn load_words(runs: &Runs<'_>, block: usize) -> [__m256i; 16] {
    let (low, high) = (transpose(load_half(runs, block, 0)), transpose(load_half(runs, block, 1)));
    let mut words = [_mm256_setzero_si256(); 16];
    words[..8].copy_from_slice(&low);
    words[8..].copy_from_slice(&high);
    words
}

/// Half a block of each lane, with the bytes of each word in the order of this machine.
#[inline]
#[target_feature(enable = "avx2")]
fn load_half(runs: &Runs<'_>, block: usize, half: usize) -> [__m256i; LANES] {
    let swap = _mm256_broadcastsi128_si256(_mm_set_epi32(0x0c0d_0e0f, 0x0809_0a0b, 0x0405_0607, 0x0001_0203));
    let mut rows = [_mm256_setzero_si256(); LANES];
    for (row, run) in rows.iter_mut().zip(&runs.runs) {
        // SAFETY: `block` is below `runs.blocks`, and no run is shorter; a block is two vectors long, and `half` is 0 or 1.
        let bytes = unsafe { _mm256_loadu_si256(run.as_ptr().add(block).cast::<__m256i>().add(half)) };
        *row = _mm256_shuffle_epi8(bytes, swap);
    }
    rows
}

/// From eight words per lane to one vector per word.
#[inline]
#[target_feature(enable = "avx2")]
fn transpose(rows: [__m256i; LANES]) -> [__m256i; 8] {
    let mut quads = rows;
    for first in [0, 4] {
        let low01 = _mm256_unpacklo_epi32(rows[first], rows[first + 1]);
        let high01 = _mm256_unpackhi_epi32(rows[first], rows[first + 1]);
        let low23 = _mm256_unpacklo_epi32(rows[first + 2], rows[first + 3]);
        let high23 = _mm256_unpackhi_epi32(rows[first + 2], rows[first + 3]);
        quads[first] = _mm256_unpacklo_epi64(low01, low23);
        quads[first + 1] = _mm256_unpackhi_epi64(low01, low23);
        quads[first + 2] = _mm256_unpacklo_epi64(high01, high23);
        quads[first + 3] = _mm256_unpackhi_epi64(high01, high23);
    }
    let mut words = quads;
    for word in 0..4 {
        words[word] = _mm256_permute2x128_si256::<0x20>(quads[word], quads[4 + word]);
        words[4 + word] = _mm256_permute2x128_si256::<0x31>(quads[word], quads[4 + word]);
    }
    words
}
