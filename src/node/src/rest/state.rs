//! The plain answers: health, info, version, and the description of the API itself.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::backend::{Health, ProtocolHealth};
use super::table::{Operation, Route, in_json, in_text};
use super::{Api, VERSION, openapi};

const INFO: &[Operation] = &[Operation {
    summary: "Where the node listens, and its record.",
    mount: || get(info),
    answers: &[in_json(200, "Info", "Addresses that end in /p2p/ID, and the record as enr:….")],
    ..Operation::PLAIN
}];

const VERSION_OF: &[Operation] = &[Operation {
    summary: "The version of the node.",
    mount: || get(async || VERSION),
    answers: &[in_text(200, "The version, such as v0.1.0.")],
    needs_node: false,
    ..Operation::PLAIN
}];

pub(super) const ROUTES: &[Route] = &[
    Route {
        path: "/health",
        operations: &[Operation {
            summary: "How the node and each of its protocols are.",
            mount: || get(health),
            answers: &[in_json(200, "Health", "The state of the node, of its connections and of each protocol.")],
            needs_node: false,
            ..Operation::PLAIN
        }],
    },
    Route { path: "/info", operations: INFO },
    Route { path: "/debug/v1/info", operations: INFO },
    Route { path: "/version", operations: VERSION_OF },
    Route { path: "/debug/v1/version", operations: VERSION_OF },
    Route {
        path: "/openapi.json",
        operations: &[Operation {
            summary: "This description.",
            mount: || get(description),
            answers: &[in_json(200, "Description", "The routes that this node serves, as OpenAPI 3.1.")],
            ..Operation::PLAIN
        }],
    },
];

async fn description(State(api): State<Arc<Api>>) -> Response {
    Json(openapi::description(api.backend.admin().is_some())).into_response()
}

async fn health(State(api): State<Arc<Api>>) -> Response {
    health_answer(&api.backend.health().await)
}

pub(super) fn health_answer(health: &Health) -> Response {
    let Health { node, connection, protocols } = health;
    Json(HealthAnswer {
        node_health: node.as_str(),
        connection_status: connection.as_str(),
        protocols_health: protocols.iter().map(ProtocolAnswer).collect(),
    })
    .into_response()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HealthAnswer<'a> {
    node_health: &'static str,
    connection_status: &'static str,
    protocols_health: Vec<ProtocolAnswer<'a>>,
}

/// One protocol as clients expect it: the name is the key of the state, and `desc` is there only if it says something.
struct ProtocolAnswer<'a>(&'a ProtocolHealth);

impl Serialize for ProtocolAnswer<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(self.0.name, self.0.state.as_str())?;
        if let Some(description) = &self.0.description {
            map.serialize_entry("desc", description)?;
        }
        map.end()
    }
}

async fn info(State(api): State<Arc<Api>>) -> Response {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct InfoAnswer {
        listen_addresses: Vec<String>,
        enr_uri: String,
    }

    let info = api.backend.info();
    Json(InfoAnswer { listen_addresses: info.listen_addresses, enr_uri: info.enr_uri }).into_response()
}
