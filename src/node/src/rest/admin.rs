//! The administrator's routes (`--rest-admin`): peers, filter subscribers, and how much is logged.

mod answers;

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use levada_net::{Census, Multiaddr, PeerId, Reach, TopicPeers, peer_address};
use levada_wire::waku::topics::PubsubTopic;

use self::answers::{PeerAnswer, ShardAnswer, SubscriberAnswer, service_peers, stats};
use super::backend::Admin;
use super::error::Refusal;
use super::table::{Answer, Method, Operation, Route, in_json, in_text};
use super::{Api, body, text};
use crate::config::LogLevel;

/// The largest list of addresses in a request, in bytes of JSON.
const ADDRESSES_BYTES_MAX: usize = 64 * 1024;

const PEERS: &[Answer] = &[in_json(200, "Peers", "The peers.")];

const PEERS_ON_SHARD: &[Answer] =
    &[in_json(200, "Peers", "The peers."), in_text(400, "The shard is no number from 0 to 65535.")];

const SHARDS: &[Answer] = &[
    in_json(200, "ShardsPeers", "The peers of each shard that the node takes part in."),
    in_text(503, "The node does not relay."),
];

const SHARD: &[Answer] = &[
    in_json(200, "ShardPeers", "The shard, and its peers."),
    in_text(400, "The shard is no number from 0 to 65535."),
    in_text(503, "The node does not relay."),
];

const fn peers(
    summary: &'static str,
    mount: fn() -> axum::routing::MethodRouter<Arc<Api>>,
    answers: &'static [Answer],
) -> Operation {
    Operation { summary, mount, answers, ..Operation::PLAIN }
}

pub(super) const ROUTES: &[Route] = &[
    Route {
        path: "/admin/v1/peers",
        operations: &[
            peers("Every peer that is known.", || get(all), PEERS),
            Operation {
                method: Method::Post,
                summary: "Connects to peers, one after the other, until one fails.",
                mount: || post(connect),
                body: Some("Addresses"),
                answers: &[
                    in_text(200, "OK. All are connected."),
                    in_text(400, "The body is no list of multiaddresses, or one of them cannot be connected to."),
                    in_text(408, "The body did not arrive in time."),
                    in_text(413, "The list is too large."),
                ],
                ..Operation::PLAIN
            },
        ],
    },
    Route {
        path: "/admin/v1/peer/{peerId}",
        operations: &[peers(
            "One peer.",
            || get(one),
            &[
                in_json(200, "Peer", "The peer."),
                in_text(400, "The peer id is none."),
                in_text(404, "The peer is not known."),
            ],
        )],
    },
    Route {
        path: "/admin/v1/peers/service",
        operations: &[peers("Peers that serve a protocol of Waku.", || get(service), PEERS)],
    },
    Route { path: "/admin/v1/peers/connected", operations: &[peers("Connected peers.", || get(connected), PEERS)] },
    Route {
        path: "/admin/v1/peers/connected/on/{shardId}",
        operations: &[peers("Connected peers that serve a shard.", || get(connected_on), PEERS_ON_SHARD)],
    },
    Route {
        path: "/admin/v1/peers/relay",
        operations: &[peers("Peers that have subscribed to the node's shards.", || get(relaying), SHARDS)],
    },
    Route {
        path: "/admin/v1/peers/relay/on/{shardId}",
        operations: &[peers("Peers that have subscribed to a shard.", || get(relaying_on), SHARD)],
    },
    Route {
        path: "/admin/v1/peers/mesh",
        operations: &[peers("Peers in the relay's meshes.", || get(meshed), SHARDS)],
    },
    Route {
        path: "/admin/v1/peers/mesh/on/{shardId}",
        operations: &[peers("Peers in the mesh of a shard.", || get(meshed_on), SHARD)],
    },
    Route {
        path: "/admin/v1/peers/stats",
        operations: &[peers(
            "Numbers of peers.",
            || get(statistics),
            &[in_json(200, "PeerStats", "Numbers by group and name.")],
        )],
    },
    Route {
        path: "/admin/v1/filter/subscriptions",
        operations: &[peers(
            "Filter subscribers and what they want.",
            || get(filter_subscriptions),
            &[in_json(200, "FilterSubscribers", "The subscribers."), in_text(400, "The node does not serve filter.")],
        )],
    },
    Route {
        path: "/admin/v1/log-level/{logLevel}",
        operations: &[Operation {
            method: Method::Post,
            summary: "Changes how much is logged, from now on.",
            mount: || post(log_level),
            answers: &[
                in_text(200, "OK."),
                in_text(400, "There is no such level; the text lists those there are."),
                in_text(503, "The log was not started by this node."),
            ],
            ..Operation::PLAIN
        }],
    },
];

