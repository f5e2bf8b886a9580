//! The keys of nwaku that this version accepts, so that an operator's configuration starts, but does not act on. Each one
//! given causes one warning; one that asks for a protection causes a loud one.

use super::key::{Group, Key};
use super::kind::Kind;

const fn flag(name: &'static str, group: Group, help: &'static str) -> Key {
    Key::accepted(name, Kind::Bool, group, help)
}

const fn number(name: &'static str, group: Group, help: &'static str) -> Key {
    Key::accepted(name, Kind::Number { min: 0, max: u64::MAX }, group, help)
}

const fn text(name: &'static str, group: Group, help: &'static str) -> Key {
    Key::accepted(name, Kind::Text, group, help)
}

const fn secret(name: &'static str, group: Group, help: &'static str) -> Key {
    Key::accepted(name, Kind::Secret, group, help)
}

/// The second part of the table of keys.
pub(super) const ACCEPTED: &[Key] = &[
    text("preset", Group::Network, "A named network.").protection(
        "the network's cluster, shards, size limit and RLN checks are NOT applied; set cluster-id, num-shards-in-network and \
         max-msg-size yourself, and do not rely on messages being rate limited",
    ),
    text("content-topic", Group::Network, "A content topic to subscribe to; may be repeated.")
        .repeatable()
        .consequence("subscribe with shard instead"),
    text("protected-shard", Group::Network, "A shard and the public key that signs its messages; may be repeated.")
        .repeatable()
        .protection("signatures on that shard are NOT checked, and anyone can publish there"),
    text("ext-multiaddr", Group::Endpoints, "An external multiaddress to announce; may be repeated.")
        .repeatable()
        .consequence("announce an address with nat=extip:IP instead"),
    flag("ext-multiaddr-only", Group::Endpoints, "Whether only external multiaddresses are announced.")
        .consequence("the listen addresses are announced too"),
    text("dns4-domain-name", Group::Endpoints, "The domain name of the node's public IPv4 address."),
    text("local-storage-path", Group::Endpoints, "The folder of the node's own files."),
    text("entry-node", Group::Peers, "A node through which to enter the network; may be repeated.")
        .repeatable()
        .consequence("connect to peers with staticnode instead"),
    text("entry-layer", Group::Peers, "The part of the interface that is started."),
    text("relay-service-ratio", Group::Peers, "How connections are divided between relay and services."),
    number("max-relay-peers", Group::Peers, "The most relay peers."),
    flag("relay-client", Group::Peers, "Whether the node uses a circuit relay to be reached behind a NAT."),
    flag("relay-peer-exchange", Group::Relay, "Whether relay peers tell each other of peers when pruning."),
    flag("relay-shard-manager", Group::Relay, "Whether peers are chosen by their shards."),
    flag("reliability", Group::Relay, "Whether delivery is verified against store nodes."),
    flag("rln-relay", Group::Relay, "Whether messages need a rate-limit proof (RLN).").protection(
        "messages are relayed and archived WITHOUT any check of rate-limit proofs, and those published here carry none",
    ),
    flag("rln-relay-dynamic", Group::Relay, "Whether the RLN group is on a chain."),
    secret("rln-relay-cred-path", Group::Relay, "The file of the RLN credential."),
    secret("rln-relay-cred-password", Group::Relay, "The password of the RLN credential."),
    number("rln-relay-membership-index", Group::Relay, "Which RLN membership is used."),
    secret("rln-relay-eth-client-address", Group::Relay, "The URL of an Ethereum client; may be repeated.").repeatable(),
    text("rln-relay-eth-contract-address", Group::Relay, "The contract of the RLN memberships."),
    secret("rln-relay-eth-private-key", Group::Relay, "The key that pays for an RLN membership."),
    number("rln-relay-chain-id", Group::Relay, "The chain of the RLN contract."),
    number("rln-relay-epoch-sec", Group::Relay, "The length of an RLN epoch in seconds."),
    number("rln-relay-user-message-limit", Group::Relay, "The messages of one member in an RLN epoch."),
    text("rln-relay-tree-path", Group::Relay, "The folder of the RLN Merkle tree."),
    flag("store-message-db-vacuum", Group::Store, "Whether the archive's file is compacted at start."),
    flag("store-message-db-migration", Group::Store, "Whether an archive of an older format is converted at start."),
    flag("store-resume", Group::Store, "Whether messages missed while stopped are fetched at start."),
    flag("legacy-store", Group::Store, "Whether store version 2 is served."),
    flag("store-sync", Group::Store, "Whether archives are reconciled with other store nodes."),
    number("store-sync-interval", Group::Store, "The seconds between two reconciliations."),
    number("store-sync-range", Group::Store, "The seconds of messages that are reconciled."),
    number("store-sync-relay-jitter", Group::Store, "The seconds allowed for messages still on their way."),
    flag("rest-admin", Group::Servers, "Whether REST has the administrator's routes."),
    text("rest-allow-origin", Group::Servers, "A web origin that may use REST; may be repeated.").repeatable(),
    flag("metrics-logging", Group::Servers, "Whether metrics are logged as well."),
    flag("discv5-enr-auto-update", Group::Discovery, "Whether the node's ENR follows what its peers observe."),
    number("discv5-table-ip-limit", Group::Discovery, "The most nodes of one IP address in the routing table."),
    number("discv5-bucket-ip-limit", Group::Discovery, "The most nodes of one IP address in a bucket."),
    number("discv5-bits-per-hop", Group::Discovery, "The bits that a lookup gains with each hop."),
    flag("rendezvous", Group::Discovery, "Whether the node is a rendezvous point."),
    flag("enable-kad-discovery", Group::Discovery, "Whether peers are found by Kademlia."),
    text("kad-bootstrap-node", Group::Discovery, "A node to start Kademlia from; may be repeated.").repeatable(),
    flag("mix", Group::Discovery, "Whether the mix protocol is mounted.")
        .protection("messages are NOT sent through a mix network, and their origin is not hidden"),
    secret("mixkey", Group::Discovery, "The private key of the mix protocol."),
    flag("quic-support", Group::Transports, "Whether peers may connect by QUIC."),
    Key::accepted("quic-port", Kind::Port, Group::Transports, "The UDP port of QUIC."),
];
