//! The files to check, as git lists them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::TidyError;
use crate::file::{Kind, SourceFile};
use crate::finding::Finding;

/// Reads every file that git tracks or would track in the work tree around `root`, and reports those that are not text.
pub fn read(root: &Path) -> Result<(Vec<SourceFile>, Vec<Finding>), TidyError> {
    let top = PathBuf::from(git(root, &["rev-parse", "--show-toplevel"])?.trim_end());
    let list = git(&top, &["ls-files", "-z", "--cached", "--others", "--exclude-standard"])?;
    let mut files = Vec::new();
    let mut findings = Vec::new();
    for path in list.split('\0').filter(|path| !path.is_empty()) {
        let full = top.join(path);
        // A tracked file may be gone from the work tree, and a link points at a file that is listed by itself.
        if !fs::symlink_metadata(&full).is_ok_and(|meta| meta.is_file()) {
            continue;
        }
        let bytes = fs::read(&full).map_err(|source| TidyError::Read { path: full, source })?;
        match String::from_utf8(bytes) {
            Ok(text) => files.push(SourceFile::new(path, text)),
            Err(_) if Kind::of(path, "") != Kind::Data => {
                findings.push(Finding::new(path, 1, "encoding", "the file is not UTF-8; store it as UTF-8"));
            }
            Err(_) => {}
        }
    }
    Ok((files, findings))
}

fn git(folder: &Path, arguments: &[&str]) -> Result<String, TidyError> {
    let failed = |reason: String| TidyError::Git { root: folder.to_owned(), reason };
    let output = Command::new("git").arg("-C").arg(folder).args(arguments).output();
    let output = output.map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    String::from_utf8(output.stdout).map_err(|_| failed("a file name is not UTF-8".to_owned()))
}
