//! Eight lanes in 256-bit vectors with the rotates and three-operand logic of AVX-512 VL.

use std::arch::x86_64::*;

use super::eight::{load_state, load_words, store_state};
use super::rounds::define_rounds;
use super::{Columns, Runs};

/// One 32-bit word of each lane.
type Vector = __m256i;

define_rounds!("avx2,avx512f,avx512vl");

/// Hashes `runs.blocks` blocks of each of the first eight lanes into `columns`.
#[target_feature(enable = "avx2,avx512f,avx512vl")]
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
#[target_feature(enable = "avx512f,avx512vl")]
fn xor3(a: Vector, b: Vector, c: Vector) -> Vector {
    _mm256_ternarylogic_epi32::<0x96>(a, b, c)
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn choose(e: Vector, f: Vector, g: Vector) -> Vector {
    _mm256_ternarylogic_epi32::<0xca>(e, f, g)
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn majority(a: Vector, b: Vector, c: Vector) -> Vector {
    _mm256_ternarylogic_epi32::<0xe8>(a, b, c)
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn rotate<const BITS: i32>(a: Vector) -> Vector {
    _mm256_ror_epi32::<BITS>(a)
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
