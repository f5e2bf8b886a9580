//! The key `multiaddrs`: addresses that the plain keys cannot say, such as those of WebSocket listeners.

use multiaddr::{Multiaddr, Protocol};

/// Each as its length, two bytes with the higher first, and its binary form without a peer id.
pub(super) fn encode(addresses: &[Multiaddr]) -> Vec<u8> {
    let mut out = Vec::new();
    for address in addresses {
        let bare: Multiaddr = address.iter().filter(|part| !matches!(part, Protocol::P2p(_))).collect();
        let bytes = bare.to_vec();
        if let Ok(length) = u16::try_from(bytes.len()) {
            out.extend(length.to_be_bytes());
            out.extend(bytes);
        }
    }
    out
}

/// None when a length does not fit. An address of a kind unknown here is left out: others may know it.
pub(super) fn decode(mut value: &[u8]) -> Option<Vec<Multiaddr>> {
    let mut addresses = Vec::new();
    while !value.is_empty() {
        let (length, rest) = value.split_first_chunk()?;
        let (bytes, rest) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
        addresses.extend(Multiaddr::try_from(bytes.to_vec()).ok().filter(|address| !address.is_empty()));
        value = rest;
    }
    addresses.retain(|address| !address.iter().any(|part| matches!(part, Protocol::P2p(_))));
    Some(addresses)
}
