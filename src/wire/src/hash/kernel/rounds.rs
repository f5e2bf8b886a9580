//! The rounds of SHA-256 (FIPS 180-4, section 6.2.2) over vectors, written once for every vector width.

/// The round constants K (FIPS 180-4, section 4.2.2).
pub(super) static ROUND_CONSTANTS: [u32; 64] = [
    0x428a_2f98,
    0x7137_4491,
    0xb5c0_fbcf,
    0xe9b5_dba5,
    0x3956_c25b,
    0x59f1_11f1,
    0x923f_82a4,
    0xab1c_5ed5,
    0xd807_aa98,
    0x1283_5b01,
    0x2431_85be,
    0x550c_7dc3,
    0x72be_5d74,
    0x80de_b1fe,
    0x9bdc_06a7,
    0xc19b_f174,
    0xe49b_69c1,
    0xefbe_4786,
    0x0fc1_9dc6,
    0x240c_a1cc,
    0x2de9_2c6f,
    0x4a74_84aa,
    0x5cb0_a9dc,
    0x76f9_88da,
    0x983e_5152,
    0xa831_c66d,
    0xb003_27c8,
    0xbf59_7fc7,
    0xc6e0_0bf3,
    0xd5a7_9147,
    0x06ca_6351,
    0x1429_2967,
    0x27b7_0a85,
    0x2e1b_2138,
    0x4d2c_6dfc,
    0x5338_0d13,
    0x650a_7354,
    0x766a_0abb,
    0x81c2_c92e,
    0x9272_2c85,
    0xa2bf_e8a1,
    0xa81a_664b,
    0xc24b_8b70,
    0xc76c_51a3,
    0xd192_e819,
    0xd699_0624,
    0xf40e_3585,
    0x106a_a070,
    0x19a4_c116,
    0x1e37_6c08,
    0x2748_774c,
    0x34b0_bcb5,
    0x391c_0cb3,
    0x4ed8_aa4a,
    0x5b9c_ca4f,
    0x682e_6ff3,
    0x748f_82ee,
    0x78a5_636f,
    0x84c8_7814,
    0x8cc7_0208,
    0x90be_fffa,
    0xa450_6ceb,
    0xbef9_a3f7,
    0xc671_78f2,
];

/// Defines `rounds(state, words)`, which adds one block per lane to the state.
///
/// The module that invokes it has the type `Vector` (one 32-bit word of each lane) and the functions `add`, `xor3`,
/// `choose`, `majority`, `rotate`, `shift` and `broadcast`, all with the features in `$features`.
macro_rules! define_rounds {
    ($features:literal) => {
        #[inline]
        #[target_feature(enable = $features)]
        fn rounds(state: &mut [Vector; 8], words: &mut [Vector; 16]) {
            let mut turning = *state;
            $crate::hash::kernel::rounds::sixteen!(words, turning, 0, given);
            // A loop, since the unrolled code would not fit the cache of decoded instructions beside anything else.
            for first in [16, 32, 48] {
                $crate::hash::kernel::rounds::sixteen!(words, turning, first, scheduled);
            }
            for (sum, turned) in state.iter_mut().zip(turning) {
                *sum = add(*sum, turned);
            }
        }
    };
}

/// Sixteen rounds from round `$first` on. After eight the roles of the state words have gone around once.
macro_rules! sixteen {
    ($words:ident, $state:ident, $first:expr, $source:ident) => {{
        use $crate::hash::kernel::rounds::round;
        round!($words, $state, $first, $source, 0, [0, 1, 2, 3, 4, 5, 6, 7]);
        round!($words, $state, $first, $source, 1, [7, 0, 1, 2, 3, 4, 5, 6]);
        round!($words, $state, $first, $source, 2, [6, 7, 0, 1, 2, 3, 4, 5]);
        round!($words, $state, $first, $source, 3, [5, 6, 7, 0, 1, 2, 3, 4]);
        round!($words, $state, $first, $source, 4, [4, 5, 6, 7, 0, 1, 2, 3]);
        round!($words, $state, $first, $source, 5, [3, 4, 5, 6, 7, 0, 1, 2]);
        round!($words, $state, $first, $source, 6, [2, 3, 4, 5, 6, 7, 0, 1]);
        round!($words, $state, $first, $source, 7, [1, 2, 3, 4, 5, 6, 7, 0]);
        round!($words, $state, $first, $source, 8, [0, 1, 2, 3, 4, 5, 6, 7]);
        round!($words, $state, $first, $source, 9, [7, 0, 1, 2, 3, 4, 5, 6]);
        round!($words, $state, $first, $source, 10, [6, 7, 0, 1, 2, 3, 4, 5]);
        round!($words, $state, $first, $source, 11, [5, 6, 7, 0, 1, 2, 3, 4]);
        round!($words, $state, $first, $source, 12, [4, 5, 6, 7, 0, 1, 2, 3]);
        round!($words, $state, $first, $source, 13, [3, 4, 5, 6, 7, 0, 1, 2]);
        round!($words, $state, $first, $source, 14, [2, 3, 4, 5, 6, 7, 0, 1]);
        round!($words, $state, $first, $source, 15, [1, 2, 3, 4, 5, 6, 7, 0]);
    }};
}

/// One round with the word at `$at`, which comes from the block (`given`) or from the message schedule (`scheduled`).
/// The list says which vectors stand for a to h; nothing moves between rounds.
macro_rules! round {
    ($words:ident, $state:ident, $first:expr, scheduled, $at:literal, $turn:tt) => {
        let (near, far) = ($words[($at + 1) % 16], $words[($at + 14) % 16]);
        let sigma0 = xor3(rotate::<7>(near), rotate::<18>(near), shift::<3>(near));
        let sigma1 = xor3(rotate::<17>(far), rotate::<19>(far), shift::<10>(far));
        $words[$at] = add(add($words[$at], sigma0), add($words[($at + 9) % 16], sigma1));
        $crate::hash::kernel::rounds::round!($words, $state, $first, given, $at, $turn);
    };
    ($words:ident, $state:ident, $first:expr, given, $at:literal,
     [$a:literal, $b:literal, $c:literal, $d:literal, $e:literal, $f:literal, $g:literal, $h:literal]) => {
        let (a, e) = ($state[$a], $state[$e]);
        let word = add($words[$at], broadcast($crate::hash::kernel::rounds::ROUND_CONSTANTS[$first + $at]));
        let sum1 = xor3(rotate::<6>(e), rotate::<11>(e), rotate::<25>(e));
        let mixed = add(add(add($state[$h], word), choose(e, $state[$f], $state[$g])), sum1);
        let sum0 = xor3(rotate::<2>(a), rotate::<13>(a), rotate::<22>(a));
        $state[$d] = add($state[$d], mixed);
        $state[$h] = add(add(mixed, majority(a, $state[$b], $state[$c])), sum0);
    };
}

pub(super) use {define_rounds, round, sixteen};
