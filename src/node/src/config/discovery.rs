//! The keys of how peers are found, and what they come to.

use std::net::IpAddr;

use super::key::{Group, Key};
use super::kind::{Kind, Value};
use super::rules;
use super::settings::Settings;

/// A part of the table of keys.
pub(super) const DISCOVERY: &[Key] = &[
    Key::new(
        "discv5-discovery",
        Kind::Bool,
        "true",
        Group::Discovery,
        "Whether the node finds peers by Discovery v5, and is found by it.",
    ),
    Key::new(
        "discv5-udp-port",
        Kind::Port,
        "9000",
        Group::Discovery,
        "The UDP port of Discovery v5; 0 takes any free one.",
    ),
    Key::optional(
        "discv5-bootstrap-node",
        Kind::NodeRecord,
        Group::Discovery,
        "The record (enr:...) of a node to ask first by Discovery v5; may be repeated.",
    )
    .repeatable(),
    Key::new("dns-discovery", Kind::Bool, "false", Group::Discovery, "Whether peers are taken from a list in the DNS."),
    Key::optional(
        "dns-discovery-url",
        Kind::DnsTree,
        Group::Discovery,
        "The list in the DNS, enrtree://KEY@NAME (EIP-1459); what is found there is asked by Discovery v5 too.",
    ),
    Key::optional(
        "dns-addrs-name-server",
        Kind::Address,
        Group::Discovery,
        "The address of a DNS server to ask for that list, on port 53; may be repeated. Without any: the system's.",
    )
    .repeatable(),
];

/// How peers are found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discovery {
    /// The UDP port of Discovery v5, if it is on; 0 takes any free one.
    pub discv5_udp_port: Option<u16>,
    /// Records of the nodes to ask first, as text.
    pub discv5_bootstrap_nodes: Vec<String>,
    /// The lists in the DNS that are to be read.
    pub dns_urls: Vec<String>,
    /// DNS servers to ask for them; the system's when there are none.
    pub dns_servers: Vec<IpAddr>,
}

impl Discovery {
    /// The typed form of settings in which no fault was found, with the `records` and `lists` of entry nodes.
    pub(super) fn from_settings(settings: &Settings, records: Vec<String>, lists: Vec<String>) -> Self {
        let port = rules::shifted_port(settings, "discv5-udp-port").unwrap_or_default();
        let servers = settings.of("dns-addrs-name-server").values.iter().filter_map(|value| match value {
            Value::Address(address) => Some(*address),
            _ => None,
        });
        let named = if settings.bool("dns-discovery") { settings.texts("dns-discovery-url") } else { Vec::new() };
        Self {
            discv5_udp_port: settings.bool("discv5-discovery").then_some(port),
            discv5_bootstrap_nodes: [settings.texts("discv5-bootstrap-node"), records].concat(),
            dns_urls: [named, lists].concat(),
            dns_servers: servers.collect(),
        }
    }
}
