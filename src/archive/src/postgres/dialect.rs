//! The statements of queries, in both layouts. Those of one purpose have the same parameters and the same columns: hashes and topics as
//! bytes.

/// A layout's statements.
pub(super) struct Dialect {
    /// The first nanoseconds of all partitions, in order.
    pub(super) starts: &'static str,
    pub(super) count: &'static str,
    pub(super) clear: &'static str,
    /// The table of messages.
    pub(super) table: &'static str,
    /// Its columns of a message's key, as they are ordered.
    pub(super) order: [&'static str; 2],
    /// The same as timestamp and bytes.
    pub(super) key: &'static str,
    /// The keys in a window and a range, `$1` to `$6`; further conditions come before them.
    pub(super) range: &'static str,
    /// The pubsub topic `$8`.
    pub(super) pubsub_topic: &'static str,
    /// The content topic `topic` and, if there is one, the pubsub topic `$8`.
    pub(super) content_topic: &'static str,
    /// The keys of the hashes `$3` in a window.
    pub(super) keys: &'static str,
    /// Of some keys, those whose messages have the wanted topics.
    pub(super) with_topics: &'static str,
    /// The messages of some keys.
    pub(super) bodies: &'static str,
    /// Whether topics are text, which cannot hold a NUL.
    pub(super) text_topics: bool,
}

pub(super) const LEVADA: Dialect = Dialect {
    starts: "SELECT start_ns FROM levada_partition ORDER BY start_ns",
    count: "SELECT count(*) FROM levada_key",
    clear: "TRUNCATE levada_key, levada_message",
    table: "levada_message",
    order: ["timestamp", "hash"],
    key: "timestamp, hash",
    range: "timestamp >= $1 AND timestamp <= $2 AND (timestamp, hash) > ($3, $4) AND (timestamp, hash) < ($5, $6)",
    pubsub_topic: "sha256(pubsub_topic) = sha256($8) AND pubsub_topic = $8 AND ",
    content_topic: "sha256(content_topic) = sha256(topic) AND content_topic = topic AND \
         ($8::bytea IS NULL OR pubsub_topic = $8) AND ",
    keys: "SELECT timestamp, hash FROM levada_key WHERE timestamp >= $1 AND timestamp <= $2 AND hash = ANY($3)",
    with_topics: "SELECT k.timestamp, k.hash FROM unnest($1::int8[], $2::bytea[]) AS k(timestamp, hash) \
         CROSS JOIN LATERAL (SELECT FROM levada_message m WHERE m.timestamp = k.timestamp AND m.hash = k.hash \
         AND m.timestamp >= $3 AND m.timestamp <= $4 AND ($5::bytea IS NULL OR m.pubsub_topic = $5) \
         AND (cardinality($6::bytea[]) = 0 OR m.content_topic = ANY($6)) LIMIT 1) AS found",
    bodies: "SELECT m.* FROM unnest($1::int8[], $2::bytea[]) AS k(timestamp, hash) CROSS JOIN LATERAL \
         (SELECT timestamp, hash, pubsub_topic, content_topic, version, meta, payload FROM levada_message \
         WHERE timestamp = k.timestamp AND hash = k.hash AND timestamp >= $3 AND timestamp <= $4 LIMIT 1) AS m",
    text_topics: false,
};

/// Hexadecimal digits of one case are ordered as the bytes are, in every collation.
pub(super) const NWAKU: Dialect = Dialect {
    starts: "SELECT (regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \\(''?(-?\\d+)'))[1]::int8 AS start_ns \
         FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid WHERE inhparent = 'messages'::regclass \
         AND pg_get_expr(c.relpartbound, c.oid) ~ 'FROM \\(''?-?\\d' ORDER BY start_ns",
    count: "SELECT count(*) FROM messages",
    clear: "TRUNCATE messages, messages_lookup",
    table: "messages",
    order: ["timestamp", "messagehash"],
    key: "timestamp, decode(messagehash, 'hex')",
    range: "timestamp >= $1 AND timestamp <= $2 AND (timestamp, messagehash) > ($3, encode($4, 'hex')) AND \
         (timestamp, messagehash) < ($5, encode($6, 'hex'))",
    pubsub_topic: "pubsubtopic = convert_from($8, 'UTF8') AND ",
    content_topic: "contenttopic = convert_from(topic, 'UTF8') AND \
         ($8::bytea IS NULL OR pubsubtopic = convert_from($8, 'UTF8')) AND ",
    keys: "SELECT timestamp, decode(messagehash, 'hex') FROM messages WHERE timestamp >= $1 AND timestamp <= $2 \
         AND messagehash = ANY(ARRAY(SELECT encode(hash, 'hex') FROM unnest($3::bytea[]) AS hash))",
    with_topics: "SELECT k.timestamp, k.hash FROM unnest($1::int8[], $2::bytea[]) AS k(timestamp, hash) \
         CROSS JOIN LATERAL (SELECT FROM messages m WHERE m.timestamp = k.timestamp \
         AND m.messagehash = encode(k.hash, 'hex') AND m.timestamp >= $3 AND m.timestamp <= $4 \
         AND ($5::bytea IS NULL OR m.pubsubtopic = convert_from($5, 'UTF8')) AND (cardinality($6::bytea[]) = 0 \
         OR m.contenttopic = ANY(ARRAY(SELECT convert_from(topic, 'UTF8') FROM unnest($6) AS topic))) LIMIT 1) AS found",
    bodies: "SELECT m.* FROM unnest($1::int8[], $2::bytea[]) AS k(timestamp, hash) CROSS JOIN LATERAL \
         (SELECT timestamp, decode(messagehash, 'hex'), convert_to(pubsubtopic, 'UTF8'), convert_to(contenttopic, 'UTF8'), \
         version::int8, coalesce(decode(meta, 'hex'), ''), coalesce(decode(payload, 'hex'), '') FROM messages \
         WHERE timestamp = k.timestamp AND messagehash = encode(k.hash, 'hex') AND timestamp >= $3 AND timestamp <= $4 \
         LIMIT 1) AS m",
    text_topics: true,
};
