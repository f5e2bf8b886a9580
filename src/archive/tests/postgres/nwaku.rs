//! A database that nodes of nwaku and ours share. nwaku's part is played by the statements that it runs, over connections of their own.

use std::fmt::Write;
use std::sync::Barrier;

use levada_archive::{Archive, ArchiveError, PostgresSchema, PostgresUrl, Retention};

use crate::sample::{CONTENT_TOPIC, Node, PUBSUB_TOPIC, distance_ns, hash_of, payload_of};
use crate::server::{name_of, shared};

const HOUR_S: u64 = 3_600;

/// The tables as nwaku's migrations leave them, in version 7.
const VERSION_7: &str = "
    CREATE TABLE messages (
        pubsubTopic VARCHAR NOT NULL, contentTopic VARCHAR NOT NULL, payload VARCHAR, version INTEGER NOT NULL,
        timestamp BIGINT NOT NULL, id VARCHAR NOT NULL, messageHash VARCHAR NOT NULL, meta VARCHAR,
        CONSTRAINT messageIndex PRIMARY KEY (messageHash, timestamp)
    ) PARTITION BY RANGE (timestamp);
    CREATE TABLE messages_lookup (
        timestamp BIGINT NOT NULL, messageHash VARCHAR NOT NULL,
        CONSTRAINT messageIndexLookupTable PRIMARY KEY (messageHash, timestamp)
    );
    CREATE INDEX idx_messages_messagehash ON messages (messagehash);
    CREATE INDEX idx_messages_timestamp ON messages (timestamp);
    CREATE INDEX idx_messages_lookup_messagehash ON messages_lookup (messagehash);
    CREATE INDEX idx_messages_lookup_timestamp ON messages_lookup (timestamp);
    CREATE INDEX idx_query_pubsubtopic ON messages (pubsubTopic);
    CREATE INDEX idx_query_contenttopic ON messages (contentTopic);
    CREATE TABLE version (version INTEGER NOT NULL);
    INSERT INTO version (version) VALUES (7);";

/// What brings them to version 8; the partitions of the new table follow when nwaku looks after its partitions next.
const TO_VERSION_8: &str = "
    DROP TABLE messages_lookup;
    CREATE TABLE messages_lookup (
        timestamp BIGINT NOT NULL, messageHash VARCHAR NOT NULL,
        CONSTRAINT messageIndexLookupTable PRIMARY KEY (messageHash, timestamp)
    ) PARTITION BY RANGE (timestamp);
    UPDATE version SET version = 8 WHERE version = 7;";

/// A database of nwaku's.
struct Nwaku {
    url: PostgresUrl,
    name: String,
}

impl Nwaku {
    fn new() -> Self {
        let url = shared().create_database();
        let nwaku = Self { name: name_of(&url), url };
        nwaku.sql(VERSION_7);
        nwaku
    }

    fn sql(&self, statement: &str) -> String {
        shared().sql(&self.name, statement)
    }

    fn node(&self) -> Node {
        Node::of_schema(&self.url, PostgresSchema::Nwaku).unwrap()
    }

    /// Makes a partition from one second to another, in nwaku's four steps.
    fn add_partition(&self, from_s: u64, to_s: u64) {
        let name = format!("messages_{from_s}_{to_s}");
        let (from, to) = (format!("{from_s}000000000"), format!("{to_s}000000000"));
        for step in [
            format!("CREATE TABLE IF NOT EXISTS {name} (LIKE messages INCLUDING DEFAULTS INCLUDING CONSTRAINTS);"),
            format!(
                "ALTER TABLE {name} ADD CONSTRAINT {name}_by_range_check CHECK (timestamp >= {from} AND timestamp < {to});"
            ),
            format!("ALTER TABLE messages ATTACH PARTITION {name} FOR VALUES FROM ({from}) TO ({to});"),
            format!("ALTER TABLE {name} DROP CONSTRAINT {name}_by_range_check;"),
        ] {
            self.sql(&step);
        }
    }

