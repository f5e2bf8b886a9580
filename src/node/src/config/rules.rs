//! What keys mean together: ports that must differ, shards that must exist, and what deserves a warning.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::PathBuf;

use levada_wire::waku::sharding::shard_of;

use super::TlsFiles;
use super::error::ConfigError;
use super::kind::Value;
use super::nat::Nat;
use super::preset::Preset;
use super::protected::ProtectedShard;
use super::settings::Settings;

/// The listening ports, each with the key of its address and, if it can be off, the key that says so.
const LISTENERS: &[Listener] = &[
    Listener { port: "tcp-port", address: "listen-address", switch: None },
    Listener { port: "websocket-port", address: "listen-address", switch: Some("websocket-support") },
    Listener { port: "rest-port", address: "rest-address", switch: Some("rest") },
    Listener { port: "metrics-server-port", address: "metrics-server-address", switch: Some("metrics-server") },
];

struct Listener {
    port: &'static str,
    address: &'static str,
    switch: Option<&'static str>,
}

impl Listener {
    /// Its address and shifted port; `None` if it is off, takes any free port, or has a fault that is already reported.
    fn endpoint(&self, settings: &Settings) -> Option<(IpAddr, u16)> {
        if !settings.are_sound(&[self.port, self.address, "ports-shift"]) || !self.is_on(settings) {
            return None;
        }
        let port = shifted_port(settings, self.port).filter(|port| *port != 0)?;
        let Value::Address(address) = settings.value(self.address) else { unreachable!("declared an address") };
        Some((*address, port))
    }

    fn is_on(&self, settings: &Settings) -> bool {
        self.switch.is_none_or(|switch| settings.are_sound(&[switch]) && settings.bool(switch))
    }
}

/// The port of this key with `ports-shift` added, unless it is 0 and any free one will do. `None` when the sum is no port.
pub(crate) fn shifted_port(settings: &Settings, name: &str) -> Option<u16> {
    match settings.number(name) {
        0u16 => Some(0),
        port => port.checked_add(settings.number("ports-shift")),
    }
}

/// The shards to subscribe to, sorted, each once: those of `shard`, all of them without it, and those of the content topics.
pub(crate) fn subscribed_shards(settings: &Settings) -> Vec<u16> {
    let mut shards: Vec<u16> = settings.numbers("shard");
    let count: u16 = settings.number("num-shards-in-network");
    if shards.is_empty() {
        shards = match count {
            0 if settings.number::<u16>("cluster-id") == 0 => vec![0],
            count => (0..count).collect(),
        };
    }
    shards.extend(settings.texts("content-topic").iter().filter_map(|topic| shard_of(topic, count).ok()));
    shards.sort_unstable();
    shards.dedup();
    shards
}

/// The protected shards and their keys, in the order given.
pub(crate) fn protected_shards(settings: &Settings) -> Vec<ProtectedShard> {
    settings.texts(PROTECTED).iter().filter_map(|text| ProtectedShard::parse(text)).collect()
}

/// The network that is named, if one is.
pub(crate) fn preset(settings: &Settings) -> Option<&'static Preset> {
    Preset::named(settings.texts("preset").first()?)
}

/// The files of the secured WebSocket port, if it is to be secured.
pub(crate) fn tls_files(settings: &Settings) -> Option<TlsFiles> {
    let path = |name| settings.texts(name).pop().map(PathBuf::from);
    if !settings.bool("websocket-secure-support") {
        return None;
    }
    Some(TlsFiles { key: path(TLS_KEY)?, certificate: path(TLS_CERTIFICATE)? })
}

/// Finds the combinations that cannot run.
pub(crate) fn check(settings: &Settings, errors: &mut Vec<ConfigError>) {
    check_shift(settings, errors);
    check_ports(settings, errors);
    check_shards(settings, errors);
    check_topics(settings, errors);
    check_announced(settings, errors);
    check_tls(settings, errors);
    errors.extend(settings.iter().filter_map(|setting| setting.refusal()));
    check_preset(settings, errors);
}

const PROTECTED: &str = "protected-shard";

/// A network that relies on rate-limit proofs is entered without them only by who says so.
fn check_preset(settings: &Settings, errors: &mut Vec<ConfigError>) {
    let Some(preset) = preset(settings).filter(|preset| preset.needs_rln) else { return };
    let rln = settings.of("rln-relay");
    if settings.are_sound(&["rln-relay"]) && rln.values.is_empty() {
        errors.push(ConfigError::Refused {
            key: "preset",
            place: settings.of("preset").source.clone(),
            reason: format!(
                "messages of {} carry rate-limit proofs (RLN), which this version cannot check; give rln-relay=false to take part \
                 without the check",
                preset.name
            ),
        });
    }
}

/// Content topics have a shard only where shards are spread by them.
fn check_topics(settings: &Settings, errors: &mut Vec<ConfigError>) {
    const COUNT: &str = "num-shards-in-network";
    let topics = settings.of("content-topic");
    let is_given = !topics.values.is_empty() && settings.are_sound(&["content-topic", COUNT]);
    if is_given && settings.number::<u16>(COUNT) == 0 {
        errors.push(ConfigError::Needs { key: "content-topic", place: topics.source.clone(), needed: COUNT });
    }
}

fn check_announced(settings: &Settings, errors: &mut Vec<ConfigError>) {
    let (only, addresses) = ("ext-multiaddr-only", "ext-multiaddr");
    if settings.are_sound(&[only, addresses]) && settings.bool(only) && settings.of(addresses).values.is_empty() {
        errors.push(ConfigError::Needs { key: only, place: settings.of(only).source.clone(), needed: addresses });
    }
}

