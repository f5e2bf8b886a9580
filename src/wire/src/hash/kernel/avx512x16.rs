//! Sixteen lanes in 512-bit vectors (AVX-512 F and BW).

use std::arch::x86_64::*;

use super::rounds::define_rounds;
use super::{Columns, LANES_MAX, Runs};

/// One 32-bit word of each lane.
type Vector = __m512i;

define_rounds!("avx512f,avx512bw");

/// Hashes `runs.blocks` blocks of each lane into `columns`.
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn compress(columns: &mut Columns, runs: &Runs<'_>) {
    let mut state = [_mm512_setzero_si512(); 8];
    for (vector, row) in state.iter_mut().zip(&columns.0) {
        // SAFETY: a row is one vector long.
        *vector = unsafe { _mm512_loadu_si512(row.as_ptr().cast()) };
    }
    for block in 0..runs.blocks {
        let mut words = transpose(load(runs, block));
        rounds(&mut state, &mut words);
    }
    for (vector, row) in state.iter().zip(&mut columns.0) {
        // SAFETY: a row is one vector long.
        unsafe { _mm512_storeu_si512(row.as_mut_ptr().cast(), *vector) };
    }
}

/// A whole block of each lane, with the bytes of each word in the order of this machine.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn load(runs: &Runs<'_>, block: usize) -> [Vector; LANES_MAX] {
    let swap = _mm512_set4_epi32(0x0c0d_0e0f, 0x0809_0a0b, 0x0405_0607, 0x0001_0203);
    let mut rows = [_mm512_setzero_si512(); LANES_MAX];
    for (row, run) in rows.iter_mut().zip(&runs.runs) {
        // SAFETY: `block` is below `runs.blocks`, and no run is shorter; a block is one vector long.
        let bytes = unsafe { _mm512_loadu_si512(run.as_ptr().add(block).cast()) };
        *row = _mm512_shuffle_epi8(bytes, swap);
    }
    rows
}

/// From sixteen words per lane to one vector per word: first inside groups of four words, then among the groups.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn transpose(rows: [Vector; LANES_MAX]) -> [Vector; 16] {
    let mut quads = rows;
    for first in [0, 4, 8, 12] {
        let low01 = _mm512_unpacklo_epi32(rows[first], rows[first + 1]);
        let high01 = _mm512_unpackhi_epi32(rows[first], rows[first + 1]);
        let low23 = _mm512_unpacklo_epi32(rows[first + 2], rows[first + 3]);
        let high23 = _mm512_unpackhi_epi32(rows[first + 2], rows[first + 3]);
        quads[first] = _mm512_unpacklo_epi64(low01, low23);
        quads[first + 1] = _mm512_unpackhi_epi64(low01, low23);
        quads[first + 2] = _mm512_unpacklo_epi64(high01, high23);
        quads[first + 3] = _mm512_unpackhi_epi64(high01, high23);
    }
    let mut words = quads;
    for word in 0..4 {
        let even07 = _mm512_shuffle_i32x4::<0x88>(quads[word], quads[4 + word]);
        let even8f = _mm512_shuffle_i32x4::<0x88>(quads[8 + word], quads[12 + word]);
        let odd07 = _mm512_shuffle_i32x4::<0xdd>(quads[word], quads[4 + word]);
        let odd8f = _mm512_shuffle_i32x4::<0xdd>(quads[8 + word], quads[12 + word]);
        words[word] = _mm512_shuffle_i32x4::<0x88>(even07, even8f);
        words[4 + word] = _mm512_shuffle_i32x4::<0x88>(odd07, odd8f);
        words[8 + word] = _mm512_shuffle_i32x4::<0xdd>(even07, even8f);
        words[12 + word] = _mm512_shuffle_i32x4::<0xdd>(odd07, odd8f);
    }
    words
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn add(a: Vector, b: Vector) -> Vector {
    _mm512_add_epi32(a, b)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn xor3(a: Vector, b: Vector, c: Vector) -> Vector {
    _mm512_ternarylogic_epi32::<0x96>(a, b, c)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn choose(e: Vector, f: Vector, g: Vector) -> Vector {
    _mm512_ternarylogic_epi32::<0xca>(e, f, g)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn majority(a: Vector, b: Vector, c: Vector) -> Vector {
    _mm512_ternarylogic_epi32::<0xe8>(a, b, c)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn rotate<const BITS: i32>(a: Vector) -> Vector {
    _mm512_ror_epi32::<BITS>(a)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn shift<const BITS: u32>(a: Vector) -> Vector {
    _mm512_srli_epi32::<BITS>(a)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn broadcast(word: u32) -> Vector {
    _mm512_set1_epi32(word.cast_signed())
}
