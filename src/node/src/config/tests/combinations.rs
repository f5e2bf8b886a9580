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
    assert_eq!(faults(&["--ports-shift=1", "--discv5-udp-port=65535"], &[]).len(), 1);
    let off = [
        "--ports-shift=60000",
        "--tcp-port=1",
        "--websocket-support=0",
        "--rest=0",
        "--metrics-server=0",
        "--discv5-discovery=0",
    ];
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
fn a_resume_without_an_archive_is_warned_of() {
    let warned = |flags: &[&str], environment: &[(&str, &str)]| {
        let warnings = load(flags, environment).unwrap().warnings;
        warnings.iter().filter(|warning| warning.starts_with("store-resume")).cloned().collect::<Vec<_>>()
    };
    let why = "has no effect without an archive to fetch messages for; give store=true";
    assert_eq!(
        warned(&["--store=false", "--store-resume"], &[]),
        [format!("store-resume (flag --store-resume) {why}")]
    );
    assert_eq!(
        warned(&["--store=false"], &[("WAKUNODE2_STORE_RESUME", "true")]),
        [format!("store-resume (environment variable WAKUNODE2_STORE_RESUME) {why}")]
    );
    for flags in [&["--store-resume"][..], &["--store=false"], &["--store=false", "--store-resume=false"]] {
        assert!(warned(flags, &[]).is_empty(), "{flags:?}");
    }
    assert!(load_file("store-resume = true\n").1.unwrap().config.store_resume);
}

#[test]
fn a_protection_that_is_not_there_is_refused() {
    for (flag, place) in [
        ("--rln-relay=true", "rln-relay (flag --rln-relay) is refused: "),
        ("--rln-relay", "rln-relay (flag --rln-relay) is refused: "),
        ("--preset=twn", "preset (flag --preset) is refused: messages of twn carry rate-limit proofs"),
        ("--mix", "mix (flag --mix) is refused: "),
    ] {
        let faults = faults(&[flag], &[]);
        assert_eq!(faults.len(), 1, "{flag}: {faults:?}");
        assert!(faults[0].starts_with(place) && faults[0].contains("; give "), "{flag}: {faults:?}");
    }
    let both = faults(&["--preset=TWN", "--rln-relay=true"], &[]);
    assert_eq!(both.len(), 1, "{both:?}");
    let environment = faults(&[], &[("WAKUNODE2_PRESET", "twn")]);
    assert!(environment[0].contains("environment variable WAKUNODE2_PRESET"), "{environment:?}");
    let (_, file) = load_file("rln-relay = true\n");
    assert!(file.unwrap_err().to_string().contains(":1) is refused"));
    assert_eq!(load(&["--rln-relay=true"], &[]).unwrap_err().exit_code(), EXIT_CONFIG);
    for flag in ["--rln-relay=false", "--mix=false", "--preset="] {
        assert_eq!(load(&[flag], &[]).unwrap().warnings, Vec::<String>::new(), "{flag}");
    }
}

#[test]
fn the_waku_network_without_its_proofs_starts_with_a_loud_warning() {
    for flags in [&["--preset=twn", "--rln-relay=false"][..], &["--cluster-id=1"]] {
        let warnings = load(flags, &[]).unwrap().warnings;
        let loud = warnings.iter().filter(|text| text.starts_with("SECURITY: ") && text.contains("does NOT check"));
        assert_eq!(loud.count(), 1, "{flags:?}: {warnings:?}");
    }
}

