//! The schemas of JSON bodies, by the names that the table of routes has for them.

use serde_json::{Value, json};

/// All schemas.
pub(super) fn schemas() -> Value {
    let mut all = json!({});
    for group in [topics(), messages(), filter(), store(), state(), admin()] {
        if let (Some(all), Value::Object(group)) = (all.as_object_mut(), group) {
            all.extend(group);
        }
    }
    all
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn list(name: &str) -> Value {
    json!({"type": "array", "items": reference(name)})
}

fn topics() -> Value {
    json!({
        "Topics": {"type": "array", "items": {"type": "string"}, "examples": [["/waku/2/rs/0/0"]]},
        "Addresses": {"type": "array", "items": {"type": "string"}, "examples": [["/ip4/192.0.2.1/tcp/60000/p2p/16Uiu2HAm…"]]},
    })
}

fn messages() -> Value {
    let base64 = || json!({"type": "string", "contentEncoding": "base64"});
    json!({
        "Message": {
            "type": "object",
            "required": ["payload", "contentTopic"],
            "additionalProperties": false,
            "properties": {
                "payload": base64(),
                "contentTopic": {"type": "string", "minLength": 1},
                "version": {"type": "integer", "minimum": 0, "maximum": u32::MAX, "default": 0},
                "timestamp": {"type": "integer", "description": "Nanoseconds since the epoch; 0 for the present."},
                "meta": base64(),
                "ephemeral": {"type": "boolean", "default": false},
                "proof": base64(),
            },
        },
        "Messages": list("Message"),
        "PushRequest": {
            "type": "object",
            "required": ["message"],
            "additionalProperties": false,
            "properties": {"pubsubTopic": {"type": "string"}, "message": reference("Message")},
        },
        "PushAnswer": {
            "type": "object",
            "properties": {"relayPeerCount": {"type": "integer"}, "statusDesc": {"type": "string"}},
        },
    })
}

fn filter() -> Value {
    let request_id = || json!({"type": "string"});
    json!({
        "FilterRequest": {
            "type": "object",
            "required": ["requestId", "contentFilters"],
            "additionalProperties": false,
            "properties": {
                "requestId": request_id(),
                "contentFilters": {"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 1}},
                "pubsubTopic": {"type": "string", "description": "With static sharding it must be given."},
            },
        },
        "FilterAllRequest": {
            "type": "object",
            "required": ["requestId"],
            "additionalProperties": false,
            "properties": {"requestId": request_id()},
        },
        "FilterAnswer": {
            "type": "object",
            "required": ["requestId", "statusDesc"],
            "properties": {"requestId": request_id(), "statusDesc": {"type": "string"}},
        },
    })
}

fn store() -> Value {
    let hash = || json!({"type": "string", "pattern": "^0x[0-9a-f]{64}$"});
    json!({
        "StorePage": {
            "type": "object",
            "required": ["requestId", "statusCode", "statusDesc", "messages"],
            "properties": {
                "requestId": {"type": "string"},
                "statusCode": {"type": "integer"},
                "statusDesc": {"type": "string"},
                "messages": list("StoredMessage"),
                "paginationCursor": hash(),
            },
        },
        "StoredMessage": {
            "type": "object",
            "required": ["messageHash"],
            "properties": {"messageHash": hash(), "message": reference("Message"), "pubsubTopic": {"type": "string"}},
        },
    })
}

fn state() -> Value {
    let states =
        ["INITIALIZING", "SYNCHRONIZING", "READY", "NOT_READY", "NOT_MOUNTED", "SHUTTING_DOWN", "EVENT_LOOP_LAGGING"];
    json!({
        "Health": {
            "type": "object",
            "required": ["nodeHealth", "connectionStatus", "protocolsHealth"],
            "properties": {
                "nodeHealth": {"enum": states},
                "connectionStatus": {"enum": ["Connected", "PartiallyConnected", "Disconnected"]},
                "protocolsHealth": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "description": "The name of a protocol with its state, and why it is not ready as desc.",
                        "additionalProperties": {"type": "string"},
                    },
                },
            },
        },
        "Info": {
            "type": "object",
            "required": ["listenAddresses", "enrUri"],
            "properties": {
                "listenAddresses": {"type": "array", "items": {"type": "string"}},
                "enrUri": {"type": "string"},
            },
        },
        "Description": {"type": "object", "required": ["openapi", "info", "paths"]},
    })
}

fn admin() -> Value {
    json!({
        "Peer": {
            "type": "object",
            "required": ["multiaddr", "protocols", "shards", "connected", "agent", "origin"],
            "properties": {
                "multiaddr": {"type": "string"},
                "protocols": {"type": "array", "items": {"type": "string"}},
                "shards": {"type": "array", "items": {"type": "integer"}},
                "connected": {"enum": ["NotConnected", "CannotConnect", "CanConnect", "Connected"]},
                "agent": {"type": "string"},
                "origin": {"enum": ["UnknownOrigin", "Static", "Discv5", "PeerExchange", "Dns"]},
                "score": {"type": "number"},
            },
        },
        "Peers": list("Peer"),
        "ShardPeers": {
            "type": "object",
            "required": ["shard", "peers"],
            "properties": {"shard": {"type": "integer"}, "peers": list("Peer")},
        },
        "ShardsPeers": list("ShardPeers"),
        "PeerStats": {
            "type": "object",
            "additionalProperties": {"type": "object", "additionalProperties": {"type": "integer"}},
        },
        "FilterSubscribers": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["peerId", "filterCriteria"],
                "properties": {
                    "peerId": {"type": "string"},
                    "filterCriteria": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["pubsubTopic", "contentTopic"],
                            "properties": {"pubsubTopic": {"type": "string"}, "contentTopic": {"type": "string"}},
                        },
                    },
                },
            },
        },
    })
}
