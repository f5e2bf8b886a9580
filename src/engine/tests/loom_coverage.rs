//! No publishing operation of the engine escapes the models.
#![cfg(loom)]

#[path = "common/sources.rs"]
mod sources;

use sources::Source;

/// Where the operations are that `loom_*.rs` prove, each file of those for its own part.
const PROVEN: [&str; 7] = ["ring/", "arena/", "barrier.rs", "wait.rs", "seen/", "lane.rs", "orders.rs"];

/// Where others are, and why no model has them.
const OTHERS: [(&str, &str); 1] = [("sync/", "names the orderings it stands in for")];

#[test]
fn every_publishing_operation_is_in_a_file_that_models_prove() {
    let known =
        |path: &str| PROVEN.iter().chain(OTHERS.iter().map(|(place, _)| place)).any(|place| path.starts_with(place));
    let unknown: Vec<String> = Source::all()
        .iter()
        .filter(|source| !known(&source.path))
        .flat_map(|source| {
            source
                .publishing_calls()
                .into_iter()
                .map(|call| format!("{} {}, line {}", source.path, call.function, call.line))
        })
        .collect();
    assert!(unknown.is_empty(), "no model is about {}", unknown.join(", "));
}
