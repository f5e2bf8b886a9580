//! When the node was last online, so that it knows after the next start which messages it has missed.
//!
//! The time is in a small file of one line, nanoseconds since the Unix epoch. It lies beside the archive that it is about: `P.online` for
//! the index `P`. That of a database which several nodes share is in the working folder, as their local logs are: each node was online at
//! other times. An archive in memory has none, since after a start it has nothing, whenever the node was online.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use levada_archive::DatabaseUrl;

/// The file of a node whose archive is a shared database.
const SHARED_FILE: &str = "levada.online";

/// More of a file is not read; a time has twenty characters.
const FILE_BYTES_MAX: u64 = 64;

/// Where the time is kept.
#[derive(Debug, Clone)]
pub struct LastOnline {
    path: PathBuf,
}

impl LastOnline {
    /// The file for an archive; `None` for one that does not outlive the node.
    pub fn of(archive: &DatabaseUrl) -> Option<Self> {
        let path = match archive {
            DatabaseUrl::Sqlite(index) => {
                let mut path = index.as_os_str().to_owned();
                path.push(".online");
                path.into()
            }
            DatabaseUrl::Postgres(_) => SHARED_FILE.into(),
            DatabaseUrl::SqliteMemory | DatabaseUrl::Memory => return None,
        };
        Some(Self { path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The time, in nanoseconds since the Unix epoch; `None` if there is no file.
    ///
    /// # Errors
    /// Those of the file, and [`io::ErrorKind::InvalidData`] if it holds no time.
    pub fn read(&self) -> io::Result<Option<i64>> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut text = String::new();
        file.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
        text.trim().parse().map(Some).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    /// Replaces the time, wholly or not at all.
    ///
    /// # Errors
    /// Those of the file.
    pub fn write(&self, unix_ns: i64) -> io::Result<()> {
        let mut next = self.path.as_os_str().to_owned();
        next.push(".next");
        let next = PathBuf::from(next);
        let mut file = File::create(&next)?;
        writeln!(file, "{unix_ns}")?;
        file.sync_all()?;
        std::fs::rename(next, &self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(url: &str) -> Option<LastOnline> {
        LastOnline::of(&url.parse().expect("a database URL"))
    }

    #[test]
    fn it_lies_beside_what_outlives_the_node() {
        let path = |url| of(url).map(|last| last.path().display().to_string());
        assert_eq!(path("sqlite:///a/b.sqlite3").as_deref(), Some("/a/b.sqlite3.online"));
        assert_eq!(path("postgres://u:p@h:1/d").as_deref(), Some("levada.online"));
        assert_eq!((path("sqlite://:memory:"), path("memory")), (None, None));
    }

    #[test]
    fn what_is_written_is_read_and_what_is_no_time_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let last = of(&format!("sqlite://{}/a", folder.path().display())).expect("a file");
        assert_eq!(last.read().expect("no file is no fault"), None);
        for time in [1_700_000_000_000_000_000, 0, i64::MIN, i64::MAX] {
            last.write(time).expect("written");
            assert_eq!(last.read().expect("read"), Some(time));
        }
        for text in ["", "yesterday", "12 34", "9223372036854775808", &"1".repeat(100)] {
            std::fs::write(last.path(), text).expect("written");
            assert_eq!(last.read().expect_err(text).kind(), io::ErrorKind::InvalidData, "{text}");
        }
        std::fs::write(last.path(), [0xff, 0xfe]).expect("written");
        assert!(last.read().is_err());
    }
}
