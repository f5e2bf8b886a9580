//! Which chunks of a file are on their majority already: so that an interrupted upload goes on where it ended.
//!
//! One line about the file and the peers, then a line per chunk as it is stored. A line that a crash cut off is a chunk that
//! is sent once more.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use levada_wire::autonomi::Address;

/// The journal of one upload.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: File,
    stored: HashMap<u64, Address>,
}

/// What an upload must have in common with the one it continues.
pub(super) fn title(metadata: &fs::Metadata, chunk_bytes: usize, wanted: usize, peers: &str) -> String {
    let changed = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let changed_ns = changed.map_or(0, |since| since.as_nanos());
    format!("levada-put-1 {} {changed_ns} {chunk_bytes} {wanted} {peers}", metadata.len())
}

impl Journal {
    /// Opens the journal at `path`; what it holds counts if its title is this one, else it begins anew.
    pub fn open(path: &Path, title: &str) -> io::Result<Self> {
        let text = match fs::read(path) {
            Ok(text) => String::from_utf8_lossy(&text).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        let mut lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
        let is_same = lines.next() == Some(title);
        let stored = if is_same { lines.filter_map(entry).collect() } else { HashMap::new() };
        let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        if is_same {
            // A cut line must not run into the next one.
            let whole = text.rfind('\n').map_or(0, |end| end + 1);
            file.set_len(whole as u64)?;
        } else {
            file.set_len(0)?;
            writeln!(file, "{title}")?;
        }
        let file = OpenOptions::new().append(true).open(path)?;
        Ok(Self { path: path.to_owned(), file, stored })
    }

    /// The chunk of this number has this address and is on its majority.
    pub fn holds(&self, number: u64, address: &Address) -> bool {
        self.stored.get(&number) == Some(address)
    }

    /// A chunk has reached its majority.
    pub fn add(&mut self, number: u64, address: &Address) -> io::Result<()> {
        self.file.write_all(format!("{number} {}\n", hex::encode(address)).as_bytes())?;
        self.stored.insert(number, *address);
        Ok(())
    }

    /// The upload is complete.
    pub fn remove(self) -> io::Result<()> {
        fs::remove_file(self.path)
    }
}

fn entry(line: &str) -> Option<(u64, Address)> {
    let (number, digits) = line.split_once(' ')?;
    let mut address = [0; 32];
    hex::decode_to_slice(digits, &mut address).ok()?;
    Some((number.parse().ok()?, address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_goes_on_after_a_cut_and_begins_anew_for_another_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let mut journal = Journal::open(&path, "file a").unwrap();
        journal.add(3, &[1; 32]).unwrap();
        journal.add(5, &[2; 32]).unwrap();
        drop(journal);
        let bytes = fs::metadata(&path).unwrap().len();
        OpenOptions::new().write(true).open(&path).unwrap().set_len(bytes - 2).unwrap();
        let mut journal = Journal::open(&path, "file a").unwrap();
        assert!(journal.holds(3, &[1; 32]) && !journal.holds(5, &[2; 32]) && !journal.holds(3, &[2; 32]));
        journal.add(7, &[4; 32]).unwrap();
        let journal = Journal::open(&path, "file a").unwrap();
        assert!(journal.holds(3, &[1; 32]) && journal.holds(7, &[4; 32]));
        let journal = Journal::open(&path, "file b").unwrap();
        assert!(!journal.holds(3, &[1; 32]));
        journal.remove().unwrap();
        assert!(!path.exists());
    }
}
