//! Which chunks of a file are on their majority already: so that an interrupted upload goes on where it ended.
//!
//! One line about the file, one per peer, then one per chunk as it is stored. A line that a crash cut off is a chunk that is sent
//! once more. Who resumes names the same peers; one that is away then does no harm, another node in its place does: what it had
//! is lost.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use levada_wire::autonomi::Address;

use crate::transport::PeerId;

/// The journal of one upload.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: File,
    stored: HashMap<u64, Address>,
}

/// What an upload must have in common with the one it continues.
pub(super) fn title(metadata: &fs::Metadata, chunk_bytes: usize, wanted: usize) -> String {
    let changed = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let changed_ns = changed.map_or(0, |since| since.as_nanos());
    format!("levada-put-2 {} {changed_ns} {chunk_bytes} {wanted}", metadata.len())
}

/// Addresses of peers and who answered there, as far as that is known.
type Names = BTreeMap<String, Option<PeerId>>;

impl Journal {
    /// Opens the journal at `path`; what it holds counts if its title is this one and its peers are these, else it begins anew.
    pub fn open(path: &Path, title: &str, peers: &[(String, Option<PeerId>)]) -> io::Result<Self> {
        let text = match fs::read(path) {
            Ok(text) => String::from_utf8_lossy(&text).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        let names: Names = peers.iter().cloned().collect();
        let mut lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
        let has_title = lines.next() == Some(title);
        let before: Names = lines.clone().filter_map(peer).collect();
        let is_same = has_title && agree(&before, &names);
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
        let mut file = OpenOptions::new().append(true).open(path)?;
        let is_new = |address: &String, id: &Option<PeerId>| !is_same || (id.is_some() && before[address].is_none());
        let news = names.iter().filter(|(address, id)| is_new(address, id));
        let news: String = news.map(|(address, id)| line_of(address, id.as_ref())).collect();
        file.write_all(news.as_bytes())?;
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

/// The same addresses, and at none of them another node than before.
fn agree(before: &Names, now: &Names) -> bool {
    let is_other = |address: &String, id: &PeerId| before[address].is_some_and(|before| before != *id);
    before.keys().eq(now.keys()) && !now.iter().any(|(address, id)| id.is_some_and(|id| is_other(address, &id)))
}

fn line_of(address: &str, id: Option<&PeerId>) -> String {
    format!("peer {address} {}\n", id.map_or("-".to_owned(), PeerId::to_string))
}

fn peer(line: &str) -> Option<(String, Option<PeerId>)> {
    let (address, digits) = line.strip_prefix("peer ")?.split_once(' ')?;
    let mut id = [0; 32];
    Some((address.to_owned(), hex::decode_to_slice(digits, &mut id).ok().map(|()| PeerId(id))))
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

    fn peers(first: Option<u8>, second: Option<u8>) -> [(String, Option<PeerId>); 2] {
        [("tcp://a:1".to_owned(), first), ("tcp://b:2".to_owned(), second)]
            .map(|(address, id)| (address, id.map(|id| PeerId([id; 32]))))
    }

    #[test]
    fn a_journal_goes_on_after_a_cut_and_begins_anew_for_another_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let peers = peers(Some(1), None);
        let mut journal = Journal::open(&path, "file a", &peers).unwrap();
        journal.add(3, &[1; 32]).unwrap();
        journal.add(5, &[2; 32]).unwrap();
        drop(journal);
        let bytes = fs::metadata(&path).unwrap().len();
        OpenOptions::new().write(true).open(&path).unwrap().set_len(bytes - 2).unwrap();
        let mut journal = Journal::open(&path, "file a", &peers).unwrap();
        assert!(journal.holds(3, &[1; 32]) && !journal.holds(5, &[2; 32]) && !journal.holds(3, &[2; 32]));
        journal.add(7, &[4; 32]).unwrap();
        let journal = Journal::open(&path, "file a", &peers).unwrap();
        assert!(journal.holds(3, &[1; 32]) && journal.holds(7, &[4; 32]));
        let journal = Journal::open(&path, "file b", &peers).unwrap();
        assert!(!journal.holds(3, &[1; 32]));
        journal.remove().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn a_peer_may_be_away_but_not_another_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let goes_on = |peers: &[(String, Option<PeerId>)]| {
            let mut journal = Journal::open(&path, "file", peers).unwrap();
            let goes_on = journal.holds(1, &[1; 32]);
            journal.add(1, &[1; 32]).unwrap();
            goes_on
        };
        assert!(!goes_on(&peers(Some(1), None)));
        assert!(goes_on(&peers(None, None)));
        assert!(goes_on(&peers(Some(1), Some(2))), "the second is known from here on");
        assert!(!goes_on(&peers(Some(1), Some(3))), "and was replaced");
        assert!(goes_on(&peers(None, Some(3))));
        assert!(!goes_on(&peers(Some(9), Some(3))));
        assert!(!goes_on(&peers(Some(9), Some(3))[..1]), "a peer was left out");
    }
}
