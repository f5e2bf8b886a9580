//! Counters of the network, for the whole process.

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
    /// Messages that came again.
    MESSAGES_DUPLICATE,
    /// Relay streams and control messages that did not parse; each cost its peer the connection.
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
    /// Pubsub topics joined.
    TOPICS_JOINED,
    /// Pubsub topics left.
    TOPICS_LEFT,
    /// Outgoing connections that were established.
    DIALS_OK,
    /// Outgoing connections that failed.
    DIALS_FAILED,
    /// Incoming connections that failed before they were established: handshake errors and refusals by the limits.
    INCOMING_FAILED,
    /// Incoming connections refused because too many peers from their IP address are here.
    COLOCATION_REFUSALS,
    /// Addresses of peers that were learned from others and name no peer, or this node.
    ADDRESSES_REFUSED,
    /// Times that the file of known peers could not be written.
    PEER_FILE_FAILURES,
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
    /// Store queries that could be read.
    STORE_QUERIES,
    /// Store queries that could not be read.
    STORE_MALFORMED,
    /// Store queries that the archive refused or failed on, or for whose answer there was no room.
    STORE_FAILURES,
    /// Messages on the pages sent.
    STORE_ROWS_SENT,
    /// Messages pushed by light clients and published, by lightpush of version 2.
    LIGHTPUSH_V2_PUBLISHED,
    /// The same, of version 3.
    LIGHTPUSH_V3_PUBLISHED,
    /// Messages pushed by light clients and not published, by lightpush of version 2.
    LIGHTPUSH_V2_REFUSED,
    /// The same, of version 3.
    LIGHTPUSH_V3_REFUSED,
    /// Lightpush requests of version 2 that could not be read.
    LIGHTPUSH_V2_MALFORMED,
    /// The same, of version 3.
    LIGHTPUSH_V3_MALFORMED,
    /// Node records sent to peers that asked for some.
    PEER_EXCHANGE_SENT,
    /// Node records that peers told when they were asked.
    PEER_EXCHANGE_RECEIVED,
    /// Questions for records that a peer did not answer well.
    PEER_EXCHANGE_ASK_FAILURES,
    /// Relay peers disconnected because relay has its part of the connections already.
    RELAY_SHARE_DISCONNECTS,
    /// Peer exchange requests that could not be read.
    PEER_EXCHANGE_MALFORMED,
    /// Bytes read from sockets, all protocols and overheads included.
    SOCKET_BYTES_IN,
    /// Bytes written to sockets, all protocols and overheads included.
    SOCKET_BYTES_OUT,
}
