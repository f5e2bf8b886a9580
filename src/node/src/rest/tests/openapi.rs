//! The description of the API: it has every route that the router serves and nothing else, and every status that it tells of is given to
//! some request.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::{MemoryNode, admin, ask, cases, get, send};
use crate::rest::openapi::INITIALIZING;
use crate::rest::starting::Gate;
use crate::rest::{Api, Options, ServerLimits, routes};

/// A body that never comes is not waited for long.
fn impatient() -> Options {
    let limits = ServerLimits { body_time_max: Duration::from_millis(20), ..ServerLimits::default() };
    Options { limits, ..Options::default() }
}

async fn description(with_admin: bool) -> Value {
    let node = if with_admin { admin::node_of(admin::operated()) } else { Arc::new(MemoryNode::default()) };
    get(&node, "/openapi.json").await.json()
}

/// Every method, path and status that is described of a node that is ready.
fn described(description: &Value) -> BTreeSet<(String, String, u16)> {
    let mut all = BTreeSet::new();
    for (path, methods) in description["paths"].as_object().expect("an object") {
        for (method, operation) in
            methods.as_object().expect("an object").iter().filter(|(name, _)| *name != "parameters")
        {
            let responses = operation["responses"].as_object().expect("an object");
            for (status, _) in responses.iter().filter(|(_, response)| response["description"] != INITIALIZING) {
                all.insert((method.to_uppercase(), path.clone(), status.parse().expect("a status")));
            }
        }
    }
    all
}

#[tokio::test]
async fn every_described_status_is_given_and_no_other() {
    let described = described(&description(true).await);
    let mut given = BTreeSet::new();
    for case in cases::all() {
        let api = Api { backend: case.node.clone(), options: impatient() };
        let answer = ask(routes::router(Arc::new(api)), case.method, &case.uri, case.body).await;
        assert_eq!(answer.status, case.status, "{} {}: {}", case.method, case.uri, answer.text);
        assert!(answer.text.contains(case.part), "{} {}: {}", case.method, case.uri, answer.text);
        if case.status >= 300 && answer.content_type.starts_with("text/") {
            answer.refuses(case.status, &[]);
        }
        given.insert((case.method.to_owned(), case.path.to_owned(), case.status));
    }
    let missing: Vec<_> = described.difference(&given).collect();
    assert!(missing.is_empty(), "described, and given to no request of the cases: {missing:#?}");
    let undescribed: Vec<_> = given.difference(&described).collect();
    assert!(undescribed.is_empty(), "given, and not described: {undescribed:#?}");
}

#[tokio::test]
async fn what_a_node_refuses_while_it_starts_is_described_and_nothing_else() {
    let description = description(true).await;
    let gate = Gate::new(Vec::new(), &Options::default());
    let mut answered = BTreeSet::new();
    for (method, path) in routes() {
        let answer = ask(gate.router(), method, &path.replace(['{', '}'], ""), "").await;
        let described = &description["paths"][path][method.to_lowercase()]["responses"]["503"];
        let meaning = described["description"].as_str().unwrap_or_default();
        assert_eq!(answer.status == 503, meaning.ends_with(INITIALIZING), "{method} {path}: {meaning}");
        if answer.status == 503 {
            answer.refuses(503, &[method, "is not available while the node is initializing", "/health"]);
            assert!(described["content"]["text/plain"].is_object() && answer.retry_after.is_some(), "{method} {path}");
            assert!(described["headers"]["Retry-After"].is_object(), "{method} {path}");
        } else {
            assert_eq!(answer.status, 200, "{method} {path}");
            answered.insert(path);
        }
    }
    assert_eq!(answered, BTreeSet::from(["/debug/v1/version", "/health", "/version"]));
}

#[tokio::test]
async fn every_described_route_is_served_and_the_operators_only_for_them() {
    for with_admin in [false, true] {
        let description = description(with_admin).await;
        let node = if with_admin { admin::node_of(admin::operated()) } else { Arc::new(MemoryNode::default()) };
        let paths = description["paths"].as_object().expect("an object");
        assert_eq!(paths.keys().any(|path| path.starts_with("/admin/")), with_admin);
        for (path, methods) in paths {
            let uri = path.replace(['{', '}'], "");
            let answer = send(&node, "OPTIONS", &uri, "").await;
            assert_eq!(answer.status, 204, "{path}");
            let allowed = answer.allow.unwrap_or_default().to_lowercase();
            let described = methods.as_object().expect("an object").keys().filter(|name| *name != "parameters");
            let described: BTreeSet<&str> = described.map(String::as_str).chain(["options"]).collect();
            assert_eq!(allowed.split(", ").collect::<BTreeSet<_>>(), described, "{path}");
        }
    }
    let described: BTreeSet<(String, String)> =
        described(&description(true).await).into_iter().map(|(method, path, _)| (method, path)).collect();
    let routes = routes().map(|(method, path)| (method.to_owned(), path.to_owned()));
    assert_eq!(routes.collect::<BTreeSet<_>>(), described);
}

#[tokio::test]
async fn every_reference_leads_somewhere_and_every_variable_is_described() {
    let description = description(true).await;
    let text = description.to_string();
    let schemas = description["components"]["schemas"].as_object().expect("an object");
    let references: BTreeSet<&str> =
        text.split("#/components/schemas/").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let known: BTreeSet<&str> = schemas.keys().map(String::as_str).collect();
    assert_eq!(references, known, "each schema is used, and each use has one");
    for (path, methods) in description["paths"].as_object().expect("an object") {
        let named = methods["parameters"].as_array().map_or(0, Vec::len);
        assert_eq!(named, path.matches('{').count(), "{path}");
    }
}
