//! Lints are answered with a reason, or not silenced.

use super::Rule;
use crate::file::SourceFile;
use crate::finding::Finding;

pub const RULE: Rule =
    Rule { name: "lint-levels", about: "`#[expect(lint, reason = \"…\")]` in place of `#[allow(lint)]`", check };

fn check(file: &SourceFile, findings: &mut Vec<Finding>) {
    let mut attribute_depth = 0_usize;
    let tokens = &file.scan.tokens;
    for (index, token) in tokens.iter().enumerate() {
        let next = |offset: usize| tokens.get(index + offset).map_or("", |token| token.text.as_str());
        match token.text.as_str() {
            "#" if next(1) == "[" || (next(1) == "!" && next(2) == "[") => attribute_depth = 1,
            "]" => attribute_depth = 0,
            "allow" if attribute_depth > 0 && next(1) == "(" => {
                let message = "`allow`; use `expect` with a reason, so that it goes when the lint does";
                findings.push(Finding::new(&file.path, token.line, RULE.name, message));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn allow_is_refused_wherever_an_attribute_says_it() {
        for text in
            ["#[allow(dead_code)]", "#![allow(dead_code)]", "#[cfg_attr(test, allow(dead_code))]", "# [ allow (a) ]"]
        {
            assert_eq!(found(&RULE, "a.rs", text).len(), 1, "{text}");
        }
    }

    #[test]
    fn expect_and_calls_pass() {
        let text = "#[expect(dead_code, reason = \"kept for #[allow(x)]\")]\nfn a() { allow(1); }\n";
        assert!(found(&RULE, "a.rs", text).is_empty());
    }
}
