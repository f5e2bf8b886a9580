//! The node key: the secp256k1 secret that gives a node its peer id.

use std::fmt;

use libp2p::PeerId;
use libp2p::identity::{Keypair, secp256k1};

use crate::error::NodeKeyError;

/// The secret of a node, as nwaku's `--nodekey` has it. Never printed: `Debug` shows the peer id.
#[derive(Clone)]
pub struct NodeKey {
    keypair: Keypair,
}

impl NodeKey {
    /// A new random key.
    pub fn generate() -> Self {
        Self { keypair: Keypair::generate_secp256k1() }
    }

    /// Reads 64 hexadecimal digits, in either case, with or without `0x` in front.
    ///
    /// # Errors
    ///
    /// [`NodeKeyError`], which never shows the text.
    pub fn from_hex(text: &str) -> Result<Self, NodeKeyError> {
        let digits = text.strip_prefix("0x").unwrap_or(text).as_bytes();
        if digits.len() != 64 {
            return Err(NodeKeyError::Length(digits.len()));
        }
        let mut secret = [0_u8; 32];
        for (position, digit) in digits.iter().enumerate() {
            let value = char::from(*digit).to_digit(16).ok_or(NodeKeyError::Digit(position))?;
            // `to_digit(16)` is below 16, so the cast keeps every bit.
            secret[position / 2] = secret[position / 2] << 4 | value as u8;
        }
        let secret = secp256k1::SecretKey::try_from_bytes(&mut secret).map_err(|_| NodeKeyError::Range)?;
        Ok(Self { keypair: secp256k1::Keypair::from(secret).into() })
    }

    /// The peer id that belongs to this key.
    pub fn peer_id(&self) -> PeerId {
        self.keypair.public().to_peer_id()
    }

    /// The key itself, to sign records with.
    pub fn secp256k1(&self) -> secp256k1::Keypair {
        self.keypair.clone().try_into_secp256k1().expect("made of a key of this curve")
    }

    pub(crate) fn keypair(&self) -> &Keypair {
        &self.keypair
    }
}

impl fmt::Debug for NodeKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("NodeKey").field("peer_id", &self.peer_id()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{NodeKey, NodeKeyError};

    const SECRET: &str = "0000000000000000000000000000000000000000000000000000000000000001";

    #[test]
    fn one_secret_gives_one_peer_id() {
        let peer_id = NodeKey::from_hex(SECRET).unwrap().peer_id();
        assert_eq!(peer_id, NodeKey::from_hex(&format!("0x{SECRET}")).unwrap().peer_id());
        assert!(peer_id.to_base58().starts_with("16Uiu2HA"), "a secp256k1 peer id, not {peer_id}");
        assert_ne!(peer_id, NodeKey::generate().peer_id());
    }

    #[test]
    fn bad_keys_are_named_and_not_shown() {
        assert_eq!(NodeKey::from_hex("").unwrap_err(), NodeKeyError::Length(0));
        assert_eq!(NodeKey::from_hex(&SECRET[1..]).unwrap_err(), NodeKeyError::Length(63));
        assert_eq!(NodeKey::from_hex(&SECRET.replace('1', "g")).unwrap_err(), NodeKeyError::Digit(63));
        assert_eq!(NodeKey::from_hex(&SECRET.replace('1', "0")).unwrap_err(), NodeKeyError::Range);
        assert_eq!(NodeKey::from_hex(&"f".repeat(64)).unwrap_err(), NodeKeyError::Range);
        assert!(NodeKey::from_hex(&"é".repeat(32)).is_err(), "64 bytes that are not 64 characters");
    }

    #[test]
    fn debug_does_not_show_the_secret() {
        let secret = "11".repeat(32);
        assert!(!format!("{:?}", NodeKey::from_hex(&secret).unwrap()).contains(&secret));
    }
}
