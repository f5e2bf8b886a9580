//! A source file and what kind of text it holds.

use crate::scan::Scan;

/// The kinds of file that rules tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Rust source.
    Rust,
    /// Shell script, by extension or by its first line.
    Shell,
    /// JavaScript or Python.
    Script,
    /// Markdown text.
    Markdown,
    /// TOML or YAML.
    Config,
    /// npm's lock file.
    PackageLock,
    /// Everything else: vectors, licences, other lock files. Only the rules that name it look at it.
    Data,
}

impl Kind {
    /// The kind of the file at `path` that begins with `text`.
    pub fn of(path: &str, text: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path);
        let first = text.lines().next().unwrap_or("");
        match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
            _ if name == "package-lock.json" => Self::PackageLock,
            "rs" => Self::Rust,
            "sh" | "bash" => Self::Shell,
            "js" | "mjs" | "cjs" | "py" => Self::Script,
            "md" => Self::Markdown,
            "toml" | "yml" | "yaml" => Self::Config,
            _ if first.starts_with("#!") && first.ends_with("sh") => Self::Shell,
            _ if first.starts_with("#!") => Self::Script,
            _ => Self::Data,
        }
    }
}

/// A file with its text, and the result of the scanner when it is Rust.
#[derive(Debug)]
pub struct SourceFile {
    /// Path from the top of the work tree, with `/`.
    pub path: String,
    /// The whole text.
    pub text: String,
    /// What it holds.
    pub kind: Kind,
    /// Code and comments apart; empty unless the file is Rust.
    pub scan: Scan,
}

impl SourceFile {
    /// A file at `path` from the top of the work tree that holds `text`.
    pub fn new(path: &str, text: impl Into<String>) -> Self {
        let text = text.into();
        let kind = Kind::of(path, &text);
        let scan = if kind == Kind::Rust { Scan::rust(&text) } else { Scan::default() };
        Self { path: path.to_owned(), text, kind, scan }
    }

    /// The lines with their numbers, counted from 1.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.split('\n').enumerate().map(|(index, line)| (index + 1, line))
    }

    /// The number of the first line that belongs to tests: 1 for a test file, past the end where there are none.
    pub fn first_test_line(&self) -> usize {
        let name = self.path.rsplit('/').next().unwrap_or("");
        if name == "tests.rs" || self.path.split('/').any(|part| part == "tests") {
            return 1;
        }
        self.lines().find(|(_, line)| line.trim() == "#[cfg(test)]").map_or(usize::MAX, |(number, _)| number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_come_from_the_name_or_the_first_line() {
        assert_eq!(Kind::of("src/a.rs", ""), Kind::Rust);
        assert_eq!(Kind::of("tools/test", "#!/usr/bin/env bash\n"), Kind::Shell);
        assert_eq!(Kind::of("tools/x", "#!/usr/bin/env node\n"), Kind::Script);
        assert_eq!(Kind::of("tools/a/package-lock.json", "{"), Kind::PackageLock);
        assert_eq!(Kind::of("vectors/a.json", "{"), Kind::Data);
        assert_eq!(Kind::of("Cargo.lock", "# made by cargo"), Kind::Data);
    }

    #[test]
    fn tests_begin_at_the_attribute_or_with_the_file() {
        assert_eq!(SourceFile::new("src/a.rs", "fn a() {}\n#[cfg(test)]\nmod tests {}\n").first_test_line(), 2);
        assert_eq!(SourceFile::new("src/tests/a.rs", "fn a() {}\n").first_test_line(), 1);
        assert_eq!(SourceFile::new("src/a.rs", "fn a() {}\n").first_test_line(), usize::MAX);
    }
}
