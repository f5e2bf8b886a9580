//! Whatever bytes a client sends as a message or a query, the answer is a status that says whose fault it was.

use std::sync::Arc;

use proptest::prelude::*;
use tokio::runtime;

use super::{MemoryNode, SHARD_0, get, post, subscribed};

const VALID: &str = concat!(
    r#"{"payload":"AQIDBEVEVFQFBgcI","contentTopic":"/app/1/name/proto","version":2,"#,
    r#""timestamp":1681964442000000000,"meta":"c3VwZXI=","ephemeral":true,"proof":"cHJvb2Y="}"#,
);

/// One change of a text: its place (wrapped to the length) and what happens there.
#[derive(Debug, Clone)]
enum Mutation {
    Replace(usize, u8),
    Insert(usize, Vec<u8>),
    Remove(usize, usize),
    Truncate(usize),
    Repeat(usize, usize),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let token = prop_oneof![
        proptest::collection::vec(any::<u8>(), 1..8),
        proptest::sample::select(
            &[
                "\"",
                "{",
                "}",
                "[",
                "]",
                ",",
                ":",
                "null",
                "true",
                "-",
                "1e999",
                "0",
                "\\u0000",
                "\\ud800",
                "=",
                "\"payload\":",
            ][..]
        )
        .prop_map(|token| token.as_bytes().to_vec()),
    ];
    prop_oneof![
        (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Mutation::Replace(at, byte)),
        (any::<usize>(), token).prop_map(|(at, token)| Mutation::Insert(at, token)),
        (any::<usize>(), 1..40_usize).prop_map(|(at, length)| Mutation::Remove(at, length)),
        any::<usize>().prop_map(Mutation::Truncate),
        (any::<usize>(), 1..60_usize).prop_map(|(at, length)| Mutation::Repeat(at, length)),
    ]
}

fn mutated(valid: &[u8], mutations: &[Mutation]) -> Vec<u8> {
    let mut bytes = valid.to_vec();
    for mutation in mutations {
        let at = |at: usize| at % (bytes.len() + 1);
        match mutation {
            Mutation::Replace(place, byte) => {
                let place = at(*place);
                if let Some(target) = bytes.get_mut(place) {
                    *target = *byte;
                }
            }
            Mutation::Insert(place, token) => {
                let place = at(*place);
                bytes.splice(place..place, token.iter().copied());
            }
            Mutation::Remove(place, length) => {
                let place = at(*place);
                let end = (place + length).min(bytes.len());
                bytes.drain(place..end);
            }
            Mutation::Truncate(place) => bytes.truncate(at(*place)),
            Mutation::Repeat(place, length) => {
                let place = at(*place);
                let part = bytes[place..(place + length).min(bytes.len())].to_vec();
                bytes.splice(place..place, part);
            }
        }
    }
    bytes
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    runtime::Builder::new_current_thread().enable_time().build().expect("a runtime").block_on(future)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn a_mutated_message_is_published_or_refused(mutations in proptest::collection::vec(mutation(), 0..6)) {
        let body = mutated(VALID.as_bytes(), &mutations);
        block_on(async {
            let node = subscribed().await;
            let answer = post(&node, &format!("/relay/v1/messages/{SHARD_0}"), body).await;
            let kept = get(&node, &format!("/relay/v1/messages/{SHARD_0}")).await.json();
            let kept = kept.as_array().map_or(0, Vec::len);
            prop_assert!(matches!((answer.status, kept), (200, 1) | (400 | 413, 0)), "{answer:?}, {kept} kept");
            if answer.status != 200 {
                answer.refuses(answer.status, &[]);
            } else if mutations.is_empty() {
                answer.is_ok();
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_mutated_query_is_answered_or_refused(mutations in proptest::collection::vec(mutation(), 0..6)) {
        let valid = b"includeData=true&contentTopics=%2Fa%2F1%2Fb%2Fc&startTime=1&endTime=2&ascending=false&pageSize=5";
        let text = mutated(valid, &mutations);
        // What is no URI never reaches the router: the server refuses it before.
        let Ok(path) = axum::http::Uri::try_from([b"/store/v3/messages?", &*text].concat()) else { return Ok(()) };
        block_on(async {
            let answer = get(&Arc::new(MemoryNode::default()), &path.to_string()).await;
            prop_assert!(matches!(answer.status, 200 | 400), "{answer:?}");
            Ok(())
        })?;
    }
}
