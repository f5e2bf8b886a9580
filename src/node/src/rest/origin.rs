//! Which web pages may use the API (`--rest-allow-origin`), with nwaku's meaning of the flag.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};

use super::error::Refusal;

/// For how long a browser may remember what it was allowed, in seconds.
const MAX_AGE_SECONDS: HeaderValue = HeaderValue::from_static("600");

/// The origins of the flag.
#[derive(Debug, Default)]
struct AllowedOrigins {
    /// `*` alone: pages of every origin.
    every: bool,
    /// Lower-case, with wildcards; one without a scheme holds for `http` and for `https`.
    patterns: Vec<String>,
}

impl AllowedOrigins {
    fn new(patterns: &[String]) -> Self {
        let patterns: Vec<String> = patterns.iter().map(|pattern| pattern.trim().to_ascii_lowercase()).collect();
        Self { every: patterns == ["*"], patterns }
    }

    fn allows(&self, origin: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        let bare = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        self.patterns.iter().any(|pattern| {
            let subject = if pattern.contains("://") { Some(origin.as_str()) } else { bare };
            subject.is_some_and(|subject| matches(pattern.as_bytes(), subject.as_bytes()))
        })
    }
}

/// Whether `text` is of the form `pattern`, in which `*` stands for anything and `?` for one character or none.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    // Which beginnings of the pattern fit what was read of the text: linear in their product, whatever the wildcards are.
    let skips = |byte: u8| byte == b'*' || byte == b'?';
    let mut fits = vec![false; pattern.len() + 1];
    fits[0] = true;
    let spread = |fits: &mut [bool]| {
        for (at, byte) in pattern.iter().enumerate() {
            fits[at + 1] |= fits[at] && skips(*byte);
        }
    };
    spread(&mut fits);
    for given in text {
        let mut next = vec![false; pattern.len() + 1];
        for (at, byte) in pattern.iter().enumerate().filter(|(at, _)| fits[*at]) {
            next[at] |= *byte == b'*';
            next[at + 1] |= *byte == *given || skips(*byte);
        }
        spread(&mut next);
        fits = next;
    }
    fits[pattern.len()]
}

/// The router behind a check of the pages that `patterns` allow. Without any nothing is checked nor told, and browsers keep all pages of
/// other origins away by themselves; programs that are no browser send no origin.
pub(super) fn checked<S: Clone + Send + Sync + 'static>(router: Router<S>, patterns: &[String]) -> Router<S> {
    if patterns.is_empty() {
        return router;
    }
    router.layer(middleware::from_fn_with_state(Arc::new(AllowedOrigins::new(patterns)), check))
}

/// Refuses requests of pages that are not allowed, and tells browsers which are.
async fn check(State(allowed): State<Arc<AllowedOrigins>>, request: Request, next: Next) -> Response {
    let mut origins = request.headers().get_all(header::ORIGIN).iter();
    let (origin, another) = (origins.next().cloned(), origins.next().is_some());
    if another {
        return Refusal::bad_request("Only a single Origin header must be specified").into_response();
    }
    let told = match origin {
        _ if allowed.every => HeaderValue::from_static("*"),
        None => return next.run(request).await,
        Some(origin) if origin.to_str().is_ok_and(|origin| allowed.allows(origin)) => origin,
        Some(_) => {
            let text = "Origin not allowed; start the node with --rest-allow-origin for the page's origin";
            return Refusal::new(StatusCode::FORBIDDEN, text).into_response();
        }
    };
    let asks_first = request.method() == Method::OPTIONS;
    let mut response = next.run(request).await;
    tell(response.headers_mut(), told, asks_first);
    response
}

fn tell(headers: &mut HeaderMap, origin: HeaderValue, asks_first: bool) {
    if origin != "*" {
        // A cache must not give one page the answer to another.
        headers.append(header::VARY, HeaderValue::from_static("Origin"));
    }
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    if asks_first && let Some(methods) = headers.get(header::ALLOW).cloned() {
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("content-type"));
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE_SECONDS);
    }
}

#[cfg(test)]
mod tests {
    use super::AllowedOrigins;

    #[test]
    fn origins_are_allowed_as_the_flag_says() {
        let allowed = |flags: &[&str], origin: &str| {
            AllowedOrigins::new(&flags.iter().map(|flag| (*flag).to_owned()).collect::<Vec<_>>()).allows(origin)
        };
        for (flags, origin, expected) in [
            (&["localhost:*"][..], "http://localhost:3000", true),
            (&["localhost:*"], "https://localhost:3000", true),
            (&["localhost:*"], "http://localhost", false),
            (&["localhost*"], "http://LOCALHOST", true),
            (&["127.0.0.1:8080"], "http://127.0.0.1:8080", true),
            (&["127.0.0.1:8080"], "http://127x0.0.1:8080", false),
            (&["127.0.0.1:808?"], "http://127.0.0.1:8081", true),
            (&["127.0.0.1:808?"], "http://127.0.0.1:808", true),
            (&["https://waku.org"], "http://waku.org", false),
            (&["https://*.waku.org", "https://waku.org"], "https://a.b.waku.org", true),
            (&["https://*.waku.org"], "https://waku.org.evil.example", false),
            (&["*"], "null", false),
            (&["a", "b"], "http://b", true),
            (&[], "http://a", false),
        ] {
            assert_eq!(allowed(flags, origin), expected, "{flags:?} {origin}");
        }
        let flag = format!("{}a", "*".repeat(5_000));
        assert!(!allowed(&[&flag], &format!("http://{}", "b".repeat(5_000))), "and in no time worth the name");
    }
}
