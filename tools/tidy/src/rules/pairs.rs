//! Publishing needs two: every atomic operation that releases or acquires says what it pairs with.

use std::ops::RangeInclusive;

use super::Rule;
use crate::file::SourceFile;
use crate::finding::Finding;
use crate::scan::{Scan, Token, is_word};

/// Path prefixes of the code that is shipped. Tests, benches and tools may be shorter of words.
const PLACES: [&str; 2] = ["src/", "stages/"];

/// The orderings that publish or receive. Relaxed ones do neither.
const ORDERINGS: [&str; 4] = ["Release", "Acquire", "AcqRel", "SeqCst"];

/// What the comment says, in small letters, before it names the other side.
const MARKS: [&str; 3] = ["pairs with", "pair with", "pair of"];

/// The comment stands at most so many lines above the call.
const LINES_ABOVE_MAX: usize = 4;

pub const RULE: Rule = Rule {
    name: "atomic-pair",
    about: "`// Pairs with …` at every Release, Acquire, AcqRel or SeqCst in every crate of src and in stages, tests aside",
    check,
};

fn check(file: &SourceFile, findings: &mut Vec<Finding>) {
    let is_test = file.path.split('/').any(|part| part == "tests");
    if is_test || !PLACES.iter().any(|place| file.path.starts_with(place)) {
        return;
    }
    let first_test_line = file.first_test_line();
    for (ordering, lines) in ordered_calls(&file.scan.tokens) {
        if ordering.line < first_test_line && !names_its_pair(&file.scan, lines) {
            let message = format!(
                "`{}` without its pair; write `// Pairs with …` at most {LINES_ABOVE_MAX} lines above the call, \
                 and name the operation on the other side",
                ordering.text
            );
            findings.push(Finding::new(&file.path, ordering.line, RULE.name, message));
        }
    }
}

/// The orderings that are arguments of calls, and the lines of the call from its name to the ordering. Imports, patterns and
/// macros are no calls.
fn ordered_calls(tokens: &[Token]) -> Vec<(&Token, RangeInclusive<usize>)> {
    let mut calls = Vec::new();
    // Of each bracket that is open: the line of the call it belongs to, if it is one of a call.
    let mut open: Vec<Option<usize>> = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        match token.text.as_str() {
            "(" => {
                let name =
                    index.checked_sub(1).map(|before| &tokens[before]).filter(|name| name.text.starts_with(is_word));
                open.push(name.map(|name| name.line));
            }
            "[" | "{" => open.push(None),
            ")" | "]" | "}" => _ = open.pop(),
            text if ORDERINGS.contains(&text) && is_argument(tokens, index) => {
                if let Some(Some(first)) = open.last() {
                    calls.push((token, *first..=token.line));
                }
            }
            _ => {}
        }
    }
    calls
}

/// Whether the word at `index`, with the path before it, is a whole argument, and not another type's of that name.
fn is_argument(tokens: &[Token], index: usize) -> bool {
    let text = |index: usize| tokens.get(index).map_or("", |token| token.text.as_str());
    let mut first = index;
    if index >= 3 && text(index - 1) == ":" && text(index - 3) != "Ordering" {
        return false;
    }
    while first >= 3 && text(first - 1) == ":" && text(first - 2) == ":" {
        first -= 3;
    }
    first > 0 && ["(", ","].contains(&text(first - 1)) && [")", ","].contains(&text(index + 1))
}

fn names_its_pair(scan: &Scan, lines: RangeInclusive<usize>) -> bool {
    let first = lines.start().saturating_sub(LINES_ABOVE_MAX).max(1);
    let comments = (first..=*lines.end()).map(|number| scan.line(number).comment.trim_start_matches('/'));
    // A sentence may go on in the next line.
    let text = comments.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ").to_lowercase();
    MARKS.iter().any(|mark| text.contains(mark))
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    fn findings(text: &str) -> usize {
        found(&RULE, "src/engine/src/a.rs", text).len()
    }

    #[test]
    fn every_ordering_that_publishes_names_its_pair() {
        for ordering in ORDERINGS {
            assert_eq!(findings(&format!("a.store(1, {ordering});")), 1, "{ordering}");
            assert_eq!(findings(&format!("// Pairs with the load in `b`.\na.store(1, {ordering});")), 0, "{ordering}");
        }
        assert_eq!(findings("a.store(1, Relaxed);"), 0);
    }

    #[test]
    fn the_finding_says_where_and_what_to_do() {
        let found = found(&RULE, "stages/a.rs", "let a = 1;\nb.load(Ordering::Acquire);");
        assert!(found[0].starts_with("stages/a.rs:2: atomic-pair: `Acquire` without its pair; write"), "{found:?}");
    }

    #[test]
    fn the_comment_may_stand_on_the_line_or_a_little_above() {
        assert_eq!(findings("a.load(Acquire); // It pairs with `b`."), 0);
        assert_eq!(findings("// Both halves pair\n// with the other's.\nx();\ny();\na.fetch_sub(1, AcqRel);"), 0);
        assert_eq!(findings("// Pairs with `b`.\nv();\nw();\nx();\ny();\na.load(Acquire);"), 1);
        assert_eq!(findings("let text = \"pairs with\";\na.load(Acquire);"), 1);
    }

    #[test]
    fn a_call_of_many_lines_is_counted_from_its_name() {
        let call = "a.compare_exchange(\n1,\n2,\n3,\n4,\nRelease,\nRelaxed,\n)";
        assert_eq!(findings(call), 1);
        assert_eq!(findings(&format!("// Pairs with `b`.\n{call}")), 0);
    }

    #[test]
    fn each_ordering_of_an_exchange_counts() {
        assert_eq!(findings("a.compare_exchange(1, 2, AcqRel, std::sync::atomic::Ordering::Acquire)"), 2);
    }

    #[test]
    fn imports_patterns_and_names_pass() {
        for text in [
            "use std::sync::atomic::Ordering::{self, Acquire, Release};",
            "use std::sync::atomic::{AtomicU32, Ordering::Acquire, Ordering::Release};",
            "let a = matches!(order, Acquire | SeqCst);",
            "match kept {\n    (Acquire, _) => Release,\n    _ => SeqCst,\n}",
            "enum Part { Acquire, Release }",
            "keeps(Part::Acquire)",
            "let a = (Acquire, Release);",
        ] {
            assert_eq!(findings(text), 0, "{text}");
        }
    }

    #[test]
    fn tests_and_other_places_pass() {
        assert_eq!(findings("#[cfg(test)]\nmod tests {\n    fn a() { b.load(Acquire) }\n}"), 0);
        for path in [
            "src/engine/tests/a.rs",
            "src/node/src/config/tests/a.rs",
            "benches/src/a.rs",
            "src/engine/src/topology/tests.rs",
        ] {
            assert!(found(&RULE, path, "a.load(Acquire)").is_empty(), "{path}");
        }
        for path in ["src/net/src/a.rs", "src/node/src/main.rs", "stages/a.rs"] {
            assert_eq!(found(&RULE, path, "a.load(Acquire)").len(), 1, "{path}");
        }
    }
}
