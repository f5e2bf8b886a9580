//! `levada keys`.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use levada_net::NodeKey;

use super::{EXIT_DONE, Fault, say};
use crate::cli::Keys;

/// Makes a key, or reads one, and says what belongs to it. A key that comes from a file or goes to one is not printed.
pub(super) fn run(command: &Keys) -> Result<u8, Fault> {
    let key = match &command.key_file {
        Some(path) => read(path)?,
        None => NodeKey::generate(),
    };
    let pair = key.secp256k1();
    let (public, peer) = (hex::encode(pair.public().to_bytes()), key.peer_id().to_string());
    let secret = hex::encode(pair.secret().to_bytes());
    let shown = match (&command.key_file, &command.output) {
        (Some(_), _) => None,
        (None, Some(path)) => {
            write(path, &secret)?;
            None
        }
        (None, None) => Some(secret),
    };
    let lines = if command.is_json {
        let mut answer = serde_json::json!({ "publicKey": public, "peerId": peer });
        if let Some(secret) = shown {
            answer["nodeKey"] = secret.into();
        }
        answer.to_string()
    } else {
        let secret = shown.map(|secret| format!("node key    {secret}\n")).unwrap_or_default();
        format!("{secret}public key  {public}\npeer id     {peer}")
    };
    // A reader that went away needs no answer.
    let _ = say(&lines);
    Ok(EXIT_DONE)
}

pub(super) fn read(path: &Path) -> Result<NodeKey, Fault> {
    let text = fs::read_to_string(path)
        .map_err(|source| Fault::File { what: format!("the file {} cannot be read", path.display()), source })?;
    NodeKey::from_hex(text.trim())
        .map_err(|error| Fault::Key { path: path.display().to_string(), reason: error.to_string() })
}

/// A file that exists is not written over: it may be somebody's only key.
fn write(path: &Path, secret: &str) -> Result<(), Fault> {
    let written = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let written = written.and_then(|mut file| writeln!(file, "{secret}").and_then(|()| file.sync_all()));
    written.map_err(|source| Fault::File { what: format!("the file {} cannot be written", path.display()), source })
}
