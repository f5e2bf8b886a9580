//! The WebSocket port secured by TLS.

use super::client::until;
use crate::support::node::{Node, ephemeral, run};

#[tokio::test]
async fn the_websocket_port_is_secured_and_needs_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let rcgen::CertifiedKey { cert, key_pair } = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(folder.path().join("key.pem"), key_pair.serialize_pem()).unwrap();
    std::fs::write(folder.path().join("certificate.pem"), cert.pem()).unwrap();
    let secured = ["--websocket-secure-support", "--websocket-secure-key-path=key.pem"];
    let flags = [&secured[..], &["--websocket-secure-cert-path=certificate.pem"]].concat();
    let node = Node::start(folder.path(), &flags);
    let websocket = node.after("listening on ").into_iter().find(|address| address.contains("/wss/"));
    assert!(websocket.is_some(), "{:?}", node.lines);
    assert!(!node.lines.iter().any(|line| line.contains("/ws/")), "{:?}", node.lines);
    // TCP is as it was.
    let client = super::client::Client::of(&node).await;
    until(async || client.net.connected_count() == 1).await;

    for (key, certificate) in [("key.pem", "key.pem"), ("certificate.pem", "certificate.pem"), ("none", "none")] {
        let flags = [
            "--store=false".to_owned(),
            "--websocket-secure-support".to_owned(),
            format!("--websocket-secure-key-path={key}"),
            format!("--websocket-secure-cert-path={certificate}"),
        ];
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let ended = run(&mut ephemeral(folder.path(), &flags));
        assert_ne!(ended.code, Some(0));
        assert!(ended.stderr.contains("--websocket-secure-"), "{}", ended.stderr);
    }
}
