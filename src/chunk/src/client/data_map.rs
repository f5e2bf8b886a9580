//! The list of a file's chunks: what is needed to get the file back.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use levada_wire::autonomi::{Address, CHUNK_BYTES_MAX};
use serde::{Deserialize, Serialize};

/// The version of the format.
const VERSION: u32 = 1;

/// Bytes of the longest list that is read: that of a file of some 30 TB.
const MAP_BYTES_MAX: u64 = 512 << 20;

/// A file as its chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataMap {
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Bytes of every chunk but the last.
    pub chunk_bytes: usize,
    /// The chunks' addresses in order.
    pub chunks: Vec<Address>,
}

/// A list that cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MapError {
    /// The system refuses.
    #[error("cannot use the data map {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// It is none.
    #[error("{} is no data map: {reason}; name the file that `levada chunk put` wrote", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

/// The file's form: JSON.
#[derive(Serialize, Deserialize)]
struct Form {
    levada_data_map: u32,
    file_bytes: u64,
    chunk_bytes: usize,
    chunks: Vec<String>,
}

impl DataMap {
    /// Chunks that a file of `file_bytes` has.
    pub fn chunks_of(file_bytes: u64, chunk_bytes: usize) -> u64 {
        file_bytes.div_ceil(chunk_bytes as u64)
    }

    /// Bytes of the chunk of this number.
    pub fn bytes_of(file_bytes: u64, chunk_bytes: usize, number: u64) -> usize {
        let start = number.saturating_mul(chunk_bytes as u64);
        file_bytes.saturating_sub(start).min(chunk_bytes as u64) as usize
    }

    /// Reads a list from a file.
    ///
    /// # Errors
    /// [`MapError`] says what is wrong with it.
    pub fn read(path: &Path) -> Result<Self, MapError> {
        let failed = |source| MapError::Io { path: path.to_owned(), source };
        let wrong = |reason: String| MapError::Content { path: path.to_owned(), reason };
        if fs::metadata(path).map_err(failed)?.len() > MAP_BYTES_MAX {
            return Err(wrong(format!("it has more than {MAP_BYTES_MAX} bytes")));
        }
        let text = fs::read(path).map_err(failed)?;
        let form: Form = serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
        Self::from_form(form).map_err(wrong)
    }

    fn from_form(form: Form) -> Result<Self, String> {
        let Form { levada_data_map, file_bytes, chunk_bytes, chunks } = form;
        if levada_data_map != VERSION {
            return Err(format!("its version is {levada_data_map}, this program reads {VERSION}"));
        }
        if !(1..=CHUNK_BYTES_MAX).contains(&chunk_bytes) {
            return Err(format!("chunks of {chunk_bytes} bytes do not exist"));
        }
        if Self::chunks_of(file_bytes, chunk_bytes) != chunks.len() as u64 {
            return Err(format!("{} chunks do not make a file of {file_bytes} bytes", chunks.len()));
        }
        let address = |text: &String| {
            let mut address = [0; 32];
            hex::decode_to_slice(text, &mut address)
                .map_err(|_| "an address is not 64 hexadecimal digits".to_owned())?;
            Ok::<_, String>(address)
        };
        let chunks = chunks.iter().map(address).collect::<Result<_, _>>()?;
        Ok(Self { file_bytes, chunk_bytes, chunks })
    }

    /// Writes the list, whole or not at all.
    ///
    /// # Errors
    /// [`MapError::Io`].
    pub fn write(&self, path: &Path) -> Result<(), MapError> {
        let failed = |source| MapError::Io { path: path.to_owned(), source };
        let form = Form {
            levada_data_map: VERSION,
            file_bytes: self.file_bytes,
            chunk_bytes: self.chunk_bytes,
            chunks: self.chunks.iter().map(hex::encode).collect(),
        };
        let mut text = serde_json::to_vec_pretty(&form).map_err(|error| failed(error.into()))?;
        text.push(b'\n');
        let temporary = beside(path, "new");
        let written = fs::File::create(&temporary).and_then(|mut file| {
            file.write_all(&text)?;
            file.sync_all()
        });
        written.and_then(|()| fs::rename(&temporary, path)).map_err(failed)
    }
}

/// The path with another ending behind its own.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("map");
        for (file_bytes, chunks) in [(0, 0), (1, 1), (10, 1), (11, 2)] {
            let map = DataMap { file_bytes, chunk_bytes: 10, chunks: vec![[7; 32]; chunks] };
            map.write(&path).unwrap();
            assert_eq!(DataMap::read(&path).unwrap(), map);
        }
        assert_eq!(DataMap::bytes_of(11, 10, 0), 10);
        assert_eq!(DataMap::bytes_of(11, 10, 1), 1);
        assert_eq!(DataMap::bytes_of(11, 10, 2), 0);
    }

    #[test]
    fn what_is_no_list_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("map");
        let with = |version: u32, file_bytes: u64, chunk_bytes: usize, chunks: &str| {
            format!(
                "{{\"levada_data_map\":{version},\"file_bytes\":{file_bytes},\"chunk_bytes\":{chunk_bytes},\"chunks\":{chunks}}}"
            )
        };
        for (text, word) in [
            ("not json".to_owned(), "expected"),
            (with(2, 0, 1, "[]"), "version"),
            (with(1, 0, 0, "[]"), "do not exist"),
            (with(1, 9, 4_194_305, "[\"00\"]"), "do not exist"),
            (with(1, u64::MAX, 1, "[]"), "do not make"),
            (with(1, 1, 1, "[\"00\"]"), "hexadecimal"),
        ] {
            fs::write(&path, text).unwrap();
            let error = DataMap::read(&path).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
