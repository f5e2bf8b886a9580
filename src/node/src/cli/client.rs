//! The options of `levada keys`, `peers`, `query`, `publish` and `subscribe`, read by `clap`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use levada_net::{Multiaddr, multiaddr::Protocol, peer_address};
use levada_wire::hash::Digest;
use levada_wire::waku::sharding::pubsub_topic_of;
use levada_wire::waku::topics::PubsubTopic;

use super::error::CliError;
use super::help::column;

/// What a client is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientCommand {
    /// Make a node key, or tell what belongs to one.
    Keys(Keys),
    /// Tell what a node says of itself, and which nodes it knows.
    Peers(Peers),
    /// Ask a store node for messages.
    Query(Box<Query>),
    /// Have a lightpush node publish a message.
    Publish(Publish),
    /// Have a filter node push messages.
    Subscribe(Subscribe),
}

/// Of `levada keys`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keys {
    /// The file that a key is read from; without it a key is made.
    pub key_file: Option<PathBuf>,
    /// The file that a new key is written to, instead of being printed.
    pub output: Option<PathBuf>,
    /// Whether the answer is JSON.
    pub is_json: bool,
}

/// Whom to ask, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The address of the node, with its peer id at the end.
    pub address: Multiaddr,
    /// The cluster that this client says it is in.
    pub cluster: u16,
    /// How long the connection may take.
    pub timeout: Duration,
    /// Whether the answer is JSON.
    pub is_json: bool,
}

/// Of `levada peers`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peers {
    /// Whom to ask.
    pub target: Target,
    /// How many nodes it is to tell.
    pub count: u64,
}

/// Of `levada query`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// Whom to ask.
    pub target: Target,
    /// Only of this pubsub topic.
    pub pubsub_topic: Option<String>,
    /// Only of these content topics.
    pub content_topics: Vec<String>,
    /// Not before, nanoseconds since the epoch.
    pub time_start: Option<i64>,
    /// Not after, nanoseconds since the epoch.
    pub time_end: Option<i64>,
    /// Only messages of these hashes.
    pub hashes: Vec<Digest>,
    /// Continue behind this message.
    pub cursor: Option<Digest>,
    /// From the newest to the oldest.
    pub backward: bool,
    /// Messages per page.
    pub page_size: u64,
    /// Messages at most.
    pub limit: Option<u64>,
    /// Hashes only.
    pub hashes_only: bool,
}

/// Of `levada publish`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publish {
    /// Who is to publish.
    pub target: Target,
    /// The pubsub topic; the node finds it by the content topic without one.
    pub pubsub_topic: Option<String>,
    /// The content topic.
    pub content_topic: String,
    /// The payload; standard input without one.
    pub payload: Option<String>,
    /// The field `meta`.
    pub meta: Vec<u8>,
    /// The file of the key that signs the message, for a protected shard; the signature is its `meta` then.
    pub signing_key: Option<PathBuf>,
    /// Whether it is not to be archived.
    pub ephemeral: bool,
}

/// Of `levada subscribe`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscribe {
    /// Who is to push.
    pub target: Target,
    /// Pubsub topics, each with content topics.
    pub topics: Vec<(String, Vec<String>)>,
    /// Messages after which it ends.
    pub count: Option<u64>,
}

/// The commands, in the order of the help.
pub(super) const CLIENTS: &[&str] = &["keys", "peers", "query", "publish", "subscribe"];

/// Reads the arguments after `levada NAME`.
///
/// # Errors
/// [`CliError::Client`] in the words of `clap`.
pub(super) fn read(name: &str, args: impl IntoIterator<Item = OsString>) -> Result<super::Command, CliError> {
    let Some(command) = command(name) else { return Err(CliError::Client(format!("there is no command {name}"))) };
    let program = OsString::from(format!("levada {name}"));
    let matches = match command.try_get_matches_from([program].into_iter().chain(args)) {
        Ok(matches) => matches,
        Err(error) if !error.use_stderr() => return Ok(super::Command::Help(error.to_string())),
        Err(error) => return Err(CliError::Client(words(&error))),
    };
    let read = match name {
        "keys" => keys(&matches).map(ClientCommand::Keys),
        "peers" => peers(&matches).map(ClientCommand::Peers),
        "query" => query(&matches).map(Box::new).map(ClientCommand::Query),
        "publish" => publish(&matches).map(ClientCommand::Publish),
        _ => subscribe(&matches).map(ClientCommand::Subscribe),
    };
    read.map(super::Command::Client).map_err(CliError::Client)
}

