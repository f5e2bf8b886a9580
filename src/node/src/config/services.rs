//! The keys of the services for light clients, and of how peers come, stay and are remembered.

use super::key::{Group, Key};
use super::kind::Kind;

/// A part of the table of keys.
pub(super) const SERVICES: &[Key] = &[
    Key::new("filter", Kind::Bool, "true", Group::Services, "Whether filter subscriptions of light clients are served."),
    Key::optional(
        "filternode",
        Kind::Multiaddr,
        Group::Services,
        "The multiaddress of a filter node for this node's own use; it is connected to and stays so.",
    ),
    Key::new(
        "filter-subscription-timeout",
        Kind::Seconds { max: 86_400 },
        "300",
        Group::Services,
        "After how many seconds a filter subscriber that asks nothing is forgotten.",
    ),
    Key::new(
        "filter-max-peers-to-serve",
        Kind::Number { min: 1, max: 100_000 },
        "1000",
        Group::Services,
        "The most filter subscribers.",
    ),
    Key::new(
        "filter-max-criteria",
        Kind::Number { min: 1, max: 1_000_000 },
        "1000",
        Group::Services,
        "The most criteria (pubsub topic and content topic) of one filter subscriber.",
    ),
    Key::optional(
        "rate-limit",
        Kind::RateLimit,
        Group::Services,
        "How many requests a service answers in a time, such as lightpush:10/1s, or 100/1m for all services without a limit of their own; \
         may be repeated. Without any, filter answers each peer 30 requests a minute. A limit of 0 is none.",
    )
    .repeatable(),
    Key::new(
        "lightpush",
        Kind::Bool,
        "true",
        Group::Services,
        "Whether messages are published for light clients (lightpush, versions 2 and 3); only with relay.",
    ),
    Key::optional(
        "lightpushnode",
        Kind::Multiaddr,
        Group::Services,
        "The multiaddress of a lightpush node for this node's own use; it is connected to and stays so.",
    ),
    Key::optional(
        "storenode",
        Kind::Multiaddr,
        Group::Store,
        "The multiaddress of a store node for this node's own use; it is connected to and stays so.",
    ),
    Key::new(
        "store-resume",
        Kind::Bool,
        "false",
        Group::Store,
        "Whether messages missed while the node was off are fetched at start, those of six hours at most: from the storenode, or another \
         connected peer that serves store.",
    ),
    Key::new("peer-exchange", Kind::Bool, "true", Group::Discovery, "Whether peers that ask are told of other nodes."),
    Key::optional(
        "peer-exchange-node",
        Kind::Multiaddr,
        Group::Discovery,
        "The multiaddress of a node that is asked for peers; it is connected to and stays so.",
    ),
    Key::new(
        "relay-service-ratio",
        Kind::Ratio,
        "50:50",
        Group::Peers,
        "The parts of max-connections, of a hundred together, that are for relay and for services. Relay has no more than its part: a \
         third of it goes out, and a relay peer that comes beyond the rest is disconnected.",
    ),
    Key::optional(
        "max-relay-peers",
        Kind::Number { min: 0, max: 100_000 },
        Group::Peers,
        "The most relay peers, instead of their part by relay-service-ratio.",
    ),
    Key::new(
        "ip-colocation-limit",
        Kind::Number { min: 0, max: 100_000 },
        "5",
        Group::Peers,
        "The most peers that may connect from one IP address; 0 for no limit. The loopback address has none.",
    ),
    Key::new(
        "keep-alive",
        Kind::Bool,
        "true",
        Group::Peers,
        "Whether peers are pinged, so that connections stay open on the way and dead ones are noticed.",
    ),
    Key::new(
        "peer-persistence",
        Kind::Bool,
        "false",
        Group::Peers,
        "Whether peers are kept in the file levada-peers.txt, in the folder the node is started in, and connected to again after a \
         restart.",
    ),
    Key::new(
        "peer-store-capacity",
        Kind::Number { min: 1, max: 1_000_000 },
        "1000",
        Group::Peers,
        "The most peers that are remembered.",
    ),
    Key::new(
        "websocket-secure-support",
        Kind::Bool,
        "false",
        Group::Transports,
        "Whether the WebSocket port is secured by TLS, as browsers demand on https pages; it then takes no plain WebSocket.",
    ),
    Key::optional("websocket-secure-key-path", Kind::Path, Group::Transports, "The file of the TLS key, in PEM form."),
    Key::optional(
        "websocket-secure-cert-path",
        Kind::Path,
        Group::Transports,
        "The file of the TLS certificate and those that vouch for it, in PEM form.",
    ),
];
