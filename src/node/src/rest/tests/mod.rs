//! Goal: every route answers as nwaku's does, and every wrong request gets one sentence and harms no other.
//! Method: the router is driven in process, the server over loopback, on a small node that keeps its messages in memory.

mod admin;
mod bodies;
mod cases;
mod filter;
mod fuzz;
mod lightpush;
mod node;
mod openapi;
mod origin;
mod plain;
mod relay;
mod server;
mod store;

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use serde_json::Value;
use tower::ServiceExt;

use super::{Api, Options, routes};
use node::{MemoryNode, Operated};

/// `/waku/2/rs/0/0`, percent-encoded as in a path.
const SHARD_0: &str = "%2Fwaku%2F2%2Frs%2F0%2F0";

/// What a request was answered with.
#[derive(Debug)]
struct Answer {
    status: u16,
    allow: Option<String>,
    retry_after: Option<String>,
    content_type: String,
    text: String,
}

impl Answer {
    fn json(&self) -> Value {
        assert_eq!((self.status, self.content_type.as_str()), (200, "application/json"), "{}", self.text);
        serde_json::from_str(&self.text).expect("the answer is JSON")
    }

    /// Asserts a refusal: its status, and that its one line of text contains every part.
    fn refuses(&self, status: u16, parts: &[&str]) {
        assert_eq!(self.status, status, "{}", self.text);
        assert_eq!(self.content_type, "text/plain; charset=utf-8");
        assert!(!self.text.is_empty() && self.text.lines().count() == 1 && self.text.len() < 1_000, "{}", self.text);
        for part in parts {
            assert!(self.text.contains(part), "{part:?} is not in {:?}", self.text);
        }
    }

    fn is_ok(&self) {
        assert_eq!((self.status, self.text.as_str()), (200, "OK"));
    }
}

fn router(node: &Arc<MemoryNode>) -> Router {
    routes::router(Arc::new(Api { backend: Arc::clone(node) as _, options: Options::default() }))
}

async fn send(node: &Arc<MemoryNode>, method: &str, path: &str, body: impl Into<Body>) -> Answer {
    ask(router(node), method, path, body).await
}

async fn ask(router: Router, method: &str, path: &str, body: impl Into<Body>) -> Answer {
    let request = Request::builder().method(method).uri(path).body(body.into()).expect("the request is well formed");
    let response = router.oneshot(request).await.expect("the router never fails");
    let header = |name: &str| response.headers().get(name).map(|value| value.to_str().expect("ASCII").to_owned());
    let (status, allow, retry_after) = (response.status().as_u16(), header("allow"), header("retry-after"));
    let content_type = header("content-type").unwrap_or_default();
    let body = to_bytes(response.into_body(), usize::MAX).await.expect("the body is in memory");
    Answer {
        status,
        allow,
        retry_after,
        content_type,
        text: String::from_utf8(body.into()).expect("answers are UTF-8"),
    }
}

async fn get(node: &Arc<MemoryNode>, path: &str) -> Answer {
    send(node, "GET", path, Body::empty()).await
}

async fn post(node: &Arc<MemoryNode>, path: &str, body: impl Into<Body>) -> Answer {
    send(node, "POST", path, body).await
}

/// Subscribes to `/waku/2/rs/0/0`.
async fn subscribed() -> Arc<MemoryNode> {
    let node = Arc::new(MemoryNode::default());
    post(&node, "/relay/v1/subscriptions", r#"["/waku/2/rs/0/0"]"#).await.is_ok();
    node
}
