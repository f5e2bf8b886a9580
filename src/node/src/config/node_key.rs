//! The node's private key, which must never reach a log, an error message or a printed configuration.

use std::fmt;

/// A secp256k1 private key; its `Debug` form shows no byte of it.
#[derive(Clone, PartialEq, Eq)]
pub struct NodeKey([u8; 32]);

impl NodeKey {
    /// Reads 64 hexadecimal digits, with or without a leading `0x`. `None` for anything else and for numbers that are not
    /// secp256k1 private keys (zero, and the order of the curve and above).
    pub fn from_hex(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("0x").unwrap_or(text);
        let mut bytes = [0u8; 32];
        hex::decode_to_slice(digits, &mut bytes).ok()?;
        // Byte strings of one length compare as the big-endian numbers they are.
        (bytes != [0u8; 32] && bytes < CURVE_ORDER).then_some(Self(bytes))
    }

    /// The 32 secret bytes, big-endian.
    pub const fn secret_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The secret as 64 hexadecimal digits, for the network that signs with it and for nothing that is shown.
    pub fn secret_hex(&self) -> String {
        hex::encode(self.0)
    }
}

impl fmt::Debug for NodeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NodeKey(redacted)")
    }
}

/// The number of points of secp256k1 (SEC 2, section 2.4.1); private keys are the numbers from 1 to one below it.
const CURVE_ORDER: [u8; 32] = [
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 0xba, 0xae, 0xdc,
    0xe6, 0xaf, 0x48, 0xa0, 0x3b, 0xbf, 0xd2, 0x5e, 0x8c, 0xd0, 0x36, 0x41, 0x41,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixty_four_digits_are_a_key_with_or_without_prefix() {
        let digits = "0a".repeat(32);
        assert_eq!(NodeKey::from_hex(&digits).map(|key| *key.secret_bytes()), Some([10u8; 32]));
        assert_eq!(NodeKey::from_hex(&format!("0x{digits}")), NodeKey::from_hex(&digits));
        assert_eq!(NodeKey::from_hex(&digits).map(|key| key.secret_hex()), Some(digits));
    }

    #[test]
    fn what_is_no_private_key_is_refused() {
        let order = hex::encode(CURVE_ORDER);
        let below = order.replace("4141", "4140");
        assert!(NodeKey::from_hex(&below).is_some());
        for text in
            [order.as_str(), &"0".repeat(64), &"f".repeat(64), &"a".repeat(63), &"a".repeat(65), &"g".repeat(64), ""]
        {
            assert_eq!(NodeKey::from_hex(text), None, "{text}");
        }
    }

    #[test]
    fn debug_shows_nothing_of_the_key() {
        let key = NodeKey::from_hex(&"ab".repeat(32));
        assert_eq!(format!("{key:?}"), "Some(NodeKey(redacted))");
    }
}