type Shared = State<Arc<Api>>;
type Named = Result<Path<String>, PathRejection>;

fn admin(api: &Api) -> Result<&dyn Admin, Refusal> {
    let off = "/admin endpoints are not available, start the node with --rest-admin=true";
    api.backend.admin().ok_or_else(|| Refusal::new(StatusCode::NOT_FOUND, off))
}

async fn census(api: &Api) -> Result<Census, Refusal> {
    Ok(admin(api)?.census().await)
}

async fn all(State(api): Shared) -> Result<Response, Refusal> {
    let census = census(&api).await?;
    Ok(Json(census.peers.iter().map(PeerAnswer::unscored).collect::<Vec<_>>()).into_response())
}

async fn one(State(api): Shared, peer: Named) -> Result<Response, Refusal> {
    let given = segment(peer)?;
    let shown = text::shortened(&given);
    let id: PeerId = given.parse().map_err(|error| {
        Refusal::bad_request(format!("Invalid argument: \"{shown}\" is no peer id such as 16Uiu2HAm…: {error}"))
    })?;
    let census = census(&api).await?;
    match census.peers.iter().find(|peer| peer.peer_id == id) {
        Some(peer) => Ok(Json(PeerAnswer::unscored(peer)).into_response()),
        None => Err(Refusal::new(StatusCode::NOT_FOUND, format!("Peer with ID {shown} not found"))),
    }
}

async fn service(State(api): Shared) -> Result<Response, Refusal> {
    Ok(Json(service_peers(&census(&api).await?)).into_response())
}

async fn connected(State(api): Shared) -> Result<Response, Refusal> {
    let census = census(&api).await?;
    let here = census.peers.iter().filter(|peer| peer.reach == Reach::Connected);
    Ok(Json(here.map(PeerAnswer::unscored).collect::<Vec<_>>()).into_response())
}

async fn connected_on(State(api): Shared, shard: Named) -> Result<Response, Refusal> {
    let shard = shard_of(shard)?;
    let census = census(&api).await?;
    let here = census.peers.iter().filter(|peer| peer.reach == Reach::Connected && peer.shards.contains(&shard));
    Ok(Json(here.map(PeerAnswer::unscored).collect::<Vec<_>>()).into_response())
}

async fn relaying(State(api): Shared) -> Result<Response, Refusal> {
    by_shard(&api, |topic| &topic.subscribers).await
}

async fn relaying_on(State(api): Shared, shard: Named) -> Result<Response, Refusal> {
    on_shard(&api, shard, |topic| &topic.subscribers).await
}

async fn meshed(State(api): Shared) -> Result<Response, Refusal> {
    by_shard(&api, |topic| &topic.mesh).await
}

async fn meshed_on(State(api): Shared, shard: Named) -> Result<Response, Refusal> {
    on_shard(&api, shard, |topic| &topic.mesh).await
}

async fn by_shard(api: &Api, of: fn(&TopicPeers) -> &Vec<PeerId>) -> Result<Response, Refusal> {
    let census = relay_census(api).await?;
    let shards = census.topics.iter().filter_map(|topic| Some((PubsubTopic::parse(&topic.topic).ok()?.shard, topic)));
    let answers: Vec<ShardAnswer<'_>> =
        shards.map(|(shard, topic)| ShardAnswer::of(shard, &census, of(topic))).collect();
    Ok(Json(answers).into_response())
}

