//! The keys of nwaku that this version accepts, so that an operator's configuration starts, but does not act on. Each one
//! given causes one warning; one that asks for a protection which is not there is refused.

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
    text("local-storage-path", Group::Endpoints, "The folder of the node's own files."),
    text("entry-layer", Group::Peers, "The part of the interface that is started."),
    flag("relay-client", Group::Peers, "Whether the node uses a circuit relay to be reached behind a NAT."),
    flag("relay-peer-exchange", Group::Relay, "Whether relay peers tell each other of peers when pruning."),
    flag("relay-shard-manager", Group::Relay, "Whether peers are chosen by their shards."),
    flag("reliability", Group::Relay, "Whether delivery is verified against store nodes."),
    flag("rln-relay", Group::Relay, "Whether messages need a rate-limit proof (RLN).").refused(
        "this version cannot check rate-limit proofs (RLN), so it would relay what the network must reject; give rln-relay=false to take \
         part without the check",
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
    flag("legacy-store", Group::Store, "Whether store version 2 is served."),
    flag("store-sync", Group::Store, "Whether archives are reconciled with other store nodes."),
    number("store-sync-interval", Group::Store, "The seconds between two reconciliations."),
    number("store-sync-range", Group::Store, "The seconds of messages that are reconciled."),
    number("store-sync-relay-jitter", Group::Store, "The seconds allowed for messages still on their way."),
    flag("metrics-logging", Group::Servers, "Whether metrics are logged as well."),
    flag("discv5-enr-auto-update", Group::Discovery, "Whether the node's ENR follows what its peers observe."),
    number("discv5-table-ip-limit", Group::Discovery, "The most nodes of one IP address in the routing table."),
    number("discv5-bucket-ip-limit", Group::Discovery, "The most nodes of one IP address in a bucket."),
    number("discv5-bits-per-hop", Group::Discovery, "The bits that a lookup gains with each hop."),
    flag("rendezvous", Group::Discovery, "Whether the node is a rendezvous point."),
    flag("enable-kad-discovery", Group::Discovery, "Whether peers are found by Kademlia."),
    text("kad-bootstrap-node", Group::Discovery, "A node to start Kademlia from; may be repeated.").repeatable(),
    flag("mix", Group::Discovery, "Whether the mix protocol is mounted.")
        .refused("this version has no mix network, so the origin of messages would not be hidden; give mix=false"),
    secret("mixkey", Group::Discovery, "The private key of the mix protocol."),
    flag("quic-support", Group::Transports, "Whether peers may connect by QUIC."),
    Key::accepted("quic-port", Kind::Port, Group::Transports, "The UDP port of QUIC."),
];
