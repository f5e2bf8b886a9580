//! nwaku's tables (its schema of versions 7 and 8), written so that nwaku's nodes and ours share one database.
//!
//! Three things are kept as nwaku keeps them: a message has a row in `messages` and one in `messages_lookup`, where nwaku looks for cursors
//! and hashes; `messages` is cut into the hours of the clock, in partitions with nwaku's names; and whoever makes or drops one
//! holds nwaku's advisory lock. In version 8 `messages_lookup` is cut in the same places. A database may come from one version to the next
//! while we write to it, so what version there is is looked at whenever partitions are.
//!
//! Text holds no NUL, and nwaku's version column no number above that of 31 bits: such messages are dropped and counted, as nwaku cannot
//! store them either.

mod partition;
mod retention;
mod schema;
mod writer;

pub(super) use writer::NwakuWriter;