async fn on_shard(api: &Api, shard: Named, of: fn(&TopicPeers) -> &Vec<PeerId>) -> Result<Response, Refusal> {
    let shard = shard_of(shard)?;
    let census = relay_census(api).await?;
    // All topics of a node are of one cluster.
    let topic = census.topics.iter().find(|topic| PubsubTopic::parse(&topic.topic).is_ok_and(|of| of.shard == shard));
    let ids = topic.map_or(&[][..], |topic| of(topic));
    Ok(Json(ShardAnswer::of(shard, &census, ids)).into_response())
}

async fn relay_census(api: &Api) -> Result<Census, Refusal> {
    let admin = admin(api)?;
    if !admin.relays() {
        let text = "Error: Relay Protocol is not mounted to the node; start it with --relay=true";
        return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, text));
    }
    Ok(admin.census().await)
}

async fn statistics(State(api): Shared) -> Result<Response, Refusal> {
    Ok(Json(stats(&census(&api).await?)).into_response())
}

async fn connect(State(api): Shared, body: Body) -> Result<&'static str, Refusal> {
    let admin = admin(&api)?;
    let bytes = body::read(body, ADDRESSES_BYTES_MAX, api.options.limits.body_time_max).await?;
    let given: Vec<String> = serde_json::from_slice(&bytes).map_err(|error| {
        let cause = error.to_string();
        let shown = text::shortened(&cause);
        Refusal::bad_request(format!(
            "Failed to decode request: the body is not a JSON array of multiaddresses: {shown}"
        ))
    })?;
    // All are read before one is dialled.
    let addresses: Vec<Multiaddr> = given.iter().map(|given| address(given)).collect::<Result<_, _>>()?;
    for (index, (address, given)) in addresses.into_iter().zip(&given).enumerate() {
        admin.connect(address).await.map_err(|cause| {
            let (shown, cause) = (text::shortened(given), text::shortened(&cause));
            Refusal::bad_request(format!("Failed to connect to peer at index: {index} - {shown}: {cause}"))
        })?;
    }
    Ok("OK")
}

fn address(given: &str) -> Result<Multiaddr, Refusal> {
    let refused = |cause: String| {
        let shown = text::shortened(given);
        Refusal::bad_request(format!("Couldn't parse remote peer info: \"{shown}\": {cause}"))
    };
    let address = peer_address(given).map_err(|error| refused(error.to_string()))?;
    let is_named = matches!(address.iter().last(), Some(levada_net::multiaddr::Protocol::P2p(_)));
    if is_named { Ok(address) } else { Err(refused("it does not end in /p2p/ and a peer id".to_owned())) }
}

async fn filter_subscriptions(State(api): Shared) -> Result<Response, Refusal> {
    let subscribers = admin(&api)?.filter_subscriptions().ok_or_else(|| {
        Refusal::bad_request("Error: Filter Protocol is not mounted to the node; start it with --filter=true")
    })?;
    Ok(Json(subscribers.iter().map(SubscriberAnswer::from).collect::<Vec<_>>()).into_response())
}

async fn log_level(State(api): Shared, level: Named) -> Result<&'static str, Refusal> {
    let given = segment(level)?;
    let level = LogLevel::named(&given).ok_or_else(|| {
        let shown = text::shortened(&given);
        Refusal::bad_request(format!(
            "Invalid log-level: {shown}. Please specify one of {}",
            LogLevel::NAMES.join(", ")
        ))
    })?;
    let changed = admin(&api)?.set_log_level(level);
    changed.map(|()| "OK").map_err(|cause| Refusal::new(StatusCode::SERVICE_UNAVAILABLE, cause))
}

fn segment(given: Named) -> Result<String, Refusal> {
    match given {
        Ok(Path(given)) => Ok(given),
        Err(_) => Err(Refusal::bad_request("Invalid argument: it is not UTF-8 when percent-decoded")),
    }
}

fn shard_of(given: Named) -> Result<u16, Refusal> {
    let given = segment(given)?;
    given.parse().map_err(|_| {
        let shown = text::shortened(&given);
        Refusal::bad_request(format!("Invalid shardId: \"{shown}\" is not a whole number from 0 to 65535"))
    })
}
