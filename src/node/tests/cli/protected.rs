//! What the real binary does about protections: it checks signatures on protected shards, and refuses what it cannot check.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k256::ecdsa::signature::hazmat::PrehashSigner;
use k256::ecdsa::{Signature, SigningKey};
use levada_stages::signed::SignedParts;

use crate::support::http::Client;
use crate::support::message::{MESSAGES, Message, TOPIC};
use crate::support::node::{Node, levada, run};

fn signed(key: &SigningKey, mut message: Message) -> Message {
    let parts = SignedParts {
        pubsub_topic: TOPIC,
        payload: &message.payload,
        content_topic: message.content_topic.as_bytes(),
        timestamp: message.timestamp_ns,
        ephemeral: message.ephemeral,
    };
    let signature: Signature = key.sign_prehash(&parts.digest()).unwrap();
    message.meta = signature.to_bytes().to_vec();
    message
}

#[test]
fn on_a_protected_shard_only_signed_messages_pass() {
    let folder = tempfile::tempdir().unwrap();
    let key = SigningKey::from_slice(&[5; 32]).unwrap();
    let public = hex::encode(key.verifying_key().to_sec1_point(true));
    let node = Node::start(folder.path(), &[&format!("--protected-shard=0:{public}")]);
    let mut rest = Client::new(node.rest());
    let good = signed(&key, Message::new("good"));
    let stranger = signed(&SigningKey::from_slice(&[6; 32]).unwrap(), Message::new("of a stranger"));
    let old = Message { timestamp_ns: good.timestamp_ns - 301_000_000_000, ..Message::new("old") };
    for bad in [Message::new("unsigned"), stranger, signed(&key, old)] {
        let answer = rest.post(MESSAGES, bad.json().to_string());
        assert_eq!(answer.status, 400, "{}", answer.text());
        assert!(answer.text().contains("bad_signature"), "{}", answer.text());
    }
    assert_eq!(rest.post(MESSAGES, good.json().to_string()).status, 200);
    let found = rest.get("/store/v3/messages?includeData=true").json();
    let payloads: Vec<&str> =
        found["messages"].as_array().unwrap().iter().filter_map(|found| found["message"]["payload"].as_str()).collect();
    assert_eq!(payloads, [STANDARD.encode("good")]);
    let scrape = Client::new(node.metrics()).get("/metrics");
    for line in [
        "waku_msg_validator_signed_outcome_total{result=\"Accept\"} 1",
        "waku_msg_validator_signed_outcome_total{result=\"Reject\"} 3",
    ] {
        assert!(scrape.text().lines().any(|given| given == line), "{line} is not in the scrape");
    }
}

#[test]
fn what_would_go_unchecked_is_refused_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    for (flags, reason) in [
        (
            &["--rln-relay=true"][..],
            "rln-relay (flag --rln-relay) is refused: this version cannot check rate-limit proofs",
        ),
        (&["--preset=twn"], "preset (flag --preset) is refused: messages of twn carry rate-limit proofs"),
        (
            &["--protected-shard=0:04"],
            "protected-shard: \"0:04\" (flag --protected-shard) is not valid; expected SHARD:KEY",
        ),
    ] {
        for command in ["run", "check"] {
            let ended = run(levada(folder.path()).arg(command).args(flags));
            assert!(matches!(ended.code, Some(64 | 78)), "{flags:?}: {:?}", ended.code);
            assert!(ended.stderr.contains(reason), "{}", ended.stderr);
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is started");
    let checked = run(levada(folder.path()).args(["check", "--preset=twn", "--rln-relay=false"]));
    assert_eq!(checked.code, Some(0), "{}", checked.stderr);
    assert!(checked.stdout.contains("cluster-id = 1  # preset twn"), "{}", checked.stdout);
}
