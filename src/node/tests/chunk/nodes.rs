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
    nodes: Vec<Node>,
}

/// A process and what it said until it was ready.
struct Node {
    process: Child,
    said: Vec<String>,
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
            let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
            let mut said = Vec::new();
            for line in BufReader::new(process.stdout.take().unwrap()).lines() {
                said.push(line.unwrap());
                if said.last().is_some_and(|line| line.starts_with("ready")) {
                    break;
                }
            }
            nodes.nodes.push(Node { process, said });
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
        (0..self.count()).map(|number| self.said(number, "listening on ")).collect()
    }

    /// The rest of the line that a node began with these words.
    pub fn said(&self, number: usize, words: &str) -> String {
        let said = &self.nodes[number].said;
        let line = said.iter().find_map(|line| line.strip_prefix(words));
        line.unwrap_or_else(|| panic!("no line begins with {words:?}: {said:?}")).to_owned()
    }

    /// Kills one; its folder stays.
    pub fn kill(&mut self, number: usize) {
        self.nodes[number].process.kill().unwrap();
        self.nodes[number].process.wait().unwrap();
    }

    /// Interrupts those that run; each must end well.
    pub fn stop(mut self) {
        for Node { process, said } in &mut self.nodes {
            if process.try_wait().unwrap().is_none() {
                interrupt(process);
                assert_eq!(process.wait().unwrap().code(), Some(0), "{said:?}");
            }
        }
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for Node { process, .. } in &mut self.nodes {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Ctrl-C.
pub fn interrupt(child: &Child) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
}