const TLS_KEY: &str = "websocket-secure-key-path";
const TLS_CERTIFICATE: &str = "websocket-secure-cert-path";

fn check_tls(settings: &Settings, errors: &mut Vec<ConfigError>) {
    const SWITCH: &str = "websocket-secure-support";
    if !settings.are_sound(&[SWITCH]) || !settings.bool(SWITCH) {
        return;
    }
    for key in [TLS_KEY, TLS_CERTIFICATE] {
        if settings.are_sound(&[key]) && settings.texts(key).is_empty() {
            errors.push(ConfigError::Needs { key: SWITCH, place: settings.of(SWITCH).source.clone(), needed: key });
        }
    }
}

fn check_shift(settings: &Settings, errors: &mut Vec<ConfigError>) {
    // Discovery v5 is on UDP, where it meets no other listener.
    let discovery = Listener { port: "discv5-udp-port", address: "listen-address", switch: Some("discv5-discovery") };
    for listener in LISTENERS.iter().chain([&discovery]) {
        let is_readable = settings.are_sound(&[listener.port, "ports-shift"]) && listener.is_on(settings);
        if is_readable && shifted_port(settings, listener.port).is_none() {
            let (port, shift) = (settings.number(listener.port), settings.number("ports-shift"));
            errors.push(ConfigError::PortShift { key: listener.port, port, shift });
        }
    }
}

fn check_ports(settings: &Settings, errors: &mut Vec<ConfigError>) {
    let listeners: Vec<_> =
        LISTENERS.iter().filter_map(|listener| Some((listener.port, listener.endpoint(settings)?))).collect();
    for (position, (second, (second_address, port))) in listeners.iter().enumerate() {
        for (first, (first_address, first_port)) in &listeners[..position] {
            if first_port == port && overlap(*first_address, *second_address) {
                errors.push(ConfigError::PortConflict {
                    first,
                    first_place: settings.of(first).source.clone(),
                    second,
                    second_place: settings.of(second).source.clone(),
                    port: *port,
                });
            }
        }
    }
}

/// Whether two listeners on one port would meet. `::` usually takes IPv4 connections too, so it meets everything.
fn overlap(first: IpAddr, second: IpAddr) -> bool {
    let covers = |wide: IpAddr, other: IpAddr| wide.is_unspecified() && (wide.is_ipv6() || other.is_ipv4());
    first == second || covers(first, second) || covers(second, first)
}

fn check_shards(settings: &Settings, errors: &mut Vec<ConfigError>) {
    if !settings.are_sound(&["shard", "num-shards-in-network"]) {
        return;
    }
    let count: u16 = settings.number("num-shards-in-network");
    let place = &settings.of("shard").source;
    for shard in settings.numbers("shard") {
        if count > 0 && shard >= count {
            errors.push(ConfigError::ShardOutsideNetwork { shard, place: place.clone(), count });
        }
    }
    let place = &settings.of(PROTECTED).source;
    let mut earlier = BTreeSet::new();
    for ProtectedShard { shard, .. } in protected_shards(settings) {
        if count > 0 && shard >= count {
            errors.push(ConfigError::ShardOutsideNetwork { shard, place: place.clone(), count });
        }
        if !earlier.insert(shard) {
            let reason = format!("shard {shard} has two keys; give one");
            errors.push(ConfigError::Refused { key: PROTECTED, place: place.clone(), reason });
        }
    }
}

/// Everything the operator should know of a configuration that can run.
pub(crate) fn warnings(settings: &Settings) -> Vec<String> {
    let mut warnings: Vec<String> = settings.iter().filter_map(|setting| setting.warning()).collect();
    let cluster: u16 = settings.number("cluster-id");
    if cluster == 1 {
        warnings.push(format!(
            "SECURITY: cluster-id = 1 ({}) is The Waku Network, whose messages carry rate-limit proofs (RLN): this version does \
             NOT check them, and those published here carry none",
            settings.of("cluster-id").source
        ));
    }
    if settings.bool("relay") && subscribed_shards(settings).is_empty() {
        warnings.push(format!(
            "no shard of cluster {cluster} is subscribed, so nothing is relayed until a REST client subscribes; give shard, or \
             num-shards-in-network for all"
        ));
    }
    if let Some(preset) = preset(settings).filter(|preset| preset.has_mix) {
        warnings.push(format!(
            "preset {} also has Kademlia and a mix network, which this version has not: peers are found by Discovery v5 and at the \
             entry nodes, and no message is mixed",
            preset.name
        ));
    }
    if settings.bool("store-resume") && !settings.bool("store") {
        warnings.push(format!(
            "store-resume ({}) has no effect without an archive to fetch messages for; give store=true",
            settings.of("store-resume").source
        ));
    }
    let nat = settings.of("nat");
    if let Some(Value::Nat(Nat::Upnp | Nat::Pmp)) = nat.values.first() {
        warnings.push(format!(
            "nat ({}) asks for port mapping, which this version does not do: it acts as nat=any; give nat=extip:IP to announce \
             an address",
            nat.source
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_overlap_when_one_covers_the_other() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        for (first, second, expected) in [
            ("127.0.0.1", "127.0.0.1", true),
            ("0.0.0.0", "127.0.0.1", true),
            ("127.0.0.1", "::", true),
            ("0.0.0.0", "::1", false),
            ("127.0.0.1", "127.0.0.2", false),
            ("::1", "127.0.0.1", false),
        ] {
            assert_eq!(overlap(ip(first), ip(second)), expected, "{first} {second}");
            assert_eq!(overlap(ip(second), ip(first)), expected, "{second} {first}");
        }
    }
}
