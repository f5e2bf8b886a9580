//! The engine's source, read for the operations that publish.

use std::fs;
use std::path::Path;

/// A file of the engine.
pub struct Source {
    /// Its path below `src`.
    pub path: String,
    /// Its lines, of which the first is number 1.
    pub lines: Vec<String>,
}

/// A line with a call that publishes.
pub struct Call {
    /// Counted from 1.
    pub line: usize,
    /// The function around it.
    pub function: String,
}

impl Source {
    /// Every file.
    pub fn all() -> Vec<Self> {
        let mut sources = Vec::new();
        collect(&top(), &mut sources);
        sources
    }

    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).expect("a file of the engine");
        let path = path.strip_prefix(top()).expect("a file below the top").to_string_lossy().into_owned();
        Self { path, lines: text.lines().map(ToOwned::to_owned).collect() }
    }

    /// The calls that name an ordering that publishes, as far as they are not for tests alone.
    pub fn publishing_calls(&self) -> Vec<Call> {
        let end = self.lines.iter().position(|line| line.starts_with("#[cfg(all(test")).unwrap_or(self.lines.len());
        (1..=end)
            .filter(|number| publishes(code(&self.lines[number - 1])))
            .map(|line| Call { line, function: self.function(line) })
            .collect()
    }

    /// The function around a line, with its type: `Producer::look`.
    pub fn function(&self, line: usize) -> String {
        let above = || self.lines[..line].iter().rev().map(|line| code(line));
        let function = above().find_map(|line| line.split_once("fn ").map(|(_, rest)| word(rest)));
        let owner = above().find(|line| line.starts_with("impl")).map(owner);
        format!("{}::{}", owner.unwrap_or_default(), function.unwrap_or_default())
    }
}

fn top() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn collect(folder: &Path, sources: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).expect("a folder of the engine") {
        let path = entry.expect("an entry of it").path();
        if path.is_dir() {
            collect(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push(Source::read(&path));
        }
    }
}

/// A compiler's fence orders nothing between threads.
fn publishes(code: &str) -> bool {
    let names = |word: &&str| code.split(|c| !is_word(c)).any(|part| part == *word);
    let orderings = ["Acquire", "Release", "AcqRel", "SeqCst"];
    code.contains('(') && !code.contains("compiler_fence") && orderings.iter().any(|word| names(&word))
}

/// The type of an `impl` line.
fn owner(line: &str) -> &str {
    let line = line.trim_start_matches("impl");
    let line = if line.starts_with('<') { line.split_once("> ").map_or(line, |(_, rest)| rest) } else { line };
    word(line.split_once(" for ").map_or(line, |(_, owner)| owner).trim_start())
}

/// The word that `text` begins with.
pub fn word(text: &str) -> &str {
    text.split(|c| !is_word(c)).next().unwrap_or_default()
}

/// Whether `c` is part of a word.
pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn code(line: &str) -> &str {
    line.split("//").next().unwrap_or_default()
}