/// `levada NAME --help`.
pub(super) fn help(name: &str) -> String {
    command(name).map(|mut command| command.render_help().to_string()).unwrap_or_default()
}

/// The error without the mark that `clap` puts in front of it.
fn words(error: &clap::Error) -> String {
    let text = error.to_string();
    text.strip_prefix("error: ").unwrap_or(&text).trim_end().to_owned()
}

fn keys(matches: &ArgMatches) -> Result<Keys, String> {
    let file = |name| matches.get_one::<PathBuf>(name).cloned();
    Ok(Keys { key_file: file("key-file"), output: file("output"), is_json: is_json(matches) })
}

fn peers(matches: &ArgMatches) -> Result<Peers, String> {
    Ok(Peers { target: target(matches, None), count: *matches.get_one("count").unwrap_or(&PEERS) })
}

fn query(matches: &ArgMatches) -> Result<Query, String> {
    let content_topics = texts(matches, "content-topic");
    let pubsub_topic = pubsub_topic(matches);
    Ok(Query {
        target: target(matches, pubsub_topic),
        pubsub_topic: pubsub_topic.map(|topic| topic.to_string()),
        content_topics,
        time_start: matches.get_one("start-time").copied(),
        time_end: matches.get_one("end-time").copied(),
        hashes: matches.get_many("hash").map(|hashes| hashes.copied().collect()).unwrap_or_default(),
        cursor: matches.get_one("cursor").copied(),
        backward: matches.get_flag("backward"),
        page_size: *matches.get_one("page-size").unwrap_or(&PAGE_SIZE),
        limit: matches.get_one("limit").copied(),
        hashes_only: matches.get_flag("hashes-only"),
    })
}

fn publish(matches: &ArgMatches) -> Result<Publish, String> {
    let content_topic = matches.get_one::<String>("content-topic").cloned().unwrap_or_default();
    let topic = match (pubsub_topic(matches), shard_count(matches)) {
        (None, Some(count)) => Some(sharded(matches, &content_topic, count)?),
        (topic, _) => topic,
    };
    let signing_key = matches.get_one::<PathBuf>("signing-key").cloned();
    if signing_key.is_some() && topic.is_none() {
        let text =
            "--signing-key signs the pubsub topic too; give --pubsub-topic, or --num-shards-in-network to find it";
        return Err(text.to_owned());
    }
    Ok(Publish {
        target: target(matches, topic),
        pubsub_topic: topic.map(|topic| topic.to_string()),
        content_topic,
        payload: matches.get_one::<String>("payload").cloned().filter(|payload| payload != "-"),
        meta: matches.get_one::<Vec<u8>>("meta").cloned().unwrap_or_default(),
        signing_key,
        ephemeral: matches.get_flag("ephemeral"),
    })
}

fn subscribe(matches: &ArgMatches) -> Result<Subscribe, String> {
    let content_topics = texts(matches, "content-topic");
    let named = pubsub_topic(matches);
    let topics = match (named, shard_count(matches)) {
        (Some(topic), _) => vec![(topic.to_string(), content_topics)],
        (None, Some(count)) => {
            let mut topics: Vec<(String, Vec<String>)> = Vec::new();
            for content_topic in content_topics {
                let topic = sharded(matches, &content_topic, count)?.to_string();
                match topics.iter_mut().find(|(known, _)| *known == topic) {
                    Some((_, those)) => those.push(content_topic),
                    None => topics.push((topic, vec![content_topic])),
                }
            }
            topics
        }
        (None, None) => {
            return Err("give --pubsub-topic, or --num-shards-in-network to find it by the content topics".to_owned());
        }
    };
    Ok(Subscribe { target: target(matches, named), topics, count: matches.get_one("count").copied() })
}

