//! One request for every status that the description tells of.

use std::sync::Arc;

use axum::body::Body;

use super::admin::{ADDRESS, HERE, node_of, operated};
use super::lightpush::{BODY, V1, V3};
use super::{MemoryNode, Operated, SHARD_0, filter};
use crate::rest::{PublishError, PushError, QueryError, TopicError};

/// A request, and the answer that is due.
pub(super) struct Case {
    pub(super) node: Arc<MemoryNode>,
    pub(super) method: &'static str,
    /// As the description has it.
    pub(super) path: &'static str,
    pub(super) uri: String,
    pub(super) body: Body,
    pub(super) status: u16,
    /// What the answer contains.
    pub(super) part: &'static str,
}

impl Case {
    /// A request without a body to a node that keeps nothing; `uri` goes on behind the path, or stands for it.
    pub(super) fn new(method: &'static str, path: &'static str, uri: &str, status: u16, part: &'static str) -> Self {
        let (uri, node) = (uri.to_owned(), Arc::default());
        Self { node, method, path, uri, body: Body::empty(), status, part }
    }

    pub(super) fn body(self, body: impl Into<Body>) -> Self {
        Self { body: body.into(), ..self }
    }

    pub(super) fn at(self, node: MemoryNode) -> Self {
        Self { node: Arc::new(node), ..self }
    }

    fn operated(self, operated: Operated) -> Self {
        Self { node: node_of(operated), ..self }
    }
}

/// A body that never comes.
pub(super) fn late() -> Body {
    Body::from_stream(futures::stream::pending::<Result<String, std::io::Error>>())
}

/// A body beyond every limit.
pub(super) fn large() -> Body {
    Body::from(vec![b' '; 8 << 20])
}

/// All of them.
pub(super) fn all() -> Vec<Case> {
    [state(), subscriptions(), publishing(), taking(), pushing_v1(), pushing_v3(), querying(), listing(), operating()]
        .into_iter()
        .chain([filter::cases()])
        .flatten()
        .collect()
}

fn state() -> Vec<Case> {
    let plain = |path, part| Case::new("GET", path, path, 200, part);
    vec![
        plain("/health", "nodeHealth"),
        plain("/info", "enrUri"),
        plain("/debug/v1/info", "listenAddresses"),
        plain("/version", "v"),
        plain("/debug/v1/version", "v"),
        plain("/openapi.json", "3.1.0"),
    ]
}