#[test]
fn a_preset_is_its_whole_network() {
    for (name, cluster, shards, bytes, entries, lists) in [
        ("twn", 1, 8, 150 << 10, 3, 1),
        ("logos.dev", 3, 8, 150 << 10, 6, 0),
        ("logos.test", 2, 8, 150 << 10, 6, 0),
        ("status.prod", 16, 1, 1_024 << 10, 3, 1),
    ] {
        let loaded = load(&[&format!("--preset={name}"), "--rln-relay=false"], &[]).unwrap();
        let config = &loaded.config;
        assert_eq!((config.cluster_id, config.num_shards_in_network), (cluster, shards), "{name}");
        assert_eq!(config.shards, (0..shards).collect::<Vec<u16>>(), "{name}");
        assert_eq!(config.max_msg_bytes, bytes, "{name}");
        assert_eq!((config.static_nodes.len(), config.discovery.dns_urls.len()), (entries, lists), "{name}");
        let shown = loaded.render();
        assert!(shown.contains(&format!("cluster-id = {cluster}  # preset {name}")), "{shown}");
        let warns = loaded.warnings.iter().any(|warning| warning.contains("Kademlia and a mix network"));
        assert_eq!(warns, name.starts_with("logos"), "{name}: {:?}", loaded.warnings);
    }
    assert!(faults(&["--preset=mars"], &[])[0].ends_with("expected one of twn, logos.dev, logos.test, status.prod"));
}

#[test]
fn a_preset_decides_its_network_and_proposes_where_to_enter() {
    let flags =
        ["--preset=status.prod", "--cluster-id=5", "--max-msg-size=1MiB", "--entry-node=/dns4/a/tcp/1", "--shard=0"];
    let loaded = load(&flags, &[]).unwrap();
    assert_eq!(
        (loaded.config.cluster_id, loaded.config.static_nodes.as_slice()),
        (16, &["/dns4/a/tcp/1".to_owned()][..])
    );
    // 1 MiB is what the network has.
    assert_eq!(loaded.warnings, ["cluster-id (flag --cluster-id) is not used: preset status.prod has 16"]);
}

#[test]
fn a_content_topic_adds_its_shard() {
    let topic = "--content-topic=/statusim/1/community/cbor";
    assert_eq!(config(&["--num-shards-in-network=8", "--shard=0", topic]).shards, [0, 4]);
    assert_eq!(config(&["--num-shards-in-network=8", topic]).shards.len(), 8, "without shard: all");
    assert_eq!(
        faults(&[topic], &[]),
        ["content-topic (flag --content-topic) needs num-shards-in-network as well; give both, or neither"]
    );
}

#[test]
fn a_protected_shard_has_one_key_and_is_in_the_network() {
    let key = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";
    let flag = |shard: u16| format!("--protected-shard={shard}:{key}");
    let config = config(&[&flag(2), &flag(7)]);
    let topics: Vec<String> = config.protected_topics().map(|(topic, _)| topic).collect();
    assert_eq!(topics, ["/waku/2/rs/0/2", "/waku/2/rs/0/7"]);
    let twice = faults(&[&flag(2), &flag(2)], &[]);
    assert_eq!(twice, ["protected-shard (flag --protected-shard) is refused: shard 2 has two keys; give one"]);
    assert!(faults(&[&flag(9), "--num-shards-in-network=8"], &[])[0].starts_with("shard 9 (flag --protected-shard)"));
    for wrong in ["0", "0:", ":02", "0:04ab", "1024:02", &format!("-1:{key}"), &format!("1024:{key}")] {
        let faults = faults(&[&format!("--protected-shard={wrong}")], &[]);
        assert!(faults[0].contains("expected SHARD:KEY"), "{wrong}: {faults:?}");
    }
}

#[test]
fn only_external_addresses_need_one() {
    assert_eq!(
        faults(&["--ext-multiaddr-only"], &[]),
        ["ext-multiaddr-only (flag --ext-multiaddr-only) needs ext-multiaddr as well; give both, or neither"]
    );
    let announced = config(&["--ext-multiaddr-only", "--ext-multiaddr=/ip4/192.0.2.1/tcp/1"]);
    assert!(announced.ext_multiaddr_only && announced.ext_multiaddrs == ["/ip4/192.0.2.1/tcp/1"]);
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