/// The pubsub topic of a content topic in a network of so many shards.
fn sharded(matches: &ArgMatches, content_topic: &str, count: u16) -> Result<PubsubTopic, String> {
    let cluster = matches.get_one("cluster-id").copied().unwrap_or_default();
    pubsub_topic_of(content_topic, cluster, count).map_err(|error| format!("--content-topic={content_topic}: {error}"))
}

fn target(matches: &ArgMatches, topic: Option<PubsubTopic>) -> Target {
    let given = matches.get_one::<u16>("cluster-id").copied();
    Target {
        address: matches.get_one::<Multiaddr>("to").cloned().unwrap_or_else(Multiaddr::empty),
        cluster: given.or(topic.map(|topic| topic.cluster)).unwrap_or_default(),
        timeout: Duration::from_secs(*matches.get_one("timeout").unwrap_or(&TIMEOUT_S)),
        is_json: is_json(matches),
    }
}

fn is_json(matches: &ArgMatches) -> bool {
    matches.get_one::<String>("format").is_some_and(|format| format == "json")
}

fn texts(matches: &ArgMatches, name: &str) -> Vec<String> {
    matches.get_many::<String>(name).map(|texts| texts.cloned().collect()).unwrap_or_default()
}

fn pubsub_topic(matches: &ArgMatches) -> Option<PubsubTopic> {
    matches.get_one("pubsub-topic").copied()
}

fn shard_count(matches: &ArgMatches) -> Option<u16> {
    matches.get_one("num-shards-in-network").copied()
}

/// Nodes that are asked for.
const PEERS: u64 = 20;
/// Messages per page, as nwaku answers without a number.
const PAGE_SIZE: u64 = 20;
/// Seconds that the connection and each answer may take.
const TIMEOUT_S: u64 = 15;

/// Every command, for what is generated from the whole command line.
pub(super) fn commands() -> impl Iterator<Item = Command> {
    CLIENTS.iter().filter_map(|name| command(name).map(|command| command.name(*name)))
}

fn command(name: &str) -> Option<Command> {
    match name {
        "keys" => Some(keys_command()),
        "peers" => Some(peers_command()),
        "query" => Some(query_command()),
        "publish" => Some(publish_command()),
        "subscribe" => Some(subscribe_command()),
        _ => None,
    }
}

fn named(name: &'static str, about: &'static str) -> Command {
    Command::new(name).bin_name(name).about(about).arg(
        option("format", "WORD", "The shape of what is printed on standard output: text or json.")
            .default_value("text")
            .value_parser(PossibleValuesParser::new(["text", "json"])),
    )
}

fn asking(name: &'static str, about: &'static str) -> Command {
    named(name, about)
        .arg(
            option("to", "MULTIADDR", "The node to ask, with its peer id: /ip4/192.0.2.1/tcp/60000/p2p/16Uiu2…")
                .required(true)
                .value_parser(address),
        )
        .arg(
            option("cluster-id", "N", "The cluster of the node; that of the pubsub topic unless given, else 0.")
                .value_parser(value_parser!(u16)),
        )
        .arg(
            option("timeout", "SECONDS", "How long the connection may take.")
                .default_value("15")
                .value_parser(value_parser!(u64).range(1..=3_600)),
        )
}

fn option(name: &'static str, value: &'static str, help: &str) -> Arg {
    Arg::new(name).long(name).value_name(value).help(column(help))
}

fn switch(name: &'static str, help: &str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(column(help))
}

fn pubsub_topic_option() -> Arg {
    option("pubsub-topic", "TOPIC", "The pubsub topic, /waku/2/rs/CLUSTER/SHARD.")
        .value_parser(|text: &str| PubsubTopic::parse(text).map_err(|error| error.to_string()))
}

fn shards_option() -> Arg {
    option(
        "num-shards-in-network",
        "N",
        "The number of shards of the network, by which content topics find their pubsub topic (autosharding).",
    )
    .value_parser(value_parser!(u16).range(1..=1_024))
    .conflicts_with("pubsub-topic")
}

fn keys_command() -> Command {
    named("levada keys", "Makes a node key, or tells the public key and the peer id of one.")
        .arg(path("key-file", "The file of a key, 64 hexadecimal digits; a new key is made unless given."))
        .arg(
            path("output", "The file to write the new key to, which nobody else can read; it is printed unless given.")
                .conflicts_with("key-file"),
        )
        .after_help("Example:\n  levada keys --output=node.key\n  LEVADA_NODEKEY=$(cat node.key) levada run")
}

