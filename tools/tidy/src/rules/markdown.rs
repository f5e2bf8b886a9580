//! A Markdown file has one title.

use super::Rule;
use crate::file::{Kind, SourceFile};
use crate::finding::Finding;

pub const RULE: Rule = Rule { name: "markdown-title", about: "exactly one `# title` in a Markdown file", check };

fn check(file: &SourceFile, findings: &mut Vec<Finding>) {
    if file.kind != Kind::Markdown {
        return;
    }
    let mut fenced = false;
    let mut titles = Vec::new();
    for (number, line) in file.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced && line.starts_with("# ") {
            titles.push(number);
        }
    }
    match titles.as_slice() {
        [] => findings.push(Finding::new(&file.path, 1, RULE.name, "no `# title`")),
        [_] => {}
        [_, second, ..] => findings.push(Finding::new(&file.path, *second, RULE.name, "a second `# title`; use `##`")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn one_title_passes() {
        assert!(found(&RULE, "a.md", "# A\n\n## B\n\n```sh\n# not a title\n```\n").is_empty());
        assert!(found(&RULE, "a.toml", "# a comment\n# another\n").is_empty());
    }

    #[test]
    fn none_or_two_are_found() {
        assert_eq!(found(&RULE, "a.md", "text\n"), ["a.md:1: markdown-title: no `# title`"]);
        assert_eq!(found(&RULE, "a.md", "# A\n\n# B\n"), ["a.md:3: markdown-title: a second `# title`; use `##`"]);
    }
}
