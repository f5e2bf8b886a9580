//! The description of the API in OpenAPI 3.1, made from the table of routes.

mod schemas;

use serde_json::{Map, Value, json};

use super::VERSION;
use super::table::{Answer, Operation, Route, Shape, routes};

/// The description of the routes that a node serves.
pub(super) fn description(with_admin: bool) -> Value {
    let paths = routes(with_admin).map(|route| (route.path.to_owned(), path(route)));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Levada",
            "version": VERSION.trim_start_matches('v'),
            "description": "The REST API of a Waku node, compatible with nwaku's. Payloads, meta and proof are base64. Errors are one \
                line of text that says what is wrong, where, and what to do.",
        },
        "paths": Map::from_iter(paths),
        "components": {"schemas": schemas::schemas()},
    })
}

/// All methods of a route.
fn path(route: &Route) -> Value {
    let mut path = Map::new();
    let variables: Vec<Value> = route.variables().map(variable).collect();
    if !variables.is_empty() {
        path.insert("parameters".to_owned(), variables.into());
    }
    for operation in route.operations {
        path.insert(operation.method.as_str().to_lowercase(), method(operation));
    }
    path.into()
}

fn variable(name: &str) -> Value {
    let (kind, meaning) = match name {
        "pubsubTopic" => ("string", "A pubsub topic, percent-encoded, such as %2Fwaku%2F2%2Frs%2F0%2F0."),
        "contentTopic" => ("string", "A content topic, percent-encoded, such as %2Fapp%2F1%2Fname%2Fproto."),
        "shardId" => ("integer", "The number of a shard."),
        "peerId" => ("string", "A peer id, such as 16Uiu2HAm…."),
        "logLevel" => ("string", "One of TRACE, DEBUG, INFO, NOTICE, WARN, ERROR, FATAL, NONE."),
        _ => ("string", "The id of a request, as the client chooses it."),
    };
    json!({"name": name, "in": "path", "required": true, "schema": {"type": kind}, "description": meaning})
}

fn method(operation: &Operation) -> Value {
    let mut method = Map::new();
    method.insert("summary".to_owned(), operation.summary.into());
    let parameters = operation.parameters.iter().map(|parameter| {
        json!({
            "name": parameter.name, "in": "query", "required": false,
            "schema": {"type": parameter.kind}, "description": parameter.meaning,
        })
    });
    let parameters: Vec<Value> = parameters.collect();
    if !parameters.is_empty() {
        method.insert("parameters".to_owned(), parameters.into());
    }
    if let Some(schema) = operation.body {
        let body = json!({"required": true, "content": {"application/json": {"schema": reference(schema)}}});
        method.insert("requestBody".to_owned(), body);
    }
    let answers = operation.answers.iter().map(|answer| (answer.status.to_string(), response(answer)));
    let mut answers = Map::from_iter(answers);
    if operation.needs_node {
        let own = answers.remove(TOO_EARLY).unwrap_or_else(|| json!({"description": "", "content": {}}));
        answers.insert(TOO_EARLY.to_owned(), or_too_early(own));
    }
    method.insert("responses".to_owned(), answers.into());
    method.into()
}

/// The status of what is asked too early.
const TOO_EARLY: &str = "503";

/// What it means.
pub(super) const INITIALIZING: &str = "The node is initializing; GET /health says when it is ready.";

/// The 503 of a method, whatever else it stands for, also as it is while the node starts.
fn or_too_early(mut response: Value) -> Value {
    let meaning = format!("{} {INITIALIZING}", response["description"].as_str().unwrap_or_default());
    response["description"] = meaning.trim_start().into();
    response["content"]["text/plain"] = json!({"schema": {"type": "string"}});
    response["headers"] = json!({
        "Retry-After": {"description": "While the node is initializing: seconds to wait.", "schema": {"type": "integer"}},
    });
    response
}

fn response(answer: &Answer) -> Value {
    let content = match answer.shape {
        Shape::Text => json!({"text/plain": {"schema": {"type": "string"}}}),
        Shape::Json(schema) => json!({"application/json": {"schema": reference(schema)}}),
    };
    json!({"description": answer.meaning, "content": content})
}

fn reference(schema: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{schema}")})
}
