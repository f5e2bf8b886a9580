//! What a peer can make a connection hold.

use std::time::Duration;

/// Streams of one side that are open at once. Stock yamux allows 512 together.
pub(crate) const STREAMS_MAX: usize = 256;
/// Streams that the peer has opened and that nobody has taken yet.
pub(crate) const UNTAKEN_MAX: usize = 128;
/// A stream that is read steadily may have this much under way, so that a sender need not wait for every update.
pub(crate) const WINDOW_BYTES_MAX: u32 = 1_024 * 1_024;
/// By how much all windows of a connection together may exceed their first size.
pub(crate) const WINDOWS_EXTRA_BYTES_MAX: u64 = 2 * 1_024 * 1_024;
/// What waits for the readers of a connection, all streams together. Beyond, the stream that receives is reset.
pub(crate) const WAITING_BYTES_MAX: usize = 4 * 1_024 * 1_024;
/// What waits for the reader of one stream where there is no flow control. Beyond, the connection is not read for a while.
pub(crate) const UNWINDOWED_BYTES_MAX: usize = 512 * 1_024;
/// How long a connection without flow control waits for one stream's reader before that stream is reset. The pings of js-libp2p and
/// nwaku, which are held up meanwhile, give up after 10 s.
pub(crate) const READER_PATIENCE: Duration = Duration::from_secs(3);
