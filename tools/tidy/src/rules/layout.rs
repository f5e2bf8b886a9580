//! Line length, file length and white space.

use super::Rule;
use crate::file::{Kind, SourceFile};
use crate::finding::Finding;

/// Two editors side by side on a wide screen; rustfmt wraps code well before it.
const LINE_COLUMNS_MAX: usize = 140;

/// A file beyond this holds more than one concept.
const FILE_LINES_MAX: usize = 500;

pub const LINE_LENGTH: Rule = Rule {
    name: "line-length",
    about: "at most 140 columns (tables and links of Markdown excepted)",
    check: line_length,
};

pub const FILE_LENGTH: Rule = Rule { name: "file-length", about: "at most 500 lines", check: file_length };

pub const WHITESPACE: Rule =
    Rule { name: "whitespace", about: "no tab, no space at a line's end, one final newline", check: whitespace };

fn line_length(file: &SourceFile, findings: &mut Vec<Finding>) {
    if is_exempt(file) {
        return;
    }
    for (number, line) in file.lines() {
        let unbreakable = file.kind == Kind::Markdown && (line.trim_start().starts_with('|') || line.contains("]("));
        let columns = line.chars().count();
        if columns > LINE_COLUMNS_MAX && !unbreakable {
            let message = format!("{columns} columns, at most {LINE_COLUMNS_MAX}");
            findings.push(Finding::new(&file.path, number, LINE_LENGTH.name, message));
        }
    }
}

fn file_length(file: &SourceFile, findings: &mut Vec<Finding>) {
    let lines = file.text.lines().count();
    if !is_exempt(file) && lines > FILE_LINES_MAX {
        let message = format!("{lines} lines, at most {FILE_LINES_MAX}; split it by concept");
        findings.push(Finding::new(&file.path, lines, FILE_LENGTH.name, message));
    }
}

fn whitespace(file: &SourceFile, findings: &mut Vec<Finding>) {
    if is_exempt(file) {
        return;
    }
    let mut report = |number, message| findings.push(Finding::new(&file.path, number, WHITESPACE.name, message));
    for (number, line) in file.lines() {
        if line.contains('\t') {
            report(number, "a tab; indent with spaces");
        }
        if line.ends_with([' ', '\t', '\r']) {
            report(number, "white space at the end of the line");
        }
    }
    let last = file.text.lines().count().max(1);
    if !file.text.is_empty() && !file.text.ends_with('\n') {
        report(last, "no newline at the end of the file");
    }
    if file.text.ends_with("\n\n") {
        report(last, "empty lines at the end of the file");
    }
}

fn is_exempt(file: &SourceFile) -> bool {
    matches!(file.kind, Kind::Data | Kind::PackageLock)
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn lines_up_to_the_limit_pass() {
        let line = "é".repeat(LINE_COLUMNS_MAX);
        assert!(found(&LINE_LENGTH, "a.rs", &line).is_empty());
        let long = found(&LINE_LENGTH, "a.rs", &format!("\n{line}é\n"));
        assert_eq!(long, ["a.rs:2: line-length: 141 columns, at most 140"]);
    }

    #[test]
    fn tables_and_links_of_markdown_may_be_wider() {
        let long = "x".repeat(LINE_COLUMNS_MAX);
        assert!(found(&LINE_LENGTH, "a.md", &format!("| {long} |\n[a](b{long})\n")).is_empty());
        assert_eq!(found(&LINE_LENGTH, "a.md", &format!("so {long}\n")).len(), 1);
        assert!(found(&LINE_LENGTH, "vectors.json", &format!("so {long}\n")).is_empty());
    }

    #[test]
    fn files_up_to_the_limit_pass() {
        assert!(found(&FILE_LENGTH, "a.rs", &"\n".repeat(FILE_LINES_MAX)).is_empty());
        assert_eq!(found(&FILE_LENGTH, "a.rs", &"\n".repeat(FILE_LINES_MAX + 1)).len(), 1);
    }

    #[test]
    fn white_space_is_clean() {
        assert!(found(&WHITESPACE, "a.toml", "a = 1\n\nb = 2\n").is_empty());
        assert!(found(&WHITESPACE, "a.rs", "").is_empty());
        for text in ["\ta\n", "a \n", "a\r\n", "a", "a\n\n"] {
            assert_eq!(found(&WHITESPACE, "a.rs", text).len(), 1, "{text:?}");
        }
    }
}
