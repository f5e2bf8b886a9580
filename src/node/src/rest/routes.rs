//! The router, and what a request gets that no route serves.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{Method, StatusCode, Uri};

use super::error::Refusal;
use super::origin;
use super::table::{ADMIN, routes};
use super::{Api, text};

/// The router of the REST API.
pub(super) fn router(api: Arc<Api>) -> Router {
    let with_admin = api.backend.admin().is_some();
    let router = routes(with_admin).fold(Router::new(), |router, route| router.route(route.path, route.serve()));
    let router = router.method_not_allowed_fallback(wrong_method).fallback(not_found);
    origin::checked(router, &api.options.allow_origin).with_state(api)
}

async fn not_found(State(api): State<Arc<Api>>, method: Method, uri: Uri) -> Refusal {
    let path = text::shortened(uri.path());
    let with_admin = api.backend.admin().is_some();
    let hint = if uri.path().starts_with(ADMIN) && !with_admin {
        "; /admin endpoints are not available, start the node with --rest-admin=true"
    } else if uri.path().starts_with("/relay/v1/") {
        "; a topic in a path is percent-encoded: %2Fwaku%2F2%2Frs%2F0%2F0"
    } else {
        ""
    };
    let known = near(uri.path(), with_admin).join(", ");
    let text = format!("no route serves {method} {path}; /openapi.json describes all routes, among them {known}{hint}");
    Refusal::new(StatusCode::NOT_FOUND, text)
}

/// The routes that begin as `path` does; of all groups the beginnings if none does.
fn near(path: &str, with_admin: bool) -> Vec<&'static str> {
    let group = |path: &'static str| path.match_indices('/').nth(2).map_or(path, |(end, _)| &path[..end]);
    let first = path.split('/').nth(1).unwrap_or_default();
    let alike = routes(with_admin).map(|route| route.path).filter(|route| route.split('/').nth(1) == Some(first));
    let alike: Vec<&str> = alike.collect();
    if alike.is_empty() {
        routes(with_admin).map(|route| group(route.path)).collect::<BTreeSet<_>>().into_iter().collect()
    } else {
        alike
    }
}

async fn wrong_method(method: Method, uri: Uri) -> Refusal {
    let path = text::shortened(uri.path());
    let text = format!("{path} does not take {method}; the methods it takes are in the Allow header");
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, text)
}
