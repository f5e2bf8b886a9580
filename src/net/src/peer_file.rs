//! The file in which peers survive a restart: one multiaddress with a peer id a line, of whom was heard last first.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use libp2p::Multiaddr;

use crate::config::peer_address;

/// More of a file is not read.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Where the known peers are written to (`--peer-persistence`).
#[derive(Debug, Clone)]
pub(crate) struct PeerFile {
    path: PathBuf,
}

impl PeerFile {
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// The addresses in the file, at most `addresses_max`; none if there is no file. Lines that are no address of a peer are passed over,
    /// and counted in the log.
    pub(crate) fn read(&self, addresses_max: usize) -> io::Result<Vec<Multiaddr>> {
        let file = match std::fs::File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut bytes = Vec::new();
        file.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let (mut addresses, mut others) = (Vec::new(), 0_usize);
        for line in lines.take(addresses_max) {
            match peer_address(line) {
                Ok(address) => addresses.push(address),
                Err(_) => others += 1,
            }
        }
        if others > 0 {
            tracing::warn!(file = %self.path.display(), lines = others, "lines that are no peer addresses are passed over");
        }
        Ok(addresses)
    }

    /// Replaces the file, wholly or not at all.
    pub(crate) fn write(&self, addresses: &[Multiaddr]) -> io::Result<()> {
        let next = self.path.with_extension("next");
        let mut file = io::BufWriter::new(std::fs::File::create(&next)?);
        for address in addresses {
            writeln!(file, "{address}")?;
        }
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        std::fs::rename(next, &self.path)
    }
}

#[cfg(test)]
mod tests {
    use libp2p::PeerId;

    use super::*;

    #[test]
    fn what_is_written_is_read_and_what_is_no_address_is_passed_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = PeerFile::new(&folder.path().join("peers.txt"));
        assert!(file.read(10).expect("no file is no fault").is_empty());
        let address = |port: u16| -> Multiaddr {
            format!("/ip4/192.0.2.1/tcp/{port}/p2p/{}", PeerId::random()).parse().expect("a multiaddress")
        };
        let addresses = vec![address(1), address(2)];
        file.write(&addresses).expect("written");
        assert_eq!(file.read(10).expect("read"), addresses);
        assert_eq!(file.read(1).expect("read"), addresses[..1]);
        let mut bytes = format!("\n  {}\nnonsense\n/ip4/1.2.3.4\n", addresses[0]).into_bytes();
        bytes.extend([0xff, 0xfe, b'\n']);
        std::fs::write(&file.path, bytes).expect("written");
        assert_eq!(file.read(10).expect("read"), addresses[..1]);
        file.write(&[]).expect("written");
        assert!(file.read(10).expect("read").is_empty());
    }

    #[test]
    fn a_folder_is_no_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = PeerFile::new(folder.path());
        assert!(file.read(10).is_err() && file.write(&[]).is_err());
    }
}
