use super::*;

const TO: &str = "--to=/ip4/127.0.0.1/tcp/1/p2p/16Uiu2HAmQ9X2xDfPG3uL77V9piYDhjq14JhKCtcmNYsTMKNqrKCj";

fn read_line(name: &str, line: &str) -> Result<ClientCommand, String> {
    let line = line.replace("TO", TO);
    match read(name, line.split_whitespace().map(Into::into)) {
        Ok(super::super::Command::Client(command)) => Ok(command),
        Ok(other) => Err(format!("{other:?}")),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn commands_are_read_with_their_defaults() {
    let keys = read_line("keys", "");
    assert_eq!(keys, Ok(ClientCommand::Keys(Keys { key_file: None, output: None, is_json: false })));
    let Ok(ClientCommand::Peers(peers)) = read_line("peers", "TO --format=json") else { panic!("peers") };
    assert_eq!((peers.count, peers.target.cluster, peers.target.is_json), (20, 0, true));
    assert_eq!(peers.target.timeout, Duration::from_secs(15));
    let line = "TO --pubsub-topic=/waku/2/rs/16/3 --content-topic=/a/1/b/c --content-topic=/a/1/d/c --start-time=-1 --backward";
    let Ok(ClientCommand::Query(query)) = read_line("query", line) else { panic!("query") };
    assert_eq!((query.target.cluster, query.content_topics.len(), query.page_size), (16, 2, 20));
    assert_eq!((query.time_start, query.backward, query.limit), (Some(-1), true, None));
    let Ok(ClientCommand::Publish(publish)) = read_line("publish", "TO --content-topic=/a/1/b/c --meta=0a0b -") else {
        panic!("publish")
    };
    assert_eq!((publish.payload, publish.pubsub_topic, publish.meta), (None, None, vec![10, 11]));
}

#[test]
fn content_topics_find_their_pubsub_topics() {
    let line = "TO --cluster-id=1 --num-shards-in-network=8 --content-topic=/statusim/1/community/cbor \
                --content-topic=/toychat/2/huilong/proto --content-topic=/statusim/1/other/cbor";
    let Ok(ClientCommand::Subscribe(subscribe)) = read_line("subscribe", line) else { panic!("subscribe") };
    let topics: Vec<(&str, usize)> =
        subscribe.topics.iter().map(|(topic, those)| (topic.as_str(), those.len())).collect();
    assert_eq!(topics, [("/waku/2/rs/1/4", 2), ("/waku/2/rs/1/3", 1)]);
}

#[test]
fn what_is_wrong_is_said() {
    for (name, line, expected) in [
        ("peers", "", "--to"),
        ("peers", "--to=127.0.0.1:60000", "is not a multiaddress"),
        ("peers", "--to=/ip4/127.0.0.1/tcp/60000", "lacks the node's peer id"),
        ("peers", "TO --count=0", "1..=60"),
        ("query", "TO --hash=12", "64 hexadecimal digits"),
        ("query", "TO --pubsub-topic=chat", "chat"),
        ("query", "TO --page-size=101", "1..=100"),
        ("publish", "TO", "--content-topic"),
        ("publish", "TO --content-topic=t --meta=zz", "--meta"),
        ("publish", "TO --content-topic=t --signing-key=k", "--signing-key signs the pubsub topic too"),
        ("publish", "TO --content-topic=t --signing-key=k --meta=00", "cannot be used with"),
        ("publish", "TO --content-topic=chat --num-shards-in-network=8", "--content-topic=chat"),
        ("subscribe", "TO --content-topic=/a/1/b/c", "--pubsub-topic"),
        ("subscribe", "TO --pubsub-topic=/waku/2/rs/0/0", "--content-topic"),
        ("keys", "--key-file=a --output=b", "cannot be used with"),
        ("keys", "--format=csv", "json"),
    ] {
        let words = read_line(name, line).expect_err(line);
        assert!(words.contains(expected), "{name} {line}: {words}");
    }
}

#[test]
fn help_of_every_command_fits_and_has_the_format() {
    for name in CLIENTS {
        let text = help(name);
        assert!(text.contains("--format") && text.contains(&format!("levada {name}")), "{text}");
    }
}
