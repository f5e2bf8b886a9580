//! Counters of the network, for the whole process.
//!
//! The stock relay router shows each message once: duplicates end inside of it, and so do RPCs that do not parse (the router logs
//! them and drops the stream). Neither is counted then.

use levada_engine::Counter;

pub use crate::transport::counters::*;

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => { $($(#[$doc])* pub static $name: Counter = Counter::new();)* };
}

counters! {
    /// Messages that relay delivered, each once.
    MESSAGES_IN,
    /// Bytes of encoded WakuMessages that relay delivered.
    MESSAGE_BYTES_IN,
    /// Messages that came again. The stock router does not tell.
    MESSAGES_DUPLICATE,
    /// Relay streams and control messages that did not parse; each cost its peer the connection. The stock router does not tell.
    FRAMES_MALFORMED,
    /// Peers disconnected because they did not read their control messages.
    CONTROL_QUEUE_OVERFLOWS,
    /// Messages that were refused because they are larger than the limit.
    MESSAGES_TOO_LARGE,
    /// Messages that the receiver of inbound messages dropped.
    MESSAGES_DROPPED,
    /// Messages published to at least one peer.
    PUBLISHED,
    /// Bytes of those messages, each counted once however many peers it went to.
    PUBLISHED_BYTES,
    /// Publishes without any subscribed peer.
    PUBLISH_NO_PEERS,
    /// Publishes of a message that was seen before.
    PUBLISH_DUPLICATE,
    /// Publishes of a message that is too large.
    PUBLISH_TOO_LARGE,
    /// Publishes that met only full send queues.
    PUBLISH_QUEUE_FULL,
    /// Messages accepted, and so forwarded.
    VERDICTS_ACCEPT,
    /// Messages ignored.
    VERDICTS_IGNORE,
    /// Messages rejected; the peers that sent them lose score.
    VERDICTS_REJECT,
    /// Verdicts for messages that had left the router's cache.
    VERDICTS_LATE,
    /// Messages that a peer's full send queue dropped, or that waited in it for too long.
    SEND_QUEUE_DROPS,
    /// Times that reading stopped because the receiver of inbound messages was full.
    INBOUND_STALLS,
    /// Nanoseconds during which reading was stopped for that reason, counted when it goes on. [`NetHandle::stalled_for`] tells
    /// about a stop that lasts.
    ///
    /// [`NetHandle::stalled_for`]: crate::NetHandle::stalled_for
    INBOUND_STALLED_NS,
    /// Outgoing connections that were established.
    DIALS_OK,
    /// Outgoing connections that failed.
    DIALS_FAILED,
    /// Incoming connections that failed before they were established: handshake errors and refusals by the limits.
    INCOMING_FAILED,
    /// Incoming connections opened so far. Minus those closed: open now.
    CONNECTIONS_OPENED_IN,
    /// Incoming connections closed so far.
    CONNECTIONS_CLOSED_IN,
    /// Outgoing connections opened so far. Minus those closed: open now.
    CONNECTIONS_OPENED_OUT,
    /// Outgoing connections closed so far.
    CONNECTIONS_CLOSED_OUT,
    /// Connections closed because three pings in a row were not answered.
    PING_DISCONNECTS,
    /// Peers disconnected because their relay score fell below the graylist threshold.
    SCORE_DISCONNECTS,
    /// Metadata requests answered.
    METADATA_ANSWERED,
    /// Peers that answered our cluster.
    METADATA_SAME_CLUSTER,
    /// Peers that answered another cluster, and were disconnected.
    METADATA_OTHER_CLUSTER,
    /// Peers that answered without any cluster.
    METADATA_NO_CLUSTER,
    /// Peers without the metadata protocol.
    METADATA_UNSUPPORTED,
    /// Metadata exchanges that failed for another reason: time-out, stream or connection closed.
    METADATA_FAILED,
    /// Metadata frames that were too long or did not parse.
    METADATA_MALFORMED,
    /// Times that a connection's task was woken by another thread than its worker.
    CROSS_WORKER_WAKES,
    /// Bytes read from sockets, all protocols and overheads included.
    SOCKET_BYTES_IN,
    /// Bytes written to sockets, all protocols and overheads included.
    SOCKET_BYTES_OUT,
}
