//! The filter routes, with a filter client that does as it is told.

use std::sync::{Arc, Mutex};

use axum::body::Body;
use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use serde_json::{Value, json};

use super::cases::{Case, large, late};
use super::node::MemoryNode;
use super::{Answer, get, post, send};
use crate::rest::{CachedMessage, FilterClient, FilterRefusal, NotSubscribed};

/// Remembers what it was asked, and answers with `refusal` if there is one.
#[derive(Default)]
pub(super) struct FakeFilter {
    pub(super) refusal: Mutex<Option<FilterRefusal>>,
    pub(super) hangs: bool,
    asked: Mutex<Vec<String>>,
    kept: Mutex<Vec<CachedMessage>>,
}

impl FakeFilter {
    fn ask(&self, what: String) -> BoxFuture<'static, Result<(), FilterRefusal>> {
        self.asked.lock().expect("no test panics here").push(what);
        if self.hangs {
            return futures::future::pending().boxed();
        }
        let refusal = self.refusal.lock().expect("no test panics here").clone();
        ready(refusal.map_or(Ok(()), Err)).boxed()
    }
}

impl FilterClient for FakeFilter {
    fn subscribe(
        &self,
        pubsub_topic: Option<String>,
        content_topics: Vec<String>,
    ) -> BoxFuture<'static, Result<(), FilterRefusal>> {
        self.ask(format!("subscribe {pubsub_topic:?} {content_topics:?}"))
    }

    fn unsubscribe(
        &self,
        pubsub_topic: Option<String>,
        content_topics: Vec<String>,
    ) -> BoxFuture<'static, Result<(), FilterRefusal>> {
        self.ask(format!("unsubscribe {pubsub_topic:?} {content_topics:?}"))
    }

    fn unsubscribe_all(&self) -> BoxFuture<'static, Result<(), FilterRefusal>> {
        self.ask("unsubscribe all".to_owned())
    }

    fn ping(&self) -> BoxFuture<'static, Result<(), FilterRefusal>> {
        self.ask("ping".to_owned())
    }

    fn take(&self, pubsub_topic: Option<&str>, content_topic: &str) -> Result<Vec<CachedMessage>, NotSubscribed> {
        let is_known = content_topic == TOPIC && pubsub_topic.is_none_or(|topic| topic == SHARD);
        is_known.then(|| std::mem::take(&mut *self.kept.lock().expect("no test panics here"))).ok_or(NotSubscribed)
    }
}

const TOPIC: &str = "/my-app/1/chat/proto";
const SHARD: &str = "/waku/2/rs/0/0";
const SUBSCRIPTIONS: &str = "/filter/v2/subscriptions";
const ALL: &str = "/filter/v2/subscriptions/all";
const PING: &str = "/filter/v2/subscriptions/{requestId}";
const MESSAGES: &str = "/filter/v2/messages/%2Fmy-app%2F1%2Fchat%2Fproto";
const MESSAGES_ON_SHARD: &str = "/filter/v2/messages/%2Fwaku%2F2%2Frs%2F0%2F0/%2Fmy-app%2F1%2Fchat%2Fproto";

fn told(answer: &Answer) -> (u16, Value) {
    assert_eq!(answer.content_type, "application/json", "{}", answer.text);
    (answer.status, serde_json::from_str(&answer.text).expect("the answer is JSON"))
}

fn asked(node: &MemoryNode) -> Vec<String> {
    std::mem::take(&mut *node.filter.asked.lock().expect("no test panics here"))
}

fn criteria(pubsub_topic: Option<&str>) -> String {
    let mut body = json!({"requestId": "1", "contentFilters": [TOPIC]});
    if let Some(topic) = pubsub_topic {
        body["pubsubTopic"] = topic.into();
    }
    body.to_string()
}

