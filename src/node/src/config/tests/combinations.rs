//! What keys mean together, and what the operator is warned of.

use super::*;

#[test]
fn shards_follow_from_cluster_and_network() {
    let topics = |flags: &[&str]| config(flags).pubsub_topics();
    assert_eq!(topics(&[]), ["/waku/2/rs/0/0"]);
    assert_eq!(topics(&["--shard=7"]), ["/waku/2/rs/0/7"]);
    assert_eq!(
        topics(&["--cluster-id=16", "--num-shards-in-network=3"]),
        ["/waku/2/rs/16/0", "/waku/2/rs/16/1", "/waku/2/rs/16/2"]
    );
    assert_eq!(topics(&["--num-shards-in-network=8", "--shard=5", "--shard=2"]), ["/waku/2/rs/0/2", "/waku/2/rs/0/5"]);
    assert!(topics(&["--cluster-id=16"]).is_empty());
}

#[test]
fn a_node_that_would_relay_nothing_is_warned_of() {
    let warns = |flags: &[&str]| {
        load(flags, &[]).unwrap().warnings.iter().any(|warning| warning.starts_with("no shard of cluster 16"))
    };
    assert!(warns(&["--cluster-id=16"]));
    assert!(!warns(&["--cluster-id=16", "--shard=0"]));
    assert!(!warns(&["--cluster-id=16", "--relay=false"]));
}

#[test]
fn a_shard_outside_the_network_is_a_fault() {
    assert_eq!(
        faults(&["--num-shards-in-network=8", "--shard=8", "--shard=7"], &[]),
        ["shard 8 (flag --shard) does not exist when num-shards-in-network is 8; expected 0 to 7"]
    );
}

#[test]
fn two_listeners_on_one_port_are_a_fault_that_names_both() {
    assert_eq!(
        faults(&["--tcp-port=8000"], &[]),
        ["tcp-port (flag --tcp-port) and websocket-port (default) are both port 8000; give one of them another port"]
    );
    let twins = faults(&["--rest-port=8008"], &[("LEVADA_METRICS_SERVER_PORT", "8008")]);
    assert_eq!(twins.len(), 1);
    assert!(
        twins[0].contains("rest-port (flag --rest-port) and metrics-server-port (environment variable"),
        "{twins:?}"
    );
    // The listen address 0.0.0.0 covers that of REST.
    assert_eq!(faults(&["--rest-port=60000"], &[]).len(), 1);
}

#[test]
fn ports_that_cannot_meet_are_no_fault() {
    config(&["--tcp-port=8000", "--websocket-support=false"]);
    config(&["--rest-port=8008", "--metrics-server=false"]);
    config(&["--rest-port=8008", "--metrics-server-address=127.0.0.2"]);
    config(&["--tcp-port=0", "--websocket-port=0", "--rest-port=0", "--metrics-server-port=0"]);
}

#[test]
fn a_shift_moves_every_port_but_zero() {
    let config = config(&["--ports-shift=10", "--rest-port=0"]);
    assert_eq!((config.tcp_port, config.websocket_port), (60_010, 8_010));
    assert_eq!((config.rest_port, config.metrics_server_port), (0, 8_018));
}

#[test]
fn a_shift_out_of_range_is_a_fault_of_each_port_in_use() {
    assert_eq!(
        faults(&["--ports-shift=5536"], &[]),
        ["tcp-port = 60000 plus ports-shift = 5536 is above 65535; lower one of them"]
    );
    config(&["--ports-shift=5535"]);
    let off = ["--ports-shift=60000", "--tcp-port=1", "--websocket-support=0", "--rest=0", "--metrics-server=0"];
    assert_eq!(config(&off).tcp_port, 60_001);
}

#[test]
fn a_wrong_value_causes_no_second_fault_by_its_default() {
    assert_eq!(faults(&["--tcp-port=x", "--websocket-port=60000"], &[]).len(), 1);
    assert_eq!(faults(&["--ports-shift=x"], &[]).len(), 1);
    assert_eq!(faults(&["--num-shards-in-network=x", "--shard=9"], &[]).len(), 1);
    assert_eq!(faults(&["--rest=x"], &[]).len(), 1);
}

#[test]
fn a_key_without_effect_warns_once_with_its_source() {
    let loaded = load(
        &["--reliability=true", "--kad-bootstrap-node=a", "--kad-bootstrap-node=b"],
        &[("WAKUNODE2_RENDEZVOUS", "true")],
    );
    let warnings = loaded.unwrap().warnings;
    for expected in [
        "reliability (flag --reliability) is accepted but has no effect in this version",
        "rendezvous (environment variable WAKUNODE2_RENDEZVOUS) is accepted but has no effect in this version",
        "kad-bootstrap-node (flag --kad-bootstrap-node) is accepted but has no effect in this version",
    ] {
        assert_eq!(warnings.iter().filter(|warning| *warning == expected).count(), 1, "{warnings:#?}");
    }
}

#[test]
fn a_protection_that_is_not_there_is_warned_of_loudly() {
    for flag in ["--rln-relay=true", "--rln-relay", "--protected-shard=0:04ab", "--preset=twn", "--cluster-id=1"] {
        let loud: Vec<_> =
            load(&[flag], &[]).unwrap().warnings.into_iter().filter(|text| text.starts_with("SECURITY: ")).collect();
        assert_eq!(loud.len(), 1, "{flag}: {loud:?}");
        assert!(loud[0].contains("NOT") || loud[0].contains("WITHOUT"), "{loud:?}");
    }
    for flag in ["--rln-relay=false", "--preset=", "--reliability=true"] {
        let warnings = load(&[flag], &[]).unwrap().warnings;
        assert!(!warnings.iter().any(|text| text.starts_with("SECURITY")), "{flag}: {warnings:?}");
        assert!(warnings.iter().any(|text| text.contains("has no effect")), "{flag}: {warnings:?}");
    }
}

#[test]
fn a_port_mapping_is_warned_of() {
    let warns = |flags: &[&str], start: &str| {
        load(flags, &[]).unwrap().warnings.iter().any(|warning| warning.starts_with(start))
    };
    assert!(warns(&["--nat=upnp"], "nat (flag --nat) asks for port mapping"));
    assert!(!warns(&["--nat=extip:192.0.2.1"], "nat"));
}

#[test]
fn a_secured_websocket_port_needs_key_and_certificate() {
    let secure = "--websocket-secure-support=true";
    let (key, certificate) = ("--websocket-secure-key-path=k", "--websocket-secure-cert-path=c");
    let texts: Vec<String> = faults(&[secure], &[]).iter().map(ToString::to_string).collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts[0].contains("websocket-secure-key-path") && texts[1].contains("websocket-secure-cert-path"));
    assert_eq!(faults(&[secure, key], &[]).len(), 1);
    assert_eq!(faults(&[secure, certificate], &[]).len(), 1);
    assert!(load(&[secure, key, certificate], &[]).is_ok());
    assert!(load(&["--websocket-secure-support=false"], &[]).is_ok());
}