    /// Writes some messages as nwaku does: two statements for each, which commit by themselves.
    fn write(&self, numbers: impl Iterator<Item = u64>) {
        let mut statements = String::new();
        for number in numbers {
            let (hash, payload) = (hex(&hash_of(number)), hex(&payload_of(number)));
            let timestamp = number as i64 * distance_ns(PostgresSchema::Nwaku);
            writeln!(
                statements,
                "INSERT INTO messages (id, messageHash, pubsubTopic, contentTopic, payload, version, timestamp, meta) \
                 VALUES ('0', '{hash}', '{PUBSUB_TOPIC}', '{CONTENT_TOPIC}', '{payload}', 0, {timestamp}, \
                 CASE WHEN '' = '' THEN NULL ELSE '' END) ON CONFLICT DO NOTHING; \
                 INSERT INTO messages_lookup (messageHash, timestamp) VALUES ('{hash}', {timestamp}) \
                 ON CONFLICT DO NOTHING;"
            )
            .unwrap();
        }
        self.sql(&format!("SET synchronous_commit = on; {statements}"));
    }

    /// The rows of a page as nwaku asks for them, behind a cursor that it looks up first.
    fn page(&self, cursor: Option<u64>, limit: u64) -> Vec<String> {
        let mut behind = String::new();
        if let Some(cursor) = cursor {
            let hash = hex(&hash_of(cursor));
            let time = self.sql(&format!("SELECT timestamp FROM messages_lookup WHERE messageHash = '{hash}'"));
            behind = format!("(timestamp, messageHash) > ({}, '{hash}') AND ", time.trim());
        }
        let page = self.sql(&format!(
            "SELECT messageHash, pubsubTopic, contentTopic, payload, version, timestamp, meta FROM messages \
             WHERE {behind}contentTopic IN ('{CONTENT_TOPIC}') AND pubsubTopic = '{PUBSUB_TOPIC}' AND timestamp >= 0 \
             ORDER BY timestamp ASC, messageHash ASC LIMIT {limit}"
        ));
        page.lines().map(str::to_owned).collect()
    }

    /// The messages of some hashes as nwaku asks for them, the newest first.
    fn by_hash(&self, numbers: &[u64]) -> Vec<String> {
        let hashes: Vec<String> = numbers.iter().map(|number| format!("'{}'", hex(&hash_of(*number)))).collect();
        let hashes = hashes.join(",");
        let found = self.sql(&format!(
            "WITH min_timestamp AS (SELECT MIN(timestamp) AS min_ts FROM messages_lookup WHERE messagehash IN ({hashes})) \
             SELECT m.messageHash, pubsubTopic, contentTopic, payload, version, m.timestamp, meta FROM messages m \
             INNER JOIN messages_lookup l ON m.timestamp = l.timestamp AND m.messagehash = l.messagehash \
             WHERE l.timestamp >= (SELECT min_ts FROM min_timestamp) AND l.messagehash IN ({hashes}) \
             ORDER BY m.timestamp DESC, m.messagehash DESC LIMIT 100"
        ));
        found.lines().map(str::to_owned).collect()
    }

