//! Cross-origin requests (`--rest-allow-origin`).

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request};
use tower::ServiceExt;

use super::MemoryNode;
use crate::rest::{Api, Options, routes};

async fn asked(allow: &[&str], method: &str, origins: &[&str]) -> (u16, HeaderMap, String) {
    let allow_origin = allow.iter().map(|origin| (*origin).to_owned()).collect();
    let options = Options { allow_origin, ..Options::default() };
    let router = routes::router(Arc::new(Api { backend: Arc::new(MemoryNode::default()), options }));
    let request = Request::builder().method(method).uri("/relay/v1/subscriptions");
    let request = origins.iter().fold(request, |request, origin| request.header("origin", *origin));
    let response = router.oneshot(request.body(Body::from("[]")).expect("a request")).await.expect("an answer");
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let body = to_bytes(response.into_body(), usize::MAX).await.expect("the body is in memory");
    (status, headers, String::from_utf8(body.into()).expect("answers are UTF-8"))
}

#[tokio::test]
async fn without_the_flag_nothing_is_told_and_nobody_refused() {
    let (status, headers, _) = asked(&[], "POST", &["http://a.example"]).await;
    assert_eq!((status, headers.get("access-control-allow-origin")), (200, None));
}

#[tokio::test]
async fn an_allowed_page_is_told_so() {
    let (status, headers, _) = asked(&["localhost:*", "a.example"], "POST", &["http://localhost:3000"]).await;
    assert_eq!(status, 200);
    assert_eq!(
        (&headers["access-control-allow-origin"], &headers["vary"]),
        (&"http://localhost:3000".parse().expect("a header"), &"Origin".parse().expect("a header"))
    );
    let (status, headers, _) = asked(&["*"], "POST", &["http://anywhere.example"]).await;
    assert_eq!((status, headers["access-control-allow-origin"].to_str().expect("ASCII")), (200, "*"));
    assert!(headers.get("vary").is_none());
}

#[tokio::test]
async fn a_browser_that_asks_first_is_told_methods_and_headers() {
    let (status, headers, _) = asked(&["a.example"], "OPTIONS", &["https://a.example"]).await;
    assert_eq!(status, 204);
    let header = |name: &str| headers[name].to_str().expect("ASCII").to_owned();
    assert_eq!(header("access-control-allow-origin"), "https://a.example");
    assert_eq!(header("access-control-allow-methods"), "POST, DELETE, OPTIONS");
    assert_eq!(header("access-control-allow-headers"), "content-type");
}

#[tokio::test]
async fn other_pages_are_refused_and_programs_are_not() {
    let (status, headers, text) = asked(&["a.example"], "POST", &["https://b.example"]).await;
    assert_eq!((status, headers.get("access-control-allow-origin")), (403, None));
    assert!(text.starts_with("Origin not allowed") && text.contains("--rest-allow-origin"), "{text}");
    let (status, _, text) = asked(&["a.example"], "POST", &["https://a.example", "https://b.example"]).await;
    assert_eq!((status, text.as_str()), (400, "Only a single Origin header must be specified"));
    assert_eq!(asked(&["a.example"], "POST", &[]).await.0, 200);
}
