//! A tolerant scanner for Rust: it parts code from comments and blanks out literals, and never fails on text that does not compile.

/// One line with its code and its comments apart. Literals are blank in `code`.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Line {
    /// The line without comments and without what string and character literals hold.
    pub code: String,
    /// The text of the comments on the line, markers included.
    pub comment: String,
}

/// A word or one other visible character of the code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// An identifier, keyword or number; or a single character.
    pub text: String,
    /// The line it stands on, counted from 1.
    pub line: usize,
}

/// A scanned file.
#[derive(Debug, Default)]
pub struct Scan {
    /// The lines in order.
    pub lines: Vec<Line>,
    /// The code as words and single characters.
    pub tokens: Vec<Token>,
}

#[derive(Clone, Copy)]
enum State {
    Code,
    LineComment,
    BlockComment { depth: usize },
    Text,
    RawText { hashes: usize },
    Character,
}

impl Scan {
    /// Scans Rust source.
    pub fn rust(text: &str) -> Self {
        let mut scanner =
            Scanner { chars: text.chars().collect(), at: 0, state: State::Code, lines: vec![Line::default()] };
        while scanner.at < scanner.chars.len() {
            scanner.step();
        }
        let tokens = tokens(&scanner.lines);
        Self { lines: scanner.lines, tokens }
    }

    /// The line with `number`, counted from 1.
    pub fn line(&self, number: usize) -> &Line {
        &self.lines[number - 1]
    }
}

struct Scanner {
    chars: Vec<char>,
    at: usize,
    state: State,
    lines: Vec<Line>,
}

impl Scanner {
    fn step(&mut self) {
        if self.chars[self.at] == '\n' {
            if matches!(self.state, State::LineComment) {
                self.state = State::Code;
            }
            self.lines.push(Line::default());
            self.at += 1;
            return;
        }
        match self.state {
            State::Code => self.code(),
            State::LineComment => self.comment(1),
            State::BlockComment { depth } => self.block_comment(depth),
            State::Text => self.literal('"'),
            State::Character => self.literal('\''),
            State::RawText { hashes } => self.raw_text(hashes),
        }
    }

    fn code(&mut self) {
        let current = self.chars[self.at];
        if self.starts_with("//") {
            self.state = State::LineComment;
            self.comment(2);
        } else if self.starts_with("/*") {
            self.state = State::BlockComment { depth: 1 };
            self.comment(2);
        } else if let Some(hashes) = self.raw_text_start() {
            self.state = State::RawText { hashes };
            self.blank(hashes + 2);
        } else if current == '"' {
            self.state = State::Text;
            self.blank(1);
        } else if current == '\'' && self.is_character_literal() {
            self.state = State::Character;
            self.blank(1);
        } else {
            self.last_line().code.push(current);
            self.at += 1;
        }
    }

    fn block_comment(&mut self, depth: usize) {
        let depth = match (self.starts_with("/*"), self.starts_with("*/")) {
            (true, _) => depth + 1,
            (_, true) => depth - 1,
            _ => return self.comment(1),
        };
        self.state = if depth == 0 { State::Code } else { State::BlockComment { depth } };
        self.comment(2);
    }

    fn literal(&mut self, end: char) {
        match self.chars[self.at] {
            // An escaped line end is left for the next step, which counts the line.
            '\\' if self.chars.get(self.at + 1) != Some(&'\n') => self.blank(2),
            current => {
                if current == end {
                    self.state = State::Code;
                }
                self.blank(1);
            }
        }
    }

    fn raw_text(&mut self, hashes: usize) {
        let rest = &self.chars[self.at + 1..];
        let ends = self.chars[self.at] == '"' && rest.len() >= hashes && rest[..hashes].iter().all(|c| *c == '#');
        if ends {
            self.state = State::Code;
            self.blank(hashes + 1);
        } else {
            self.blank(1);
        }
    }

