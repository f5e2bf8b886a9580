//! Line breaking for help texts and commented TOML.

/// Breaks `text` at spaces into lines of at most `columns` characters; a longer word has a line of its own.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > columns {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fill_up_to_the_limit_and_not_beyond() {
        assert_eq!(wrap("ab cd ef", 5), ["ab cd", "ef"]);
        assert_eq!(wrap("ab cd ef", 4), ["ab", "cd", "ef"]);
        assert_eq!(wrap("abcdefgh i", 3), ["abcdefgh", "i"]);
        assert!(wrap("  ", 10).is_empty());
    }
}
