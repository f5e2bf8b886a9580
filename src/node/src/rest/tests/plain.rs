//! Health, info, version, unknown routes, wrong methods.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use super::{MemoryNode, admin, get, post, send};
use crate::rest::{VERSION, routes};

#[tokio::test]
async fn health_names_the_node_the_connection_and_each_protocol() {
    let node = Arc::new(MemoryNode::default());
    assert_eq!(
        get(&node, "/health").await.json(),
        json!({
            "nodeHealth": "READY",
            "connectionStatus": "Disconnected",
            "protocolsHealth": [
                {"Relay": "NOT_READY", "desc": "no peer is connected"},
                {"Store": "READY"},
                {"Filter": "NOT_MOUNTED"},
            ],
        })
    );
}

#[tokio::test]
async fn info_and_version_are_there_under_both_paths() {
    let node = Arc::new(MemoryNode::default());
    for path in ["/info", "/debug/v1/info"] {
        let expected = json!({"listenAddresses": ["/ip4/127.0.0.1/tcp/60000/p2p/16Uiu2"], "enrUri": "enr:-x"});
        assert_eq!(get(&node, path).await.json(), expected);
    }
    for path in ["/version", "/debug/v1/version"] {
        let answer = get(&node, path).await;
        assert_eq!((answer.status, answer.text.as_str()), (200, VERSION));
        assert!(answer.content_type.starts_with("text/plain"));
    }
}

#[tokio::test]
async fn an_unknown_route_lists_the_routes() {
    let node = Arc::new(MemoryNode::default());
    get(&node, "/").await.refuses(404, &["GET /", "/openapi.json", "/health", "/store/v3", "/relay/v1"]);
    post(&node, "/store/v1/messages", "").await.refuses(404, &["POST /store/v1/messages", "/store/v3/messages"]);
    get(&node, "/admin/v1/peers").await.refuses(404, &["/admin endpoints are not available", "--rest-admin=true"]);
    // A topic that was not percent-encoded is several segments, so the hint says what to do.
    get(&node, "/relay/v1/messages//waku/2/rs/0/0").await.refuses(404, &["%2Fwaku%2F2%2Frs%2F0%2F0"]);
    get(&node, &format!("/{}", "x".repeat(20_000))).await.refuses(404, &["/xxx"]);
}

#[tokio::test]
async fn a_wrong_method_names_those_that_work() {
    let node = Arc::new(MemoryNode::default());
    let answer = post(&node, "/health", "").await;
    answer.refuses(405, &["/health", "POST", "Allow"]);
    assert_eq!(answer.allow.as_deref(), Some("GET,HEAD,OPTIONS"));
    let node = admin::node_of(admin::operated());
    let mut served = BTreeMap::<&str, Vec<&str>>::new();
    routes().for_each(|(method, path)| served.entry(path).or_default().push(method));
    for (path, methods) in served {
        let uri = path.replace(['{', '}'], "");
        for method in ["GET", "POST", "PUT", "DELETE", "PATCH"].into_iter().filter(|method| !methods.contains(method)) {
            let answer = send(&node, method, &uri, "[]").await;
            answer.refuses(405, &[&uri, method, "the methods it takes are in the Allow header"]);
            let allow = answer.allow.unwrap_or_default();
            assert!(methods.iter().all(|method| allow.contains(method)), "{method} {uri}: {allow}");
        }
    }
}

#[tokio::test]
async fn options_answer_on_every_route() {
    let node = Arc::new(MemoryNode::default());
    for (path, allow) in [
        ("/relay/v1/subscriptions", "POST, DELETE, OPTIONS"),
        ("/relay/v1/messages/x", "GET, POST, OPTIONS"),
        ("/relay/v1/auto/subscriptions", "POST, DELETE, OPTIONS"),
        ("/relay/v1/auto/messages", "POST, OPTIONS"),
        ("/relay/v1/auto/messages/x", "GET, OPTIONS"),
        ("/store/v3/messages", "GET, OPTIONS"),
        ("/lightpush/v3/message", "POST, OPTIONS"),
    ] {
        let answer = send(&node, "OPTIONS", path, "").await;
        assert_eq!((answer.status, answer.allow.as_deref()), (204, Some(allow)), "{path}");
    }
}
