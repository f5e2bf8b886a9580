//! What peers did to our own transport, counted once where the connection or stream is given up.

use levada_engine::Counter;

/// Handshakes that failed before the peer was known: bad signature, malformed payload, no muxer in common, time-outs excluded.
pub static HANDSHAKES_REFUSED: Counter = Counter::new();
/// Connections closed because a record did not open: tampered, replayed, reordered, cut short or impossible in length.
pub static RECORDS_REFUSED: Counter = Counter::new();
/// Connections closed because the peer broke the rules of yamux or mplex.
pub static MUXER_VIOLATIONS: Counter = Counter::new();
/// Streams that a peer opened and that were refused because it has too many open.
pub static STREAMS_REFUSED: Counter = Counter::new();
/// Streams that were reset because their reader left more bytes waiting than there is room for.
pub static STREAMS_OVERFLOWED: Counter = Counter::new();
/// Bytes that took a second copy because their stream's reader was not there when they arrived.
pub static SPILLED_BYTES: Counter = Counter::new();
