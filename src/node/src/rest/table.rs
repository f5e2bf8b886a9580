//! What a route is made of. The router, the texts about routes, the answers to OPTIONS and the OpenAPI description follow from the rows
//! that each module has beside its handlers.

use std::sync::Arc;

use axum::http::{HeaderName, StatusCode, header};
use axum::routing::MethodRouter;

use super::{Api, admin, filter, lightpush, relay, state, store};

/// Every route, by the module that serves it.
const GROUPS: &[&[Route]] =
    &[state::ROUTES, relay::ROUTES, filter::ROUTES, lightpush::ROUTES, store::ROUTES, admin::ROUTES];

/// The first segments of routes that are there with `--rest-admin` only.
pub(super) const ADMIN: &str = "/admin/";

/// A path and what can be done there.
pub(super) struct Route {
    /// With the names of its variable segments in braces.
    pub(super) path: &'static str,
    pub(super) operations: &'static [Operation],
}

/// One method of a route.
pub(super) struct Operation {
    pub(super) method: Method,
    /// What it does, in one sentence.
    pub(super) summary: &'static str,
    /// Its handler.
    pub(super) mount: fn() -> MethodRouter<Arc<Api>>,
    /// Parameters of the query string.
    pub(super) parameters: &'static [Parameter],
    /// The schema of its JSON body, if it has one.
    pub(super) body: Option<&'static str>,
    /// Every status that it gives once the node is there.
    pub(super) answers: &'static [Answer],
    /// Whether a GET changes something, so that HEAD, which a client may send for any GET, must be refused.
    pub(super) drains: bool,
    /// Whether it is refused while the node is initializing, as nearly all are (`starting.rs`).
    pub(super) needs_node: bool,
}

impl Operation {
    /// The parts that most operations leave out.
    pub(super) const PLAIN: Self = Self {
        method: Method::Get,
        summary: "",
        mount: MethodRouter::new,
        parameters: &[],
        body: None,
        answers: &[],
        drains: false,
        needs_node: true,
    };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    Post,
    Put,
    Delete,
}

impl Method {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }
}

/// A parameter of the query string; none is required.
pub(super) struct Parameter {
    pub(super) name: &'static str,
    /// Its JSON type.
    pub(super) kind: &'static str,
    pub(super) meaning: &'static str,
}

/// One status of an operation.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) shape: Shape,
    pub(super) meaning: &'static str,
}

/// The form of an answer's body.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    /// One line of text.
    Text,
    /// JSON of the schema of this name.
    Json(&'static str),
}

/// An answer of one line of text.
pub(super) const fn in_text(status: u16, meaning: &'static str) -> Answer {
    Answer { status, shape: Shape::Text, meaning }
}

/// An answer in JSON.
pub(super) const fn in_json(status: u16, schema: &'static str, meaning: &'static str) -> Answer {
    Answer { status, shape: Shape::Json(schema), meaning }
}

/// The routes that are served.
pub(super) fn routes(with_admin: bool) -> impl Iterator<Item = &'static Route> {
    GROUPS.iter().copied().flatten().filter(move |route| with_admin || !route.path.starts_with(ADMIN))
}

impl Route {
    /// The handlers of all methods, OPTIONS among them, which browsers send before they post.
    pub(super) fn serve(&self) -> MethodRouter<Arc<Api>> {
        let handlers = self.operations.iter().map(|operation| (operation.mount)());
        let served = handlers.fold(MethodRouter::new(), MethodRouter::merge);
        let allowed = || [(header::ALLOW, self.allowed())];
        let (refused, told): ([(HeaderName, String); 1], _) = (allowed(), allowed());
        let served = served.options(async move || (StatusCode::NO_CONTENT, told));
        if self.operations.iter().any(|operation| operation.drains) {
            served.head(async move || (StatusCode::METHOD_NOT_ALLOWED, refused))
        } else {
            served
        }
    }

    /// Its methods, as the Allow header lists them.
    pub(super) fn allowed(&self) -> String {
        let methods = self.operations.iter().map(|operation| operation.method.as_str());
        methods.chain(["OPTIONS"]).collect::<Vec<_>>().join(", ")
    }

    /// The names of its variable segments.
    pub(super) fn variables(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
    }
}