    /// The names of all partitions of a table.
    fn partitions(&self, table: &str) -> Vec<String> {
        let names = self.sql(&format!(
            "SELECT child.relname FROM pg_inherits JOIN pg_class child ON inhrelid = child.oid \
             WHERE inhparent = '{table}'::regclass ORDER BY length(child.relname), 1"
        ));
        names.lines().map(str::to_owned).collect()
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// A row as `psql` shows what nwaku stores.
fn row(number: u64) -> String {
    let timestamp = number as i64 * distance_ns(PostgresSchema::Nwaku);
    let (hash, payload) = (hex(&hash_of(number)), hex(&payload_of(number)));
    format!("{hash}|{PUBSUB_TOPIC}|{CONTENT_TOPIC}|{payload}|0|{timestamp}|")
}

fn names(prefix: &str, hours: impl Iterator<Item = u64>) -> Vec<String> {
    hours.map(|hour| format!("{prefix}_{}_{}", hour * HOUR_S, (hour + 1) * HOUR_S)).collect()
}

#[test]
#[ignore = "needs PostgreSQL; tools/test --part postgres runs it"]
fn each_reads_what_the_other_wrote() {
    let nwaku = Nwaku::new();
    (0..4).for_each(|hour| nwaku.add_partition(hour * HOUR_S, (hour + 1) * HOUR_S));
    nwaku.write(0..25);
    let mut node = nwaku.node();
    assert!(node.contents().into_iter().eq(0..25));
    assert_eq!(node.insert(20..55).unwrap().stored, 30);
    assert_eq!(node.waiting(), 0);
    assert!(node.contents().into_iter().eq(0..55));
    // Across the border between rows of one and rows of the other.
    assert_eq!(nwaku.page(None, 100), (0..55).map(row).collect::<Vec<_>>());
    assert_eq!(nwaku.page(Some(22), 5), (23..28).map(row).collect::<Vec<_>>());
    assert_eq!(nwaku.page(Some(40), 5), (41..46).map(row).collect::<Vec<_>>());
    assert_eq!(nwaku.by_hash(&[3, 30, 54, 99]), [54, 30, 3].map(row));
    let lookup = "SELECT count(*), count(DISTINCT messageHash) FROM messages_lookup";
    assert_eq!(nwaku.sql(lookup), "55|55\n");
    nwaku.write(50..60);
    assert!(node.contents().into_iter().eq(0..60), "where we made the partition, nwaku writes too");
    assert_eq!(node.insert(50..60).unwrap().duplicates, 10);
}

/// nwaku's first partition begins when nwaku does, and its nodes may be stopped between two of the four steps.
#[test]
#[ignore = "needs PostgreSQL; tools/test --part postgres runs it"]
fn partitions_fit_between_nwakus() {
    let nwaku = Nwaku::new();
    nwaku.add_partition(HOUR_S + 1_700, 2 * HOUR_S);
    // Left over by a node that was killed: made, bounded, not attached.
    let name = format!("messages_{}_{}", 2 * HOUR_S, 3 * HOUR_S);
    nwaku.sql(&format!(
        "CREATE TABLE {name} (LIKE messages INCLUDING DEFAULTS INCLUDING CONSTRAINTS); \
         ALTER TABLE {name} ADD CONSTRAINT {name}_by_range_check CHECK (timestamp >= {}000000000);",
        2 * HOUR_S
    ));
    let mut node = nwaku.node();
    assert_eq!(node.insert(0..30).unwrap().stored, 30);
    assert_eq!(node.waiting(), 0);
    assert!(node.contents().into_iter().eq(0..30));
    let expected = ["messages_0_3600", "messages_3600_5300", "messages_5300_7200", &name, "messages_10800_14400"];
    assert_eq!(nwaku.partitions("messages"), expected, "and one ahead");
    let left = "SELECT count(*) FROM pg_constraint WHERE conname LIKE '%by_range_check'";
    assert_eq!(nwaku.sql(left), "0\n");
}

/// Three nodes of nwaku's kind and three of ours write the same messages into an empty database, across its hours.
#[test]
#[ignore = "needs PostgreSQL; tools/test --part postgres runs it"]
fn both_kinds_write_the_same_at_once() {
    const WRITERS: u64 = 3;
    const BATCHES: u64 = 10;
    let nwaku = Nwaku::new();
    let mut nodes: Vec<Node> = (0..WRITERS).map(|_| nwaku.node()).collect();
    let barrier = Barrier::new(2 * WRITERS as usize);
    std::thread::scope(|scope| {
        for (index, node) in (0..).zip(&mut nodes) {
            let (nwaku, barrier) = (&nwaku, &barrier);
            scope.spawn(move || {
                barrier.wait();
                for batch in 0..BATCHES {
                    let numbers = (0..8).map(|place| batch * 8 + (place * (2 * index + 1) + index) % 8);
                    let outcome = node.insert(numbers).unwrap();
                    assert_eq!(outcome.stored + outcome.duplicates, 8);
                    assert_eq!(node.waiting(), 0, "nothing failed");
                }
            });
            scope.spawn(move || {
                barrier.wait();
                for batch in 0..BATCHES {
                    // nwaku writes no message before its hour has a partition.
                    let end = nwaku.partitions("messages").len() as u64 * 10;
                    nwaku.write((batch * 8..batch * 8 + 8).filter(|number| *number < end));
                }
            });
        }
    });
    assert!(nodes[0].contents().into_iter().eq(0..8 * BATCHES));
    assert_eq!(nwaku.page(None, 1_000), (0..8 * BATCHES).map(row).collect::<Vec<_>>());
    let hours = 8 * BATCHES / 10 + 1;
    assert_eq!(nwaku.partitions("messages"), names("messages", 0..hours));
}

/// A node of nwaku's next version starts beside ours.
#[test]
#[ignore = "needs PostgreSQL; tools/test --part postgres runs it"]
fn a_database_comes_to_version_8_under_us() {
    let nwaku = Nwaku::new();
    let mut node = nwaku.node();
    node.insert(0..25).unwrap();
    nwaku.sql(TO_VERSION_8);
    assert_eq!(node.insert(20..45).unwrap().stored, 20);
    assert_eq!(node.waiting(), 0, "nothing failed");
    assert!(node.contents().into_iter().eq(0..45));
    assert_eq!(nwaku.partitions("messages"), names("messages", 0..6));
    assert_eq!(nwaku.partitions("messages_lookup"), names("lookup", 2..6), "those that we wrote to");
    assert_eq!(nwaku.by_hash(&[21, 30, 44]), [44, 30, 21].map(row), "with what was there before");
    node.archive = None;
    node.start().unwrap();
    assert_eq!(node.insert(40..62).unwrap().stored, 17);
    let retention = Retention { timestamp_min_ns: Some(4 * HOUR_S as i64 * 1_000_000_000), ..Retention::default() };
    while node.archive().retain(&retention).unwrap().unfinished {}
    assert!(node.contents().into_iter().eq(40..62));
    assert_eq!(nwaku.partitions("messages"), names("messages", 4..8));
    assert_eq!(nwaku.partitions("messages_lookup"), names("lookup", 4..8));
}

#[test]
#[ignore = "needs PostgreSQL; tools/test --part postgres runs it"]
fn dropped_hours_take_what_is_looked_up_along() {
    let nwaku = Nwaku::new();
    let (mut first, mut second) = (nwaku.node(), nwaku.node());
    first.insert(0..40).unwrap();
    let size = || nwaku.sql("SELECT pg_database_size(current_database())").trim().parse::<u64>().unwrap();
    let before = size();
    let retention = Retention { messages_max: Some(15), ..Retention::default() };
    while first.archive().retain(&retention).unwrap().unfinished {}
    assert!(first.contents().into_iter().eq(20..40));
    assert!(size() < before);
    assert_eq!(nwaku.sql("SELECT count(*) FROM messages_lookup"), "20\n");
    // The second node knows nothing of it.
    assert_eq!(second.insert([5]).unwrap().stored, 1);
    assert_eq!(second.waiting(), 0);
    assert!(second.contents().into_iter().eq([5].into_iter().chain(20..40)));
}

/// What an operator reads who takes the wrong layout, or an old database.
#[test]
#[ignore = "needs PostgreSQL; tools/test --part postgres runs it"]
fn the_wrong_tables_are_named() {
    let nwaku = Nwaku::new();
    let refused = |url: &PostgresUrl, schema| Node::of_schema(url, schema).err().unwrap();
    let error = refused(&nwaku.url, PostgresSchema::Levada);
    assert!(matches!(error, ArchiveError::NwakuDatabase { found: 7, .. }), "{error}");
    assert!(error.to_string().contains("--store-message-db-schema=nwaku"));
    nwaku.sql("UPDATE version SET version = 6");
    let error = refused(&nwaku.url, PostgresSchema::Nwaku);
    assert!(matches!(error, ArchiveError::OldNwakuDatabase { found: 6, .. }), "{error}");
    nwaku.sql("UPDATE version SET version = 9");
    let error = refused(&nwaku.url, PostgresSchema::Nwaku);
    assert!(matches!(error, ArchiveError::NewerNwakuDatabase { found: 9, .. }), "{error}");
    let url = shared().create_database();
    drop(Node::of_schema(&url, PostgresSchema::Levada).unwrap());
    let error = refused(&url, PostgresSchema::Nwaku);
    assert!(matches!(error, ArchiveError::LevadaDatabase { .. }), "{error}");
}

/// In an empty database we make what nwaku would have found made by itself.
#[test]
#[ignore = "needs PostgreSQL; tools/test --part postgres runs it"]
fn an_empty_database_becomes_one_of_nwakus() {
    let url = shared().create_database();
    let made = Nwaku { name: name_of(&url), url };
    let mut node = made.node();
    node.insert(0..5).unwrap();
    let made_by_nwaku = Nwaku::new();
    let columns = "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns WHERE table_schema \
                   = 'public' AND table_name IN ('messages', 'messages_lookup', 'version') ORDER BY 1, 2";
    assert_eq!(made.sql(columns), made_by_nwaku.sql(columns));
    let indexes = "SELECT indexdef FROM pg_indexes WHERE tablename IN ('messages', 'messages_lookup') ORDER BY 1";
    assert_eq!(made.sql(indexes), made_by_nwaku.sql(indexes));
    assert_eq!(made.sql("SELECT version FROM version"), "7\n");
    made.write(5..9);
    assert!(node.contents().into_iter().eq(0..9));
}
