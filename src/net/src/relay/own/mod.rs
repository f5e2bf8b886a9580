//! The relay of the node's own: `levada-router` on the swarm, with payloads that never leave the arena.
//!
//! A message, in the order of the files: `reader` reads it from its stream into a slot as the frame is taken apart; `arrivals` computes
//! its id, beside those of others; `deliver` has the router look whether it is new and hands it to the message path; the verdict comes
//! back in `relay`; `dispatch` puts a reference to the slot, with the encoded header, into the `queue` of each onward peer; and `writer`
//! writes it from where it lies.
//!
//! # Memory
//!
//! | what | bound |
//! |---|---|
//! | the router's tables | [`levada_router`] |
//! | message cache | a quarter of the arena, at most 64 MiB; half of that goes whenever the arena is nearly full |
//! | send queue of a peer | [`NetConfig::send_queue_bytes`] of slots that the queues share, and [`CONTROL_QUEUE_BYTES`] of control frames |
//! | messages that are read | their slots: a connection's are what a turn of its reader brings, 1 MiB, and one message |
//! | messages that found no room before their connections closed | what the router lets await a verdict |
//! | control message that is read | [`CONTROL_BYTES_MAX`] |

mod arrivals;
mod behaviour;
mod connection;
mod core;
mod deliver;
mod dispatch;
mod entries;
mod events;
mod heartbeat;
mod outgoing;
mod protocols;
mod queue;
mod reader;
mod relay;
mod shared;
mod writer;

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use levada_router::{Config, Limits, MeshParams, Rng, Router, ScoreParams};
use levada_wire::gossipsub::stream::FrameLimits;

pub(crate) use behaviour::OwnRelay;

use self::core::Core;
use crate::config::NetConfig;
use crate::error::NetError;
use crate::inbound::Inbound;
use crate::stall::Stall;
use crate::transport::TransportKind;
use queue::QueueLimits;
use shared::Shared;
use writer::STOCK_PIECE_BYTES;

/// The largest control message that honest peers send is an IHAVE or IWANT with 5 000 ids of 34 bytes each; the subscriptions to all
/// shards of a cluster take 30 KB.
const CONTROL_BYTES_MAX: usize = 5_000 * 34 + 32 * 1_024;
/// Control frames that wait for a peer: some seconds of the most that the router sends.
const CONTROL_QUEUE_BYTES: usize = 2 * 1_024 * 1_024;
/// Around a message a frame has keys, lengths and the topic, and js-libp2p puts control messages beside it.
const FRAME_OVERHEAD_BYTES: usize = CONTROL_BYTES_MAX + 1_024;
/// More than this the message cache never needs for six seconds of Waku.
const CACHE_BYTES_MAX: usize = 64 * 1_024 * 1_024;

/// The router for a Waku network, whose messages go to `inbound`.
///
/// # Errors
///
/// [`NetError::Relay`] if the router refuses the parameters.
pub(crate) fn own(config: &NetConfig, inbound: Arc<dyn Inbound>, stall: Arc<Stall>) -> Result<OwnRelay, NetError> {
    let router_config = router_config(config, inbound.arena().bytes());
    let heartbeat_every = router_config.heartbeat;
    // The standard library seeds its hash tables from the system's entropy.
    let rng = Rng::new(RandomState::new().hash_one(config.key.peer_id()));
    let router = match inbound.seen() {
        Some(ids) => Router::sharing(router_config, rng, ids),
        None => Router::new(router_config, rng),
    };
    let router = router.map_err(|error| NetError::Relay { reason: error.to_string() })?;
    let core = Core::new(router, config.cluster_id, config.message_bytes_max);
    let data_bytes_max = config.message_bytes_max.min(inbound.arena().payload_bytes_max());
    let frames = FrameLimits {
        frame_bytes_max: (config.message_bytes_max + FRAME_OVERHEAD_BYTES) as u32,
        data_bytes_max: data_bytes_max as u32,
        control_bytes_max: CONTROL_BYTES_MAX as u32,
        topic_bytes_max: Limits::default().topic_bytes_max as u32,
    };
    let queues = QueueLimits {
        bytes_max: config.send_queue_bytes,
        control_bytes_max: CONTROL_QUEUE_BYTES,
        published_for: config.send_published_for,
        forwarded_for: config.send_forwarded_for,
    };
    let piece_bytes = (config.transport == TransportKind::Stock).then_some(STOCK_PIECE_BYTES);
    Ok(OwnRelay::new(Shared::new(core, inbound, stall, frames, queues, piece_bytes), heartbeat_every))
}

fn router_config(config: &NetConfig, arena_bytes: usize) -> Config {
    let limits = Limits::default();
    Config {
        score: ScoreParams { ip_colocation_exempt: config.colocation_whitelist.clone(), ..ScoreParams::default() },
        limits: Limits {
            peers_max: limits.peers_max.max(config.max_connections as usize),
            rpc_bytes_max: config.message_bytes_max as u32,
            mcache_bytes_max: CACHE_BYTES_MAX.min(arena_bytes / 4),
            ..limits
        },
        mesh: MeshParams { degrees: config.mesh, ..MeshParams::default() },
        ..Config::default()
    }
}
