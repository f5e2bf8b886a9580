//! Signed node records (EIP-778) with the keys that Waku adds (31/WAKU2-ENR).

mod addresses;
mod advertised;
mod capabilities;
mod shards;
#[cfg(test)]
mod tests;

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use alloy_rlp::{Decodable, Encodable};
use bytes::Bytes;
use enr::{CombinedKey, Enr};
use libp2p_identity::{PeerId, PublicKey, secp256k1};
use multiaddr::{Multiaddr, Protocol};

pub use advertised::Advertised;
pub use capabilities::Capabilities;
pub use shards::Shards;

/// Most bytes of a record (EIP-778).
pub const RECORD_BYTES_MAX: usize = 300;

const MULTIADDRS: &str = "multiaddrs";
const WAKU2: &str = "waku2";
const SECP256K1: &str = "secp256k1";

/// What is wrong with a record, or with what is to become one.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum RecordError {
    /// Not a record, or one whose signature does not fit.
    #[error("this is not a valid node record: {0}")]
    Invalid(String),
    /// Bytes behind the record.
    #[error("{0} bytes follow the node record")]
    Trailing(usize),
    /// Signed by a key of another kind.
    #[error("the node record is not signed by a secp256k1 key")]
    OtherKey,
    /// A value that breaks the rules of its key.
    #[error("the node record's `{key}` is malformed")]
    Malformed {
        /// The key.
        key: &'static str,
    },
    /// More than [`RECORD_BYTES_MAX`], without any of the addresses that could be left out.
    #[error("a node record holds at most {RECORD_BYTES_MAX} bytes, and this needs more: advertise fewer shards")]
    TooLong,
}

/// A node record whose signature was verified.
#[derive(Clone, PartialEq, Eq)]
pub struct Record {
    enr: Enr<CombinedKey>,
    peer: PeerId,
}

impl Record {
    /// Signs what `advertised` says, as version `sequence`. Addresses of the list that make it too long are left out, the
    /// last ones first; returns how many too.
    ///
    /// # Errors
    /// [`RecordError::TooLong`] when leaving out addresses does not suffice.
    pub fn sign(
        key: &secp256k1::Keypair,
        sequence: u64,
        advertised: &Advertised,
    ) -> Result<(Self, usize), RecordError> {
        let signer = signer(key)?;
        for kept in (0..=advertised.addresses.len()).rev() {
            let mut builder = Enr::<CombinedKey>::builder();
            builder.seq(sequence);
            advertised.write_sockets(&mut builder);
            let addresses = addresses::encode(&advertised.addresses[..kept]);
            if !addresses.is_empty() {
                builder.add_value(MULTIADDRS, &Bytes::from(addresses));
            }
            builder.add_value(WAKU2, &Bytes::from(vec![advertised.capabilities.0]));
            if let Some(shards) = &advertised.shards {
                let (name, value) = shards.encode();
                builder.add_value(name, &Bytes::from(value));
            }
            if let Ok(enr) = builder.build(&signer) {
                return Ok((Self::of(enr)?, advertised.addresses.len() - kept));
            }
        }
        Err(RecordError::TooLong)
    }

    /// The same record with other shards, signed anew as the next version.
    ///
    /// # Errors
    /// [`RecordError::TooLong`] when they do not fit.
    pub fn with_shards(&self, key: &secp256k1::Keypair, shards: &Shards) -> Result<Self, RecordError> {
        let mut enr = self.enr.clone();
        replace_shards(&mut enr, &signer(key)?, shards)?;
        Self::of(enr)
    }

    /// A record as it stands in messages of peer exchange: RLP.
    ///
    /// # Errors
    /// Whatever is wrong with it, its signature included.
    pub fn from_rlp(bytes: &[u8]) -> Result<Self, RecordError> {
        let mut rest = bytes;
        let enr = Enr::decode(&mut rest).map_err(|error| RecordError::Invalid(error.to_string()))?;
        if rest.is_empty() { Self::of(enr) } else { Err(RecordError::Trailing(rest.len())) }
    }

    pub(crate) fn of(enr: Enr<CombinedKey>) -> Result<Self, RecordError> {
        let key = value(&enr, SECP256K1)?.ok_or(RecordError::OtherKey)?;
        let key = secp256k1::PublicKey::try_from_bytes(&key).map_err(|_| RecordError::OtherKey)?;
        Ok(Self { peer: PublicKey::from(key).to_peer_id(), enr })
    }