fn path(name: &'static str, help: &str) -> Arg {
    option(name, "PATH", help).value_parser(value_parser!(PathBuf))
}

fn peers_command() -> Command {
    asking("levada peers", "Tells what a node says of itself, and which nodes it knows (peer exchange).").arg(
        option("count", "N", "How many nodes it is asked for.")
            .default_value("20")
            .value_parser(value_parser!(u64).range(1..=60)),
    )
}

fn query_command() -> Command {
    let time =
        |name, help: &str| option(name, "NS", help).value_parser(value_parser!(i64)).allow_negative_numbers(true);
    asking("levada query", "Asks a store node for messages, page by page.")
        .arg(pubsub_topic_option())
        .arg(option("content-topic", "TOPIC", "Only messages of it; may be repeated.").action(ArgAction::Append))
        .arg(time("start-time", "Only messages at or after it, nanoseconds since 1970."))
        .arg(time("end-time", "Only messages at or before it, nanoseconds since 1970."))
        .arg(
            option("hash", "HEX", "Only the message of this hash; may be repeated.")
                .action(ArgAction::Append)
                .value_parser(digest),
        )
        .arg(option("cursor", "HEX", "Continue behind the message of this hash.").value_parser(digest))
        .arg(switch("backward", "From the newest message to the oldest. Each page is in order of time."))
        .arg(
            option("page-size", "N", "Messages per page.")
                .default_value("20")
                .value_parser(value_parser!(u64).range(1..=100)),
        )
        .arg(option("limit", "N", "Messages at most.").value_parser(value_parser!(u64).range(1..)))
        .arg(switch("hashes-only", "Ask for the hashes, not for the messages."))
        .after_help("With json, each message is a line, as levada archive export writes it.")
}

fn publish_command() -> Command {
    asking("levada publish", "Has a node publish a message (lightpush, version 3, else 2).")
        .arg(option("content-topic", "TOPIC", "The content topic.").required(true))
        .arg(pubsub_topic_option().help(column(
            "The pubsub topic, /waku/2/rs/CLUSTER/SHARD. Without it the node finds it by the content topic, if it can.",
        )))
        .arg(shards_option())
        .arg(
            option("meta", "HEX", "The field meta, at most 64 bytes.")
                .value_parser(|text: &str| hex::decode(text).map_err(|error| error.to_string())),
        )
        .arg(
            path(
                "signing-key",
                "For a protected shard: the file of the key that signs the message, 64 hexadecimal digits.",
            )
            .conflicts_with("meta"),
        )
        .arg(switch("ephemeral", "The message is not to be archived."))
        .arg(
            Arg::new("payload")
                .value_name("PAYLOAD")
                .help(column("The payload as text; standard input unless given, or for -.")),
        )
}

fn subscribe_command() -> Command {
    asking("levada subscribe", "Prints the messages that a filter node pushes, until Ctrl-C.")
        .arg(pubsub_topic_option())
        .arg(shards_option())
        .arg(
            option("content-topic", "TOPIC", "A content topic; may be repeated.")
                .required(true)
                .action(ArgAction::Append),
        )
        .arg(option("count", "N", "Messages after which it ends.").value_parser(value_parser!(u64).range(1..)))
        .after_help(
            "Ctrl-C or SIGTERM ends the subscription and prints what is still under way; a second one quits at once.\n\
             With json, each message is a line, as levada archive export writes it.",
        )
}

fn address(text: &str) -> Result<Multiaddr, String> {
    let address = peer_address(text).map_err(|error| error.to_string())?;
    match address.iter().last() {
        Some(Protocol::P2p(_)) => Ok(address),
        _ => Err(format!("{text} lacks the node's peer id; put /p2p/16Uiu2… behind it")),
    }
}

fn digest(text: &str) -> Result<Digest, String> {
    let mut digest = [0; 32];
    let digits = text.strip_prefix("0x").unwrap_or(text);
    hex::decode_to_slice(digits, &mut digest).map_err(|_| "a hash has 64 hexadecimal digits".to_owned())?;
    Ok(digest)
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