/// A request for every status that the description has for these routes.
pub(super) fn cases() -> Vec<Case> {
    let all = r#"{"requestId": "1"}"#.to_owned();
    let routes = [
        ("POST", SUBSCRIPTIONS, SUBSCRIPTIONS, criteria(None)),
        ("PUT", SUBSCRIPTIONS, SUBSCRIPTIONS, criteria(None)),
        ("DELETE", SUBSCRIPTIONS, SUBSCRIPTIONS, criteria(None)),
        ("DELETE", ALL, ALL, all),
        ("GET", PING, "/filter/v2/subscriptions/1", String::new()),
    ];
    let mut cases = Vec::new();
    for (method, path, uri, body) in routes {
        let case = |status, part| Case::new(method, path, uri, status, part).body(body.clone());
        cases.push(case(200, r#""statusDesc":"OK""#));
        let refusals = [404, 429, 500, 503, 504];
        cases.extend(refusals.map(|status| case(status, "the reason").at(refusing(status))));
        if method == "GET" {
            cases.push(Case::new(method, path, "/filter/v2/subscriptions/%ff", 400, "UTF-8"));
        } else {
            cases.push(case(400, "Failed to decode request").body("{}"));
            cases.push(case(408, "send it again").body(late()));
            cases.push(case(413, "too large").body(large()));
        }
    }
    for (path, uri, other) in [
        ("/filter/v2/messages/{contentTopic}", MESSAGES, "/filter/v2/messages/other"),
        ("/filter/v2/messages/{pubsubTopic}/{contentTopic}", MESSAGES_ON_SHARD, "/filter/v2/messages/other/other"),
    ] {
        cases.push(Case::new("GET", path, uri, 200, "[]"));
        cases.push(Case::new("GET", path, other, 400, "Not subscribed to topic: other"));
    }
    cases
}

fn refusing(status: u16) -> MemoryNode {
    let refusal = Mutex::new(Some(FilterRefusal { status, text: "the reason".to_owned() }));
    MemoryNode { filter: FakeFilter { refusal, ..FakeFilter::default() }, ..MemoryNode::default() }
}

#[tokio::test]
async fn requests_reach_the_filter_client_and_are_answered_with_their_id() {
    let node = Arc::new(MemoryNode::default());
    let named = (200, json!({"requestId": "1", "statusDesc": "OK"}));
    for (method, does) in [("POST", "subscribe"), ("PUT", "subscribe"), ("DELETE", "unsubscribe")] {
        for pubsub_topic in [None, Some(SHARD)] {
            assert_eq!(told(&send(&node, method, SUBSCRIPTIONS, criteria(pubsub_topic)).await), named);
            assert_eq!(asked(&node), [format!("{does} {pubsub_topic:?} {:?}", [TOPIC])]);
        }
    }
    let all = send(&node, "DELETE", ALL, r#"{"requestId": "1"}"#).await;
    assert_eq!(told(&all), named);
    let pinged = get(&node, "/filter/v2/subscriptions/a%20b").await;
    assert_eq!(told(&pinged), (200, json!({"requestId": "a b", "statusDesc": "OK"})));
    assert_eq!(asked(&node), ["unsubscribe all", "ping"]);
}

#[tokio::test]
async fn refusals_have_the_status_and_the_text_of_the_filter_node() {
    let node = Arc::new(MemoryNode::default());
    for (status, text) in [
        (400, "BAD_REQUEST: exceeds maximum content topics: 100"),
        (404, "NOT_FOUND: peer has no subscriptions"),
        (429, "filter request rejected due rate limit exceeded"),
        (500, "BAD_RESPONSE: the service node's answer cannot be read"),
        (503, "SERVICE_UNAVAILABLE: No suitable service peer & none discovered"),
        (504, "PEER_DIAL_FAILURE: the peer does not serve filter"),
    ] {
        *node.filter.refusal.lock().expect("no test panics here") =
            Some(FilterRefusal { status, text: text.to_owned() });
        let expected = (status, json!({"requestId": "1", "statusDesc": text}));
        for (method, path, body) in [
            ("POST", SUBSCRIPTIONS, criteria(None)),
            ("PUT", SUBSCRIPTIONS, criteria(None)),
            ("DELETE", SUBSCRIPTIONS, criteria(None)),
            ("DELETE", ALL, r#"{"requestId": "1"}"#.to_owned()),
            ("GET", "/filter/v2/subscriptions/1", String::new()),
        ] {
            assert_eq!(told(&send(&node, method, path, body).await), expected, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn a_body_that_is_no_request_is_answered_without_its_id() {
    let node = Arc::new(MemoryNode::default());
    let wrong = [
        ("", "a JSON object is wanted, nothing is given"),
        (r#"["1", ["a"], null]"#, "a JSON object is wanted, an array is given"),
        (r#"{"contentFilters": ["a"]}"#, "requestId"),
        (r#"{"requestId": "1"}"#, "contentFilters"),
        (r#"{"requestId": 1, "contentFilters": ["a"]}"#, "string"),
        (r#"{"requestId": "1", "contentFilters": "a"}"#, "sequence"),
        (r#"{"requestId": "1", "contentFilters": ["a"], "contentTopics": []}"#, "contentTopics"),
        (r#"{"requestId": "1", "requestId": "2", "contentFilters": ["a"]}"#, "duplicate"),
    ];
    for (method, path) in [("POST", SUBSCRIPTIONS), ("PUT", SUBSCRIPTIONS), ("DELETE", SUBSCRIPTIONS)] {
        for (body, part) in wrong {
            let (status, body) = told(&send(&node, method, path, body).await);
            let text = body["statusDesc"].as_str().expect("a text");
            assert!(status == 400 && body["requestId"] == "unknown", "{body}");
            assert!(text.starts_with("BAD_REQUEST: Failed to decode request: ") && text.contains(part), "{text}");
        }
    }
    let (status, _) = told(&send(&node, "DELETE", ALL, "{}").await);
    assert_eq!(status, 400);
    post(&node, SUBSCRIPTIONS, vec![b' '; 300 * 1_024]).await.refuses(413, &["too large"]);
    get(&node, "/filter/v2/subscriptions/%ff").await.refuses(400, &["UTF-8"]);
    assert!(asked(&node).is_empty());
}

#[tokio::test]
async fn a_filter_node_that_does_not_answer_is_waited_for_five_seconds() {
    let node = MemoryNode { filter: FakeFilter { hangs: true, ..FakeFilter::default() }, ..MemoryNode::default() };
    let node = Arc::new(node);
    let asked = [
        ("POST", SUBSCRIPTIONS, criteria(None), "Subscription request timed out"),
        ("DELETE", SUBSCRIPTIONS, criteria(None), "Failed to unsubscribe from contentFilters due to timeout!"),
        (
            "DELETE",
            ALL,
            r#"{"requestId": "1"}"#.to_owned(),
            "Failed to unsubscribe from all contentFilters due to timeout!",
        ),
        ("GET", "/filter/v2/subscriptions/1", String::new(), "Ping timed out"),
    ];
    // Side by side, because they wait.
    let answers = asked.map(async |(method, path, body, text)| (send(&node, method, path, body).await, text));
    for (answer, text) in futures::future::join_all(answers).await {
        let (status, body) = told(&answer);
        assert_eq!((status, body["statusDesc"].as_str()), (503, Some(&*format!("SERVICE_UNAVAILABLE: {text}"))));
    }
}

#[tokio::test]
async fn messages_are_taken_once_and_only_by_those_who_subscribed() {
    let node = Arc::new(MemoryNode::default());
    let message = CachedMessage {
        payload: b"hello".to_vec(),
        content_topic: TOPIC.to_owned(),
        version: 0,
        timestamp_ns: 7,
        meta: None,
        ephemeral: false,
        proof: Vec::new(),
    };
    for path in [MESSAGES, MESSAGES_ON_SHARD] {
        node.filter.kept.lock().expect("no test panics here").push(message.clone());
        send(&node, "HEAD", path, Body::empty()).await;
        let taken = get(&node, path).await.json();
        assert_eq!((taken[0]["payload"].as_str(), taken[0]["contentTopic"].as_str()), (Some("aGVsbG8="), Some(TOPIC)));
        assert_eq!(get(&node, path).await.json(), json!([]));
    }
    get(&node, "/filter/v2/messages/other").await.refuses(400, &["Not subscribed to topic: other"]);
    let other_shard = "/filter/v2/messages/%2Fwaku%2F2%2Frs%2F0%2F1/%2Fmy-app%2F1%2Fchat%2Fproto";
    get(&node, other_shard).await.refuses(400, &["Not subscribed to topic: /my-app/1/chat/proto"]);
    get(&node, "/filter/v2/messages/%ff").await.refuses(400, &["UTF-8"]);
    get(&node, "/filter/v2/messages/%ff/a").await.refuses(400, &["UTF-8"]);
}