    /// The number of `#` of a raw string that begins here at its `r`.
    fn raw_text_start(&self) -> Option<usize> {
        if self.chars[self.at] != 'r' || self.is_inside_word() {
            return None;
        }
        let hashes = self.chars[self.at + 1..].iter().take_while(|c| **c == '#').count();
        (self.chars.get(self.at + 1 + hashes) == Some(&'"')).then_some(hashes)
    }

    /// Whether what stands here continues a word; the prefixes of `br""` and `cr""` do not count as one.
    fn is_inside_word(&self) -> bool {
        let before = |distance: usize| self.at.checked_sub(distance).map(|index| self.chars[index]);
        match before(1) {
            Some('b' | 'c') => before(2).is_some_and(is_word),
            previous => previous.is_some_and(is_word),
        }
    }

    /// A quote opens a character literal unless it begins a lifetime or a loop label.
    fn is_character_literal(&self) -> bool {
        self.chars.get(self.at + 1) == Some(&'\\') || self.chars.get(self.at + 2) == Some(&'\'')
    }

    fn starts_with(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(offset, c)| self.chars.get(self.at + offset) == Some(&c))
    }

    fn comment(&mut self, count: usize) {
        for _ in 0..count {
            let current = self.chars[self.at];
            self.last_line().comment.push(current);
            self.at += 1;
        }
    }

    fn blank(&mut self, count: usize) {
        for _ in 0..count {
            self.last_line().code.push(' ');
        }
        self.at += count;
    }

    fn last_line(&mut self) -> &mut Line {
        self.lines.last_mut().expect("the list of lines begins with one line and only grows")
    }
}

/// Whether `c` can be part of a word.
pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn tokens(lines: &[Line]) -> Vec<Token> {
    let mut tokens = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let mut word = String::new();
        for c in line.code.chars().chain([' ']) {
            if is_word(c) {
                word.push(c);
                continue;
            }
            if !word.is_empty() {
                tokens.push(Token { text: std::mem::take(&mut word), line: index + 1 });
            }
            if !c.is_whitespace() {
                tokens.push(Token { text: c.to_string(), line: index + 1 });
            }
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        Scan::rust(text).tokens.iter().map(|token| token.text.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn literals_are_blank() {
        assert_eq!(code(r#"a("{ // \" }", b"}", c"{", b'{')"#), "a ( , b , c , b )");
        assert_eq!(code(r"let q = '\''; let b = '{'; let n = '\u{7d}';"), "let q = ; let b = ; let n = ;");
    }

    #[test]
    fn raw_strings_end_at_their_own_mark() {
        assert_eq!(code(r###"x(r#"a " } "# , br##"}"# "## , r"\")"###), "x ( , b , )");
        assert_eq!(code("let r#type = bar\"}\";"), "let r # type = bar ;");
    }

    #[test]
    fn lifetimes_and_labels_are_code() {
        assert_eq!(code("fn f<'a>(x: &'a u8) { 'outer: loop { break 'outer } }").matches('\'').count(), 4);
    }

    #[test]
    fn comments_are_kept_apart_and_nest() {
        let scan = Scan::rust("a /* x /* { */ y\n */ b // c {\nd");
        assert_eq!(scan.line(1), &Line { code: "a ".into(), comment: "/* x /* { */ y".into() });
        assert_eq!(scan.line(2), &Line { code: " b ".into(), comment: " */// c {".into() });
        assert_eq!(scan.line(3).code, "d");
    }

    #[test]
    fn lines_are_counted_through_multi_line_literals() {
        let scan = Scan::rust("let a = \"x\\\n  y\n\"; b");
        assert_eq!(scan.tokens.last(), Some(&Token { text: "b".into(), line: 3 }));
    }

    #[test]
    fn unfinished_text_ends_the_scan_quietly() {
        for text in ["\"abc", "r#\"abc", "/* abc", "'\\", "\"\\", "'", "r#"] {
            assert_eq!(Scan::rust(text).lines.len(), 1, "{text}");
        }
    }
}
