//! Leftovers of unfinished work.

use super::Rule;
use crate::file::{Kind, SourceFile};
use crate::finding::Finding;
use crate::scan::is_word;

/// Marks of work put off: what is left to do belongs in the issue tracker.
const MARKS: [&str; 4] = ["TODO", "FIXME", "XXX", "HACK"];

/// Macros that only unfinished code calls.
const MACROS: [&str; 3] = ["dbg", "todo", "unimplemented"];

pub const RULE: Rule =
    Rule { name: "unfinished", about: "no TODO, FIXME, XXX or HACK; no dbg!, todo! or unimplemented!", check };

fn check(file: &SourceFile, findings: &mut Vec<Finding>) {
    let mut report = |line, what: &str| {
        findings.push(Finding::new(&file.path, line, RULE.name, format!("`{what}`; finish it or file an issue")));
    };
    match file.kind {
        Kind::Data | Kind::PackageLock => {}
        Kind::Rust => {
            for (index, line) in file.scan.lines.iter().enumerate() {
                marks(&line.comment).for_each(|mark| report(index + 1, mark));
                marks(&line.code).for_each(|mark| report(index + 1, mark));
            }
            for pair in file.scan.tokens.windows(2) {
                if pair[1].text == "!" && MACROS.contains(&pair[0].text.as_str()) {
                    report(pair[0].line, &format!("{}!", pair[0].text));
                }
            }
        }
        _ => {
            for (number, line) in file.lines() {
                marks(line).for_each(|mark| report(number, mark));
            }
        }
    }
}

fn marks(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_word(c)).filter(|word| MARKS.contains(word))
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn marks_are_found_in_comments_and_text() {
        for mark in MARKS {
            assert_eq!(found(&RULE, "a.rs", &format!("fn a() {{}} // {mark}: later\n")).len(), 1, "{mark}");
            assert_eq!(found(&RULE, "a.toml", &format!("# {mark} later\n")).len(), 1, "{mark}");
        }
    }

    #[test]
    fn literals_and_longer_words_pass() {
        assert!(found(&RULE, "a.rs", "const A: &str = \"TODO\"; // HACKED, TODOS\n").is_empty());
        assert!(found(&RULE, "a.sh", "mktemp -d levada.XXXXXX\n").is_empty());
        assert!(found(&RULE, "a.json", "{\"a\": \"TODO\"}").is_empty());
    }

    #[test]
    fn macros_of_unfinished_code_are_found() {
        for name in MACROS {
            assert_eq!(found(&RULE, "a.rs", &format!("fn a() {{ {name}!() }}\n")).len(), 1, "{name}");
            assert!(found(&RULE, "a.rs", &format!("fn {name}() {{}} // {name}!()\n")).is_empty(), "{name}");
        }
    }
}
