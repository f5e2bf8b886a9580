//! Function length.

use super::Rule;
use crate::file::{Kind, SourceFile};
use crate::finding::Finding;
use crate::scan::{Token, is_word};

/// A function fits a screen.
const FUNCTION_LINES_MAX: usize = 70;

pub const RULE: Rule = Rule { name: "function-length", about: "at most 70 lines from name to closing brace", check };

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
struct Function {
    name: String,
    first: usize,
    last: usize,
}

fn check(file: &SourceFile, findings: &mut Vec<Finding>) {
    let functions = match file.kind {
        Kind::Rust => rust_functions(&file.scan.tokens),
        Kind::Shell | Kind::Script => indented_functions(&file.text),
        _ => return,
    };
    for function in functions {
        let lines = function.last - function.first + 1;
        if lines > FUNCTION_LINES_MAX {
            let message = format!("`{}` has {lines} lines, at most {FUNCTION_LINES_MAX}", function.name);
            findings.push(Finding::new(&file.path, function.first, RULE.name, message));
        }
    }
}

fn rust_functions(tokens: &[Token]) -> Vec<Function> {
    let mut functions = Vec::new();
    for (index, pair) in tokens.windows(2).enumerate() {
        // `fn(` is a pointer type and `fn $name` a macro's pattern: neither has lines of its own.
        if pair[0].text != "fn" || !pair[1].text.starts_with(is_word) {
            continue;
        }
        if let Some(last) = body_end(&tokens[index..]) {
            functions.push(Function { name: pair[1].text.clone(), first: pair[0].line, last });
        }
    }
    functions
}

/// The line of the brace that closes the body of the function whose tokens these are, if it has a body.
fn body_end(tokens: &[Token]) -> Option<usize> {
    let mut groups = 0_usize;
    let mut braces = 0_usize;
    for token in tokens {
        match token.text.as_str() {
            "(" | "[" => groups += 1,
            ")" | "]" => groups = groups.saturating_sub(1),
            ";" if groups == 0 && braces == 0 => return None,
            "{" => braces += 1,
            "}" => {
                braces = braces.saturating_sub(1);
                // A brace inside parentheses of the signature is a constant argument, not the body.
                if braces == 0 && groups == 0 {
                    return Some(token.line);
                }
            }
            _ => {}
        }
    }
    None
}

/// Functions of shell and JavaScript: from the line that opens one to the closing brace at the same indent.
fn indented_functions(text: &str) -> Vec<Function> {
    let lines: Vec<&str> = text.lines().collect();
    let mut functions = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let Some(name) = opened_function(line) else { continue };
        let closing = format!("{}}}", " ".repeat(line.len() - line.trim_start().len()));
        if let Some(length) = lines[index..].iter().position(|line| line.starts_with(&closing)) {
            functions.push(Function { name: name.to_owned(), first: index + 1, last: index + 1 + length });
        }
    }
    functions
}

/// The name of the function that `line` opens: `name() {`, or `function name(…) {` with what may stand before it.
fn opened_function(line: &str) -> Option<&str> {
    let line = line.trim();
    if !line.ends_with('{') {
        return None;
    }
    if let Some((name, "")) = line.trim_end_matches('{').trim_end().split_once("()")
        && name.chars().all(|c| is_word(c) || c == '-')
    {
        return Some(name);
    }
    let (before, after) = line.split_once("function")?;
    let starts = before.split_whitespace().all(|word| matches!(word, "export" | "default" | "async"));
    let name = after.trim_start_matches('*').trim_start().split('(').next()?;
    (starts && !name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;
    use crate::scan::Scan;

    fn names(text: &str) -> Vec<(String, usize)> {
        let functions = rust_functions(&Scan::rust(text).tokens);
        functions.into_iter().map(|function| (function.name, function.last - function.first + 1)).collect()
    }

    #[test]
    fn rust_functions_up_to_the_limit_pass() {
        let of = |lines: usize| format!("fn a() {{\n{}}}\n", "x();\n".repeat(lines - 2));
        assert!(found(&RULE, "a.rs", &of(FUNCTION_LINES_MAX)).is_empty());
        let long = found(&RULE, "a.rs", &of(FUNCTION_LINES_MAX + 1));
        assert_eq!(long, ["a.rs:1: function-length: `a` has 71 lines, at most 70"]);
    }

    #[test]
    fn braces_in_literals_and_comments_do_not_end_a_function() {
        assert_eq!(names("fn a() {\n\"}\"; // }\n'}'; r#\"}\"#;\n/* } */\n}\n"), [("a".to_owned(), 5)]);
    }

    #[test]
    fn declarations_and_pointer_types_have_no_body() {
        assert!(names("trait T { fn a(&self) -> [u8; 4]; }\ntype F = fn(u8);\n").is_empty());
        assert_eq!(names("fn a(f: fn([u8; 2]), x: S<{ 1 }>)\nwhere\n{\n}\n"), [("a".to_owned(), 4)]);
    }

    #[test]
    fn nested_functions_are_counted_both() {
        let names = names("fn a() {\n    fn b() {\n    }\n}\n");
        assert_eq!(names, [("a".to_owned(), 4), ("b".to_owned(), 2)]);
    }

    #[test]
    fn script_functions_are_counted_by_indent() {
        let long = "  x\n".repeat(FUNCTION_LINES_MAX);
        for opening in ["part_x() {", "function a(b) {", "export async function a() {"] {
            assert_eq!(found(&RULE, "a.mjs", &format!("{opening}\n{long}}}\n")).len(), 1, "{opening}");
            assert!(found(&RULE, "a.mjs", &format!("{opening}\n  x\n}}\n{long}")).is_empty(), "{opening}");
        }
    }
}
