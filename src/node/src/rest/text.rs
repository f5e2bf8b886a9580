//! Text in answers: the known name that a mistyped one was meant to be, and a bound on what is echoed of a request.

use std::borrow::Cow;

/// The name of `known` most like `given`, if any is like it at all.
pub(super) fn nearest<'a>(given: &str, known: &[&'a str]) -> Option<&'a str> {
    /// Below this Jaro-Winkler similarity a suggestion is more likely to mislead than to help.
    const SIMILARITY_MIN: f64 = 0.8;
    /// The comparison takes time proportional to the product of the lengths; no name is nearly this long.
    const GIVEN_BYTES_MAX: usize = 64;
    if given.len() > GIVEN_BYTES_MAX {
        return None;
    }
    known
        .iter()
        .map(|&name| (strsim::jaro_winkler(&given.to_lowercase(), &name.to_lowercase()), name))
        .filter(|&(similarity, _)| similarity >= SIMILARITY_MIN)
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map(|(_, name)| name)
}

/// `text` with its middle left out when it is long, and with control characters escaped: an answer shows the start and
/// the end of what a client sent, never sends a large request back, and stays one line.
pub(super) fn shortened(text: &str) -> Cow<'_, str> {
    const START_CHARS: usize = 160;
    const END_CHARS: usize = 80;
    let start = text.char_indices().nth(START_CHARS).map(|(index, _)| index);
    let end = text.char_indices().nth_back(END_CHARS).map(|(index, _)| index);
    let text = match (start, end) {
        (Some(start), Some(end)) if start < end => Cow::Owned(format!("{}…{}", &text[..start], &text[end..])),
        _ => Cow::Borrowed(text),
    };
    if text.chars().any(char::is_control) { Cow::Owned(escaped(&text)) } else { text }
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            escaped.extend(character.escape_default());
        } else {
            escaped.push(character);
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::{nearest, shortened};

    #[test]
    fn a_slip_finds_the_name_and_nonsense_finds_none() {
        let known = ["payload", "contentTopic", "timestamp"];
        assert_eq!(nearest("paylaod", &known), Some("payload"));
        assert_eq!(nearest("content_topic", &known), Some("contentTopic"));
        assert_eq!(nearest("TIMESTAMP", &known), Some("timestamp"));
        assert_eq!(nearest("xyzzy", &known), None);
        assert_eq!(nearest("", &known), None);
        assert_eq!(nearest(&"payload".repeat(10_000), &known), None);
    }

    #[test]
    fn long_text_keeps_its_start_and_end() {
        assert_eq!(shortened("short"), "short");
        assert_eq!(shortened("two\nlines\u{0}"), "two\\nlines\\u{0}");
        let exact = "ä".repeat(240);
        assert_eq!(shortened(&exact), exact);
        let long = format!("start{}end", "ä".repeat(5_000));
        let short = shortened(&long);
        assert!(short.starts_with("start") && short.ends_with("end") && short.chars().count() < 250);
    }
}