    pub(crate) fn enr(&self) -> &Enr<CombinedKey> {
        &self.enr
    }

    /// The record as RLP, at most [`RECORD_BYTES_MAX`] bytes.
    pub fn to_rlp(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(RECORD_BYTES_MAX);
        self.enr.encode(&mut out);
        out
    }

    /// Whose record it is.
    pub fn peer(&self) -> PeerId {
        self.peer
    }

    /// Its version: of two records of a peer the higher one holds.
    pub fn sequence(&self) -> u64 {
        self.enr.seq()
    }

    /// What it says.
    ///
    /// # Errors
    /// [`RecordError::Malformed`] for the first value that breaks its rules.
    pub fn advertised(&self) -> Result<Advertised, RecordError> {
        let enr = &self.enr;
        let addresses = match value(enr, MULTIADDRS)? {
            Some(value) => addresses::decode(&value).ok_or(RecordError::Malformed { key: MULTIADDRS })?,
            None => Vec::new(),
        };
        let capabilities = match value(enr, WAKU2)?.as_deref() {
            Some([bits]) => Capabilities(*bits),
            // An integer in RLP: zero is the empty string.
            None | Some([]) => Capabilities::default(),
            Some(_) => return Err(RecordError::Malformed { key: WAKU2 }),
        };
        Ok(Advertised {
            ip4: enr.ip4(),
            ip6: enr.ip6(),
            tcp4: enr.tcp4(),
            tcp6: enr.tcp6(),
            udp4: enr.udp4(),
            udp6: enr.udp6(),
            addresses,
            capabilities,
            shards: Shards::decode(|key| value(enr, key))?,
        })
    }

    /// Where the peer can be dialled by libp2p, with its id at the end: its TCP sockets, then its list of addresses.
    ///
    /// # Errors
    /// As [`advertised`](Self::advertised).
    pub fn dialable(&self) -> Result<Vec<Multiaddr>, RecordError> {
        let said = self.advertised()?;
        let tcp4 =
            said.ip4.zip(said.tcp4).map(|(ip, port): (Ipv4Addr, u16)| Multiaddr::from(ip).with(Protocol::Tcp(port)));
        let tcp6 =
            said.ip6.zip(said.tcp6).map(|(ip, port): (Ipv6Addr, u16)| Multiaddr::from(ip).with(Protocol::Tcp(port)));
        let mut all: Vec<Multiaddr> = Vec::with_capacity(2 + said.addresses.len());
        for address in tcp4.into_iter().chain(tcp6).chain(said.addresses) {
            let address = address.with(Protocol::P2p(self.peer));
            if !all.contains(&address) {
                all.push(address);
            }
        }
        Ok(all)
    }
}

/// Has a record say these shards alone, by whichever key they are written.
pub(crate) fn replace_shards(
    enr: &mut Enr<CombinedKey>,
    signer: &CombinedKey,
    shards: &Shards,
) -> Result<(), RecordError> {
    let (name, value) = shards.encode();
    let replaced = enr.remove_insert(Shards::KEYS.iter(), [(name, value.as_slice())].into_iter(), signer);
    replaced.map(|_| ()).map_err(|_| RecordError::TooLong)
}

/// The string of bytes under `key`.
fn value(enr: &Enr<CombinedKey>, key: &'static str) -> Result<Option<Bytes>, RecordError> {
    enr.get_decodable(key).transpose().map_err(|_| RecordError::Malformed { key })
}

/// The key as records are signed by.
pub(crate) fn signer(key: &secp256k1::Keypair) -> Result<CombinedKey, RecordError> {
    let mut secret = key.secret().to_bytes();
    CombinedKey::secp256k1_from_bytes(&mut secret).map_err(|_| RecordError::OtherKey)
}

impl FromStr for Record {
    type Err = RecordError;

    /// `enr:` and base64 for URLs.
    fn from_str(text: &str) -> Result<Self, RecordError> {
        let encoded =
            text.strip_prefix("enr:").ok_or_else(|| RecordError::Invalid("it does not begin with enr:".into()))?;
        let bytes = data_encoding::BASE64URL_NOPAD
            .decode(encoded.trim_end_matches('=').as_bytes())
            .map_err(|error| RecordError::Invalid(error.to_string()))?;
        Self::from_rlp(&bytes)
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.enr.to_base64())
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Record({self})")
    }
}
