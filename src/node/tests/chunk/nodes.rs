//! Nodes of chunks as processes, on ports that the system chooses.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The binary in `folder`.
pub fn levada(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_levada"));
    command.current_dir(folder);
    command
}

/// Running nodes. They are killed when this goes.
pub struct Nodes {
    folder: PathBuf,
    nodes: Vec<(Child, String)>,
}

impl Nodes {
    pub fn start(folder: &Path, count: usize, scheme: &str) -> Self {
        Self::start_with(folder, count, scheme, &[])
    }

    pub fn start_with(folder: &Path, count: usize, scheme: &str, flags: &[&str]) -> Self {
        let mut nodes = Self { folder: folder.to_owned(), nodes: Vec::new() };
        for number in 0..count {
            let mut command = levada(folder);
            command.args(["chunk", "serve", "--log-level=error", "--arena-bytes=64MiB"]).args(flags);
            command
                .arg(format!("--folder={}", nodes.folder(number).display()))
                .arg(format!("--listen={scheme}://127.0.0.1:0"));
            let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
            let mut line = || lines.next().expect("the node says that it is ready").unwrap();
            let address = loop {
                if let Some(address) = line().strip_prefix("listening on ") {
                    break address.to_owned();
                }
            };
            while !line().starts_with("ready") {}
            nodes.nodes.push((child, address));
        }
        nodes
    }

    pub fn count(&self) -> usize {
        self.nodes.len()
    }

    pub fn folder(&self, number: usize) -> PathBuf {
        self.folder.join(format!("node-{number}"))
    }

    pub fn addresses(&self) -> Vec<String> {
        self.nodes.iter().map(|(_, address)| address.clone()).collect()
    }

    /// Kills one; its folder stays.
    pub fn kill(&mut self, number: usize) {
        self.nodes[number].0.kill().unwrap();
        self.nodes[number].0.wait().unwrap();
    }

    /// Interrupts those that run; each must end well.
    pub fn stop(mut self) {
        for (child, address) in &mut self.nodes {
            if child.try_wait().unwrap().is_none() {
                interrupt(child);
                assert_eq!(child.wait().unwrap().code(), Some(0), "{address}");
            }
        }
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for (child, _) in &mut self.nodes {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Ctrl-C.
pub fn interrupt(child: &Child) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
}
