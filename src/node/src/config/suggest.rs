//! "Did you mean": the known name nearest to one that is not known.

/// The candidate most like `given`, if one is like it enough to be worth proposing.
pub(crate) fn nearest<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given = given.trim_start_matches('-').replace('_', "-").to_ascii_lowercase();
    let renamed = RENAMED.iter().find(|(old, _)| *old == given).map(|(_, new)| *new);
    let mut best: Option<(f64, &str)> = None;
    for candidate in candidates {
        let likeness = if renamed == Some(candidate) { 1.0 } else { strsim::jaro_winkler(&given, candidate) };
        if likeness >= LIKENESS_MIN && best.is_none_or(|(most, _)| likeness > most) {
            best = Some((likeness, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// The end of an error sentence: `; did you mean X?`, or what to do when nothing is near.
pub(crate) fn hint(suggestion: Option<&str>, otherwise: &str) -> String {
    match suggestion {
        Some(name) => format!("; did you mean {name}?"),
        None => format!("; {otherwise}"),
    }
}

/// Below this Jaro-Winkler likeness a proposal confuses more than it helps: one typing slip in a short name stays above it.
const LIKENESS_MIN: f64 = 0.82;

/// Names that nwaku has dropped, with what replaces them.
const RENAMED: &[(&str, &str)] =
    &[("pubsub-topic", "shard"), ("topic", "shard"), ("topics", "shard"), ("protected-topic", "protected-shard")];

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 6] = ["tcp-port", "relay", "rest-port", "nodekey", "shard", "content-topic"];

    #[test]
    fn a_slip_finds_its_name() {
        for (given, name) in [
            ("tcp-prot", "tcp-port"),
            ("--tcp_port", "tcp-port"),
            ("relayy", "relay"),
            ("node-key", "nodekey"),
            ("shards", "shard"),
        ] {
            assert_eq!(nearest(given, NAMES), Some(name), "{given}");
        }
    }

    #[test]
    fn a_dropped_name_finds_its_successor() {
        assert_eq!(nearest("pubsub-topic", NAMES), Some("shard"));
    }

    #[test]
    fn nothing_near_suggests_nothing() {
        assert_eq!(nearest("zzz", NAMES), None);
        assert_eq!(nearest("", NAMES), None);
    }
}
