//! The database URL of the command line (`--store-message-db-url`).

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::{PostgresUrl, PostgresUrlError};

/// Which archive to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseUrl {
    /// A segment log whose index is this SQLite file: `sqlite://levada.sqlite3` (relative to the working folder) or
    /// `sqlite:///var/lib/levada.sqlite3`.
    Sqlite(PathBuf),
    /// SQLite in memory: `sqlite://:memory:`.
    SqliteMemory,
    /// A PostgreSQL database: `postgres://USER:PASSWORD@HOST:PORT/DATABASE`. Its own form, when it is shown, leaves the password out.
    Postgres(PostgresUrl),
    /// The memory archive of [`crate::MEMORY_BYTES_MAX_DEFAULT`] bytes: `memory`.
    Memory,
}

/// Why a database URL was not understood. No variant repeats the URL, which may hold a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DatabaseUrlError {
    /// A PostgreSQL URL that its client does not read.
    #[error("the PostgreSQL URL is not understood; {SUPPORTED}")]
    PostgresInvalid,
    /// A PostgreSQL URL whose TLS parameters are not understood, or do not go together.
    #[error(
        "sslmode in the PostgreSQL URL is disable, prefer, require or verify-full, and sslrootcert=FILE goes with verify-full; {SUPPORTED}"
    )]
    PostgresTls,
    /// A SQLite URL that names no file.
    #[error("the database URL names no file after sqlite://; {SUPPORTED}")]
    PathMissing,
    /// A SQLite URL with a NUL byte, or with parameters.
    #[error(
        "the file name in the database URL may hold neither '?' nor a NUL byte, and takes no parameters; {SUPPORTED}"
    )]
    PathInvalid,
    /// Anything else.
    #[error("the database URL is of an unknown kind; {SUPPORTED}")]
    Unknown,
}

const SUPPORTED: &str = "use sqlite://FILE, sqlite:///ABSOLUTE/FILE, sqlite://:memory:, postgres://USER:PASSWORD@HOST:PORT/DATABASE or \
     memory for --store-message-db-url";

impl FromStr for DatabaseUrl {
    type Err = DatabaseUrlError;

    fn from_str(url: &str) -> Result<Self, Self::Err> {
        if url == "memory" {
            return Ok(Self::Memory);
        }
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            return url.parse().map(Self::Postgres).map_err(|error| match error {
                PostgresUrlError::Tls => DatabaseUrlError::PostgresTls,
                PostgresUrlError::Client(_) => DatabaseUrlError::PostgresInvalid,
            });
        }
        match url.strip_prefix("sqlite://").ok_or(DatabaseUrlError::Unknown)? {
            "" | "/" => Err(DatabaseUrlError::PathMissing),
            ":memory:" => Ok(Self::SqliteMemory),
            path if path.contains(['?', '\0']) => Err(DatabaseUrlError::PathInvalid),
            path => Ok(Self::Sqlite(PathBuf::from(path))),
        }
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(formatter, "sqlite://{}", path.display()),
            Self::SqliteMemory => formatter.write_str("sqlite://:memory:"),
            Self::Postgres(url) => write!(formatter, "{url}"),
            Self::Memory => formatter.write_str("memory"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DatabaseUrl, DatabaseUrlError};

    #[test]
    fn accepted_forms_round_trip() {
        for (text, expected) in [
            ("sqlite://levada.sqlite3", DatabaseUrl::Sqlite("levada.sqlite3".into())),
            ("sqlite:///abs/levada.sqlite3", DatabaseUrl::Sqlite("/abs/levada.sqlite3".into())),
            ("sqlite://:memory:", DatabaseUrl::SqliteMemory),
            ("memory", DatabaseUrl::Memory),
        ] {
            assert_eq!(text.parse(), Ok(expected.clone()));
            assert_eq!(expected.to_string(), text);
        }
    }

    #[test]
    fn a_password_is_not_shown() {
        let url: DatabaseUrl = "postgresql://waku:secret@db.example.org:5433/store".parse().unwrap();
        assert_eq!(url.to_string(), "postgres://waku@db.example.org:5433/store");
        assert!(!format!("{url:?}").contains("secret"));
    }

    #[test]
    fn refused_forms() {
        for (text, expected) in [
            ("postgres://user:secret@host:port/db", DatabaseUrlError::PostgresInvalid),
            ("postgresql://user:secret@host/db?unknown=secret", DatabaseUrlError::PostgresInvalid),
            ("postgres://user:secret@host/db?sslmode=verify", DatabaseUrlError::PostgresTls),
            ("sqlite://", DatabaseUrlError::PathMissing),
            ("sqlite:///", DatabaseUrlError::PathMissing),
            ("sqlite://a.db?mode=ro", DatabaseUrlError::PathInvalid),
            ("sqlite://a\0b", DatabaseUrlError::PathInvalid),
            ("sqlite:a.db", DatabaseUrlError::Unknown),
            ("Memory", DatabaseUrlError::Unknown),
            ("mysql://host/db", DatabaseUrlError::Unknown),
            ("", DatabaseUrlError::Unknown),
        ] {
            let error = text.parse::<DatabaseUrl>().unwrap_err();
            assert_eq!(error, expected, "{text}");
            assert!(error.to_string().contains("sqlite://FILE"));
            assert!(!error.to_string().contains("secret"));
        }
    }
}