fn subscriptions() -> Vec<Case> {
    let route = |method, path, topics: &'static str, kind| {
        let case = move |status, part| Case::new(method, path, path, status, part);
        let closing = || MemoryNode { topic_error: Some(TopicError::ShuttingDown), ..MemoryNode::default() };
        vec![
            case(200, "OK").body(topics),
            case(400, kind).body(r#"["nonsense"]"#),
            case(408, "send it again").body(late()),
            case(413, "too large").body(large()),
            case(503, "shutting down").body(topics).at(closing()),
        ]
    };
    let pubsub = (r#"["/waku/2/rs/0/0"]"#, "Invalid pubsub topic(s): nonsense");
    let content = (r#"["/app/1/name/proto"]"#, "Invalid content topic(s): nonsense");
    ["POST", "DELETE"]
        .into_iter()
        .flat_map(|method| {
            let own = route(method, "/relay/v1/subscriptions", pubsub.0, pubsub.1);
            let auto = route(method, "/relay/v1/auto/subscriptions", content.0, content.1);
            [own, auto]
        })
        .flatten()
        .collect()
}

fn publishing() -> Vec<Case> {
    const MESSAGE: &str = r#"{"payload":"AQ==","contentTopic":"/app/1/name/proto"}"#;
    let route = |path, uri: String| {
        let case = move |status, part| Case::new("POST", path, &uri, status, part);
        let failing = |error| MemoryNode { publish_error: Some(error), ..MemoryNode::default() };
        vec![
            case(200, "OK").body(MESSAGE).at(MemoryNode::taking_part()),
            case(400, "Node not subscribed to topic").body(MESSAGE),
            case(408, "send it again").body(late()),
            case(413, "Message size exceeded maximum of 153600 bytes").body(large()),
            case(500, "Failed to publish: timedout").body(MESSAGE).at(failing(PublishError::Timeout)),
            case(503, "Failed to publish: the node is busy, try again later")
                .body(MESSAGE)
                .at(failing(PublishError::Busy)),
        ]
    };
    let own = route("/relay/v1/messages/{pubsubTopic}", format!("/relay/v1/messages/{SHARD_0}"));
    let auto = route("/relay/v1/auto/messages", "/relay/v1/auto/messages".to_owned());
    own.into_iter().chain(auto).collect()
}

fn taking() -> Vec<Case> {
    let route = |path, start: &'static str, topic: &'static str| {
        let case = move |end: &str, status, part| Case::new("GET", path, &format!("{start}{end}"), status, part);
        vec![
            case(topic, 200, "[]").at(MemoryNode::taking_part()),
            case("%ff", 400, "UTF-8"),
            case(topic, 404, "Not subscribed to topic: /"),
        ]
    };
    let own = route("/relay/v1/messages/{pubsubTopic}", "/relay/v1/messages/", SHARD_0);
    let content = "%2Fapp%2F1%2Fname%2Fproto";
    let auto = route("/relay/v1/auto/messages/{contentTopic}", "/relay/v1/auto/messages/", content);
    own.into_iter().chain(auto).collect()
}

fn refusing(error: PushError) -> MemoryNode {
    MemoryNode { push_error: Some(error), ..MemoryNode::default() }
}

fn refused(code: u32) -> MemoryNode {
    refusing(PushError::Refused { code, text: "as the service says".to_owned() })
}

fn pushing_v1() -> Vec<Case> {
    let case = |status, part| Case::new("POST", V1, V1, status, part);
    vec![
        case(200, "OK").body(BODY),
        case(400, "Invalid push request").body("{}"),
        case(408, "send it again").body(late()),
        case(413, "Message size exceeded maximum").body(large()),
        case(429, "Request rate limit reached").body(BODY).at(refused(429)),
        case(503, "No suitable service peer & none discovered").body(BODY).at(refusing(PushError::NoService)),
    ]
}

fn pushing_v3() -> Vec<Case> {
    let case = |status, part| Case::new("POST", V3, V3, status, part);
    let told = [413, 421, 429, 500, 503, 504, 505].map(|status| {
        let part = r#"{"statusDesc":"as the service says"}"#;
        case(u16::try_from(status).expect("a status"), part).body(BODY).at(refused(status))
    });
    vec![
        case(200, r#"{"relayPeerCount":3}"#).body(BODY),
        case(400, "Invalid push request").body("{}"),
        case(408, "send it again").body(late()),
    ]
    .into_iter()
    .chain(told)
    .collect()
}

fn querying() -> Vec<Case> {
    let path = "/store/v3/messages";
    let failing = |status, part, error: QueryError| {
        Case::new("GET", path, path, status, part)
            .at(MemoryNode { query_error: Some(error).into(), ..MemoryNode::default() })
    };
    vec![
        Case::new("GET", path, path, 200, "\"statusCode\":200"),
        Case::new("GET", path, "/store/v3/messages?pageSize=x", 400, "query parameter pageSize"),
        failing(412, "No suitable service peer & none discovered", QueryError::NotMounted),
        failing(429, "Request rate limit reached", QueryError::TooManyRequests),
        failing(500, "No history response received (timeout)", QueryError::NoAnswer),
        failing(503, "try again later", QueryError::Busy),
    ]
}

fn listing() -> Vec<Case> {
    let case = |path, uri: &str, status, part| Case::new("GET", path, uri, status, part).operated(operated());
    let unrelayed = |path, uri: &str| {
        let part = "Error: Relay Protocol is not mounted to the node";
        Case::new("GET", path, uri, 503, part).operated(Operated { relay_off: true, ..operated() })
    };
    let on_shard = |path: &'static str| {
        let uri = |shard| path.replace("{shardId}", shard);
        [case(path, &uri("3"), 200, "16Uiu2"), case(path, &uri("x"), 400, "Invalid shardId")]
    };
    let plain = ["/admin/v1/peers", "/admin/v1/peers/service", "/admin/v1/peers/connected"];
    let relays = ["/admin/v1/peers/relay", "/admin/v1/peers/mesh"];
    let (relay_on, mesh_on) = ("/admin/v1/peers/relay/on/{shardId}", "/admin/v1/peers/mesh/on/{shardId}");
    let shards = ["/admin/v1/peers/connected/on/{shardId}", relay_on, mesh_on];
    let one = "/admin/v1/peer/{peerId}";
    plain
        .map(|path| case(path, path, 200, "multiaddr"))
        .into_iter()
        .chain(relays.map(|path| case(path, path, 200, "\"shard\":3")))
        .chain(relays.map(|path| unrelayed(path, path)))
        .chain(shards.into_iter().flat_map(on_shard))
        .chain([relay_on, mesh_on].map(|path| unrelayed(path, &path.replace("{shardId}", "3"))))
        .chain([
            case("/admin/v1/peers/stats", "/admin/v1/peers/stats", 200, "By Connectedness"),
            case(one, &format!("/admin/v1/peer/{HERE}"), 200, "Discv5"),
            case(one, "/admin/v1/peer/nobody", 400, "Invalid argument"),
            case(one, "/admin/v1/peer/16Uiu2HAkzHaTP5JsUwfR9NR8Rj9HC24puS6ocaU8wze4QrXr9iXp", 404, "not found"),
        ])
        .collect()
}

fn operating() -> Vec<Case> {
    let connect = |status, part| Case::new("POST", "/admin/v1/peers", "/admin/v1/peers", status, part);
    let addresses = || format!("[\"{ADDRESS}\"]");
    let failing = Operated { connect_error: Some("nobody is there".to_owned()), ..operated() };
    let path = "/admin/v1/log-level/{logLevel}";
    let level = |level: &str, status, part| Case::new("POST", path, &path.replace("{logLevel}", level), status, part);
    let subscriptions = "/admin/v1/filter/subscriptions";
    vec![
        connect(200, "OK").body(addresses()).operated(operated()),
        connect(400, "Failed to connect to peer at index: 0").body(addresses()).operated(failing),
        connect(408, "send it again").body(late()).operated(operated()),
        connect(413, "too large").body(large()).operated(operated()),
        Case::new("GET", subscriptions, subscriptions, 200, "filterCriteria").operated(operated()),
        Case::new("GET", subscriptions, subscriptions, 400, "Error: Filter Protocol is not mounted to the node")
            .operated(Operated { subscribers: None, ..operated() }),
        level("DEBUG", 200, "OK").operated(operated()),
        level("loud", 400, "Invalid log-level: loud. Please specify one of").operated(operated()),
        level("INFO", 503, "somebody else logs")
            .operated(Operated { log_error: Some("somebody else logs".to_owned()), ..operated() }),
    ]
}
