//! The messages of the targets, for the mutator.

use crate::tree::Kind::{self, Bytes, Number};
use crate::tree::Shape;

/// A gossipsub RPC.
pub const FRAME: Shape = &[
    (1, Kind::Message(&[(1, Number), (2, Bytes)])),
    (2, Kind::Message(&[(1, Bytes), (2, Bytes), (3, Bytes), (4, Bytes), (5, Bytes), (6, Bytes)])),
    (3, Kind::Message(CONTROL)),
];

const CONTROL: Shape = &[
    (1, Kind::Message(&[(1, Bytes), (2, Bytes)])),
    (2, Kind::Message(&[(1, Bytes)])),
    (3, Kind::Message(&[(1, Bytes)])),
    (4, Kind::Message(&[(1, Bytes), (3, Number)])),
    (5, Kind::Message(&[(1, Bytes)])),
];

/// The payload of a Noise handshake message.
pub const NOISE_PAYLOAD: Shape = &[(1, Bytes), (2, Bytes), (4, Kind::Message(&[(1, Bytes), (2, Bytes)]))];

/// Filter's request, response and push; some fields have a number in one of them and bytes in another.
pub const FILTER: Shape = &[(1, Bytes), (2, Number), (2, Bytes), (10, Bytes), (10, Number), (11, Bytes)];
