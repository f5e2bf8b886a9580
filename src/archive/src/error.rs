//! What can go wrong in an archive, each with the sentence that its operator or its asker reads.

use crate::{QUERY_CONTENT_TOPICS_MAX, QUERY_HASHES_MAX, QUERY_TOPIC_BYTES_MAX};

/// An error of an archive. `path` is the database file, `folder` the folder it lies in.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the sentence of each variant says what it and its fields are")]
pub enum ArchiveError {
    #[error(
        "the archive {path} is in use by another Levada node{holder}; stop that node, or give this one \
         another file with --store-message-db-url"
    )]
    Locked { path: String, holder: String },
    #[error("another program kept the archive {path} locked for {seconds} s; end its transaction and try again")]
    Busy { path: String, seconds: u64 },
    #[error(
        "the folder {folder} of the archive does not exist; create it, or name another with --store-message-db-url"
    )]
    FolderMissing { folder: String },
    #[error(
        "the folder {folder} of the archive cannot be written to; change its permissions, or name another \
         with --store-message-db-url"
    )]
    FolderNotWritable { folder: String },
    #[error(
        "the archive {path} cannot be written to; change its permissions, or name another file with \
         --store-message-db-url"
    )]
    FileReadOnly { path: String },
    #[error("{path} is a folder, not an archive; name a file in it with --store-message-db-url")]
    PathIsFolder { path: String },
    #[error("{path} is not a SQLite database; move it away, or name another file with --store-message-db-url")]
    NotADatabase { path: String },
    #[error(
        "{path} is a SQLite database, but not a Levada archive ({reason}); name another file with \
         --store-message-db-url"
    )]
    NotAnArchive { path: String, reason: String },
    #[error(
        "{path} is an archive of nwaku; take its messages over with levada archive import --from={path}, or name another \
         file with --store-message-db-url"
    )]
    NwakuArchive { path: String },
    #[error("there is no archive at {path}; check its name")]
    NotFound { path: String },
    #[error(
        "the archive {path} has schema version {found}, and this build knows versions up to {supported}; use \
         a newer Levada, or name another file with --store-message-db-url"
    )]
    NewerSchema { path: String, found: i64, supported: i64 },
    #[error(
        "the archive {path} is damaged ({source}); restore it from a copy, or move it away to start an empty \
         one"
    )]
    Corrupt { path: String, source: rusqlite::Error },
    #[error("the disk of the archive {path} is full; free some space")]
    DiskFull { path: String },
    #[error(
        "the file system of the archive {path} does not support a write-ahead log; put the archive on a local disk"
    )]
    WalRefused { path: String },
    #[error("the system refuses io_uring ({source}); use --store-io=auto or --store-io=pwritev")]
    IoUringRefused { source: std::io::Error },
    #[error(
        "the operating system failed to read or write the archive {path} ({source}); check the disk and the \
         system log"
    )]
    Io { path: String, source: Box<dyn std::error::Error + Send + Sync> },
    #[error(
        "SQLite refused an operation on the archive {path} ({source}); please report this with the version of \
         Levada"
    )]
    Sqlite { path: String, source: rusqlite::Error },
    #[error(
        "the database {location} of the archive cannot be used ({reason}); check the server, and \
         --store-message-db-url"
    )]
    Database { location: String, reason: String },
    #[error(
        "the database {location} holds an archive of nwaku (schema version {found}); to share it with nwaku's nodes use \
         --store-message-db-schema=nwaku, else give this node a database of its own with --store-message-db-url"
    )]
    NwakuDatabase { location: String, found: i32 },
    #[error(
        "the database {location} holds an archive of nwaku of the old schema version {found}, and versions 7 and 8 are supported; \
         start nwaku 0.34 or newer on it once, which brings it up to date"
    )]
    OldNwakuDatabase { location: String, found: i32 },
    #[error(
        "the database {location} holds an archive of nwaku of schema version {found}, and this build knows 7 and 8; use a \
         newer Levada, or give this node a database of its own with --store-message-db-url"
    )]
    NewerNwakuDatabase { location: String, found: i32 },
    #[error(
        "the database {location} holds a Levada archive and no tables of nwaku's; use --store-message-db-schema=levada, or \
         name an empty database with --store-message-db-url"
    )]
    LevadaDatabase { location: String },
    #[error(
        "the database {location} is away, and the {bytes_max} bytes that may wait for it are used up; bring it back, or \
         raise --store-backlog-bytes"
    )]
    BacklogFull { location: String, bytes_max: u64 },
    #[error("the cursor names no stored message; start again without a cursor")]
    CursorNotFound,
    #[error(
        "the query names {count} message hashes, and at most {QUERY_HASHES_MAX} are allowed; ask in several \
         queries"
    )]
    TooManyHashes { count: usize },
    #[error(
        "the query names {count} content topics, and at most {QUERY_CONTENT_TOPICS_MAX} are allowed; ask in \
         several queries"
    )]
    TooManyContentTopics { count: usize },
    #[error(
        "a topic of the query is {bytes} bytes long, and at most {QUERY_TOPIC_BYTES_MAX} are allowed; check \
         its spelling"
    )]
    TopicTooLong { bytes: usize },
}
