//! Eight lanes in 256-bit vectors of AVX2.

use std::arch::x86_64::*;

use super::eight::{load_state, load_words, store_state};
use super::rounds::define_rounds;
use super::{Columns, Runs};

/// One 32-bit word of each lane.
type Vector = __m256i;

define_rounds!("avx2");

/// Hashes `runs.blocks` blocks of each of the first eight lanes into `columns`.
#[target_feature(enable = "avx2")]
pub(super) fn compress(columns: &mut Columns, runs: &Runs<'_>) {
    let mut state = load_state(columns);
    for block in 0..runs.blocks {
        let mut words = load_words(runs, block);
        rounds(&mut state, &mut words);
    }
    store_state(columns, &state);
}

#[inline]
#[target_feature(enable = "avx2")]
fn add(a: Vector, b: Vector) -> Vector {
    _mm256_add_epi32(a, b)
}

#[inline]
#[target_feature(enable = "avx2")]
fn xor3(a: Vector, b: Vector, c: Vector) -> Vector {
    _mm256_xor_si256(_mm256_xor_si256(a, b), c)
}

#[inline]
#[target_feature(enable = "avx2")]
fn choose(e: Vector, f: Vector, g: Vector) -> Vector {
    _mm256_xor_si256(g, _mm256_and_si256(e, _mm256_xor_si256(f, g)))
}

#[inline]
#[target_feature(enable = "avx2")]
fn majority(a: Vector, b: Vector, c: Vector) -> Vector {
    _mm256_or_si256(_mm256_and_si256(a, b), _mm256_and_si256(c, _mm256_or_si256(a, b)))
}

#[inline]
#[target_feature(enable = "avx2")]
fn rotate<const BITS: i32>(a: Vector) -> Vector {
    _mm256_or_si256(_mm256_srli_epi32::<BITS>(a), _mm256_sll_epi32(a, _mm_cvtsi32_si128(32 - BITS)))
}

#[inline]
#[target_feature(enable = "avx2")]
fn shift<const BITS: i32>(a: Vector) -> Vector {
    _mm256_srli_epi32::<BITS>(a)
}

#[inline]
#[target_feature(enable = "avx2")]
fn broadcast(word: u32) -> Vector {
    _mm256_set1_epi32(word.cast_signed())
}
