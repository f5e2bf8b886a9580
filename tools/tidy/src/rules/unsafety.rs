//! Where `unsafe` may stand, and the reason it has to give.

use super::Rule;
use crate::file::SourceFile;
use crate::finding::Finding;
use crate::scan::{Scan, Token, is_word};

/// Path prefixes of the code that may use `unsafe`: the engine, and the kernel that hashes many messages at once.
const PLACES: [&str; 2] = ["src/engine/", "src/wire/src/hash/kernel"];

pub const PLACE: Rule = Rule {
    name: "unsafe-place",
    about: "`unsafe` only in src/engine and in the hash kernel of src/wire",
    check: place,
};

pub const REASON: Rule = Rule {
    name: "unsafe-reason",
    about: "`// SAFETY:` before unsafe blocks, impls and attributes; `# Safety` in the docs of unsafe functions and traits",
    check: reason,
};

/// What the keyword introduces.
#[derive(Debug, PartialEq, Eq)]
enum Use {
    Block,
    Function,
    PointerType,
}

fn place(file: &SourceFile, findings: &mut Vec<Finding>) {
    if PLACES.iter().any(|place| file.path.starts_with(place)) {
        return;
    }
    for token in file.scan.tokens.iter().filter(|token| token.text == "unsafe") {
        let message = format!("`unsafe` outside {}", PLACES.join(" and "));
        findings.push(Finding::new(&file.path, token.line, PLACE.name, message));
    }
}

fn reason(file: &SourceFile, findings: &mut Vec<Finding>) {
    let tokens = &file.scan.tokens;
    let mut blocks = Blocks::default();
    for (index, token) in tokens.iter().enumerate() {
        blocks.pass(token);
        if token.text != "unsafe" {
            continue;
        }
        let (marker, what) = match use_of(&tokens[index + 1..]) {
            Use::PointerType => continue,
            // The trait says what its callers owe; an implementation has nothing to add.
            Use::Function if blocks.inside_trait_impl() => continue,
            Use::Function => ("# Safety", "a `# Safety` section in the docs"),
            Use::Block => ("SAFETY:", "a `// SAFETY:` line right before it"),
        };
        if !has_comment(&file.scan, token.line, marker) {
            findings.push(Finding::new(&file.path, token.line, REASON.name, format!("`unsafe` without {what}")));
        }
    }
}

fn use_of(after: &[Token]) -> Use {
    let text = |index: usize| after.get(index).map_or("", |token: &Token| token.text.as_str());
    // The name of the ABI is a literal, which the scanner blanks out.
    let skip = usize::from(text(0) == "extern");
    match text(skip) {
        "fn" if !text(skip + 1).starts_with(is_word) => Use::PointerType,
        "fn" | "trait" => Use::Function,
        _ => Use::Block,
    }
}

/// Whether a comment with `marker` stands on `line`, or above it within the same statement and its attributes.
fn has_comment(scan: &Scan, line: usize, marker: &str) -> bool {
    if scan.line(line).comment.contains(marker) {
        return true;
    }
    for number in (1..line).rev() {
        let above = scan.line(number);
        let code = above.code.trim();
        if above.comment.contains(marker) && code.is_empty() {
            return true;
        }
        let attribute = code.starts_with("#[");
        let statement_ends = code.ends_with([';', '{', '}', ',']);
        let blank = code.is_empty() && above.comment.is_empty();
        if blank || (statement_ends && !attribute) {
            return false;
        }
    }
    false
}

/// The blocks around the current token, and whether each is the body of a trait implementation.
#[derive(Default)]
struct Blocks {
    open: Vec<bool>,
    saw_impl: bool,
    saw_for: bool,
}

impl Blocks {
    fn pass(&mut self, token: &Token) {
        match token.text.as_str() {
            "impl" => self.saw_impl = true,
            "for" => self.saw_for = true,
            "{" => {
                self.open.push(self.saw_impl && self.saw_for);
                self.forget_header();
            }
            "}" => {
                self.open.pop();
                self.forget_header();
            }
            ";" => self.forget_header(),
            _ => {}
        }
    }

    fn forget_header(&mut self) {
        self.saw_impl = false;
        self.saw_for = false;
    }

    fn inside_trait_impl(&self) -> bool {
        self.open.last().copied().unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    fn reasons(text: &str) -> usize {
        found(&REASON, "src/engine/src/a.rs", text).len()
    }

    #[test]
    fn the_keyword_stays_in_its_places() {
        for path in ["src/engine/src/ring.rs", "src/wire/src/hash/kernel.rs", "src/wire/src/hash/kernel/avx.rs"] {
            assert!(found(&PLACE, path, "unsafe { a() }").is_empty(), "{path}");
        }
        for path in ["src/wire/src/hash.rs", "stages/lib.rs", "src/engineer/a.rs"] {
            assert_eq!(found(&PLACE, path, "unsafe { a() }").len(), 1, "{path}");
        }
        assert!(
            found(&PLACE, "stages/lib.rs", "#![forbid(unsafe_code)] // unsafe\nconst A: &str = \"unsafe\";").is_empty()
        );
    }

    #[test]
    fn blocks_and_impls_give_their_reason() {
        assert_eq!(reasons("// SAFETY: it is ours.\nlet a = unsafe { b() };"), 0);
        assert_eq!(reasons("// SAFETY: it is ours,\n// and nobody else's.\n#[inline]\nunsafe impl Send for A {}"), 0);
        assert_eq!(reasons("// SAFETY: it is ours.\nlet a =\n    unsafe { b() };"), 0);
        assert_eq!(reasons("/* SAFETY: it is ours */ unsafe { b() }"), 0);
        assert_eq!(reasons("// it is ours\nlet a = unsafe { b() };"), 1);
        assert_eq!(reasons("unsafe impl Send for A {}"), 1);
        assert_eq!(reasons("#[unsafe(no_mangle)]\nfn a() {}"), 1);
        assert_eq!(reasons("unsafe extern \"C\" { fn a(); }"), 1);
    }

    #[test]
    fn one_reason_serves_one_statement() {
        assert_eq!(reasons("// SAFETY: it is ours.\nunsafe { a() };\nunsafe { b() };"), 1);
        assert_eq!(reasons("// SAFETY: it is ours.\n\nunsafe { a() };"), 1);
        assert_eq!(reasons("f(\n// SAFETY: ours.\nunsafe { a() },\nunsafe { b() })"), 1);
    }

    #[test]
    fn functions_and_traits_document_what_callers_owe() {
        assert_eq!(
            reasons("/// Reads.\n///\n/// # Safety\n///\n/// It must be ours.\n#[inline]\npub unsafe fn a() {}"),
            0
        );
        assert_eq!(reasons("/// Reads.\npub unsafe fn a() {}"), 1);
        assert_eq!(reasons("/// Reads.\npub unsafe extern \"C\" fn a() {}"), 1);
        assert_eq!(reasons("/// Reads.\npub unsafe trait A {}"), 1);
        assert_eq!(reasons("impl A {\n    unsafe fn a() {}\n}"), 1);
    }

    #[test]
    fn trait_implementations_and_pointer_types_need_no_docs() {
        assert_eq!(reasons("// SAFETY: forwarded.\nunsafe impl A for B {\n    unsafe fn a() {}\n}"), 0);
        assert_eq!(reasons("type F = unsafe extern \"C\" fn(u8);\ntype G = unsafe fn();"), 0);
    }
}
