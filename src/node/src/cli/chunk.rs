//! The options of `levada chunk serve`, `put` and `get`. They name files and peers without flags, so that `clap` reads them.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use levada_chunk::transport::{PeerAddress, Scheme};

use super::error::CliError;
use super::help::{COLUMNS_MAX, column};
use crate::config::{LogLevel, parse_bytes, wrap};

/// What `levada chunk` is asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum ChunkCommand {
    /// Be a node.
    Serve(ChunkServe),
    /// Put files.
    Put(ChunkPut),
    /// Get files.
    Get(ChunkGet),
}

/// A node of chunks.
#[derive(Debug, Clone, PartialEq)]
pub struct ChunkServe {
    /// The folder of its chunks and its identity.
    pub folder: PathBuf,
    /// Where it listens, at most once per scheme.
    pub listen: Vec<(Scheme, SocketAddr)>,
    /// Bytes of chunks that it stores at most.
    pub chunk_bytes_max: u64,
    /// Bytes of its arena.
    pub arena_bytes: usize,
    /// Connections at once.
    pub connections_max: usize,
    /// The file with the digests of accepted payment proofs.
    pub allow_list: Option<PathBuf>,
    /// Whether messages must be signed.
    pub requires_signature: bool,
    /// Where Prometheus reads its metrics.
    pub metrics: Option<SocketAddr>,
    /// How long it may take to stop.
    pub drain_timeout: Duration,
    /// What is logged.
    pub log_level: LogLevel,
}

/// Files to put.
#[derive(Debug, Clone, PartialEq)]
pub struct ChunkPut {
    /// The files.
    pub files: Vec<PathBuf>,
    /// The nodes.
    pub transfer: Transfer,
    /// The file with the payment proof.
    pub proof: Option<PathBuf>,
}

/// Files to get.
#[derive(Debug, Clone, PartialEq)]
pub struct ChunkGet {
    /// Their data maps.
    pub maps: Vec<PathBuf>,
    /// The nodes.
    pub transfer: Transfer,
    /// Where the file goes, if there is only one.
    pub out: Option<PathBuf>,
}

/// What putting and getting have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct Transfer {
    /// The nodes.
    pub peers: Vec<PeerAddress>,
    /// Nodes of a close group.
    pub close_group: usize,
    /// Bytes of chunks in memory at most.
    pub memory_bytes: usize,
    /// How long a node may take to answer.
    pub answer_within: Duration,
    /// How often all nodes are asked before a chunk is given up.
    pub attempts: u32,
    /// The file with the key that signs.
    pub key: Option<PathBuf>,
    /// What is logged.
    pub log_level: LogLevel,
}

/// Reads the arguments after `levada chunk`.
///
/// # Errors
/// [`CliError::Chunk`] in the words of `clap`.
pub(super) fn read(args: impl IntoIterator<Item = OsString>) -> Result<super::Command, CliError> {
    let name = OsString::from("levada chunk");
    let matches = match command().try_get_matches_from([name].into_iter().chain(args)) {
        Ok(matches) => matches,
        Err(error) if !error.use_stderr() => return Ok(super::Command::Help(error.to_string())),
        Err(error) => return Err(CliError::Chunk(words(&error))),
    };
    let read = match matches.subcommand() {
        Some(("serve", matches)) => serve(matches).map(ChunkCommand::Serve),
        Some(("put", matches)) => Ok(ChunkCommand::Put(put(matches))),
        Some(("get", matches)) => get(matches).map(ChunkCommand::Get),
        _ => Err(CliError::Chunk("levada chunk needs a command: serve, put or get".to_owned())),
    };
    read.map(super::Command::Chunk)
}

/// `levada chunk --help`, or that of one of its commands.
pub(super) fn help(of: Option<&str>) -> String {
    let mut command = command();
    command.build();
    let found = of.and_then(|name| command.find_subcommand_mut(name)).map(|command| command.render_help());
    found.unwrap_or_else(|| command.render_help()).to_string()
}

/// The error without the mark that `clap` puts in front of it, and without what this program says itself.
fn words(error: &clap::Error) -> String {
    let text = error.to_string();
    text.strip_prefix("error: ").unwrap_or(&text).trim_end().to_owned()
}

pub(super) fn command() -> Command {
    Command::new("levada chunk")
        .bin_name("levada chunk")
        .about("Stores files as content-addressed chunks of 4 MiB on several nodes, and gets them back.")
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .subcommand(serve_command())
        .subcommand(put_command())
        .subcommand(get_command())
        .after_help(
            "Five nodes, a file to them and back:\n  \
             for n in 1 2 3 4 5; do levada chunk serve --folder=node$n --listen=tcp://127.0.0.1:931$n & done\n  \
             levada chunk put film.mkv --to 127.0.0.1:931{1..5}\n  \
             levada chunk get film.mkv.chunks --from 127.0.0.1:931{1..5} --out=back.mkv",
        )
}

fn serve_command() -> Command {
    Command::new("serve")
        .about("Stores chunks and gives them back, until Ctrl-C or SIGTERM.")
        .arg(
            defaulted("folder", "DIR", "levada-chunks", "The chunks and the node's identity.")
                .value_parser(value_parser!(PathBuf)),
        )
        .arg(
            option(
                "listen",
                "ADDR",
                "Where to listen: tcp://IP:PORT or quic://IP:PORT; may be given once for each. [default: \
                 tcp://127.0.0.1:9310 and quic://127.0.0.1:9310]",
            )
            .action(ArgAction::Append)
            .value_parser(listen_address)
            .default_values(["tcp://127.0.0.1:9310", "quic://127.0.0.1:9310"])
            .hide_default_value(true),
        )
        .arg(size("max-store-bytes", "100GiB", "Chunks on the disk at most; beyond, chunks are refused."))
        .arg(size("arena-bytes", "128MiB", "Memory for chunks on their way; beyond, connections are not read."))
        .arg(number("max-connections", "256", 1..=65_536, "Connections at once; more wait."))
        .arg(path(
            "allow-list",
            "FILE",
            "BLAKE3 digests of accepted payment proofs, one a line; without it all is accepted.",
        ))
        .arg(
            Arg::new("require-signature")
                .long("require-signature")
                .action(ArgAction::SetTrue)
                .help(column("Refuse messages without a signed outer frame.")),
        )
        .arg(
            option("metrics-address", "IP:PORT", "Serve metrics at http://IP:PORT/metrics; without it there are none.")
                .value_parser(value_parser!(SocketAddr)),
        )
        .arg(number("drain-timeout", "10", 0..=3_600, "Seconds for answering what was asked, when stopping."))
        .arg(log_level("INFO"))
        .after_help(
            "Without an allow list anybody who reaches the node can fill its disk: let it listen to friends only.",
        )
}

fn put_command() -> Command {
    transfer_command("put", "to", "Puts files; the list of a file's chunks is written beside it as FILE.chunks.")
        .arg(files("FILE", "Files to put."))
        .arg(path("proof", "FILE", "A payment proof that goes with every chunk."))
        .after_help(wrapped(
            "Each chunk goes to the closest nodes until more than half of its close group has it. Ctrl-C waits for what is \
             under way; put the same file to the same nodes again to go on, one of them may be away. Exit codes: 0 all put, 1 \
             failed, 64 wrong usage, 130 stopped.",
        ))
}

fn get_command() -> Command {
    transfer_command("get", "from", "Gets files back by the lists of their chunks, and verifies every chunk.")
        .arg(files("MAP", "Lists of chunks, as put wrote them; FILE.chunks becomes FILE."))
        .arg(path("out", "FILE", "Where the file goes, for a single list."))
        .after_help(wrapped(
            "A file grows as FILE.part; get it again to go on. Exit codes: 0 all got, 1 failed, 64 wrong usage, 130 stopped.",
        ))
}

fn transfer_command(name: &'static str, peers: &'static str, about: &'static str) -> Command {
    Command::new(name)
        .about(about)
        .arg(
            option(peers, "PEER", "Nodes: HOST:PORT, tcp://HOST:PORT or quic://HOST:PORT.")
                .id("peers")
                .num_args(1..)
                .required(true)
                .action(ArgAction::Append)
                .value_parser(|text: &str| text.parse::<PeerAddress>()),
        )
        .arg(number(
            "close-group",
            "7",
            1..=20,
            "Nodes of a chunk's close group, of which more than half must have it.",
        ))
        .arg(size("memory", "256MiB", "Memory for chunks, which is the bound of how many are under way."))
        .arg(number(
            "answer-within",
            "10",
            1..=3_600,
            "Seconds until a node counts as failed and the next one is asked.",
        ))
        .arg(number("attempts", "3", 1..=100, "Times that all nodes are asked before a chunk is given up."))
        .arg(path(
            "key",
            "FILE",
            "Sign every message by the ML-DSA-65 key of this file, which is made if there is none.",
        ))
        .arg(log_level("ERROR"))
}

/// `clap` breaks no lines itself as it is built here.
fn wrapped(text: &str) -> String {
    wrap(text, COLUMNS_MAX).join("\n")
}

fn option(name: &'static str, value: &'static str, help: &str) -> Arg {
    Arg::new(name).long(name).value_name(value).help(column(help))
}

/// An option whose default stands in its help, which `clap` would not wrap.
fn defaulted(name: &'static str, value: &'static str, default: &'static str, help: &str) -> Arg {
    let help = format!("{help} [default: {default}]");
    option(name, value, &help).default_value(default).hide_default_value(true)
}

fn path(name: &'static str, value: &'static str, help: &str) -> Arg {
    option(name, value, help).value_parser(value_parser!(PathBuf))
}

fn files(value: &'static str, help: &str) -> Arg {
    let files = Arg::new("files").value_name(value).help(column(help)).num_args(1..);
    files.required(true).value_parser(value_parser!(PathBuf))
}

fn size(name: &'static str, default: &'static str, help: &str) -> Arg {
    let read = |text: &str| parse_bytes(text).ok_or("write a number of bytes, as in 128MiB or 1000000");
    defaulted(name, "BYTES", default, help).value_parser(read)
}

fn number(name: &'static str, default: &'static str, range: RangeInclusive<u64>, help: &str) -> Arg {
    defaulted(name, "N", default, help).value_parser(value_parser!(u64).range(range))
}

fn log_level(default: &'static str) -> Arg {
    let words = PossibleValuesParser::new(LogLevel::NAMES);
    let help = format!("What is logged on standard error: {}.", LogLevel::NAMES.join(", "));
    defaulted("log-level", "LEVEL", default, &help).value_parser(words).hide_possible_values(true).ignore_case(true)
}

fn listen_address(text: &str) -> Result<(Scheme, SocketAddr), String> {
    let wanted = || "write tcp://IP:PORT or quic://IP:PORT; port 0 takes a free one".to_owned();
    let (scheme, rest) = match text.split_once("://") {
        Some(("tcp", rest)) => (Scheme::Tcp, rest),
        Some(("quic", rest)) => (Scheme::Quic, rest),
        _ => return Err(wanted()),
    };
    rest.parse().map(|address| (scheme, address)).map_err(|_| wanted())
}

fn serve(matches: &ArgMatches) -> Result<ChunkServe, CliError> {
    let listen: Vec<(Scheme, SocketAddr)> = many(matches, "listen");
    for scheme in [Scheme::Tcp, Scheme::Quic] {
        if listen.iter().filter(|(named, _)| *named == scheme).count() > 1 {
            return Err(CliError::Chunk(format!(
                "--listen names {scheme} twice; a node listens at one address of each kind"
            )));
        }
    }
    Ok(ChunkServe {
        folder: one(matches, "folder"),
        listen,
        chunk_bytes_max: one(matches, "max-store-bytes"),
        arena_bytes: bytes(matches, "arena-bytes"),
        connections_max: one::<u64>(matches, "max-connections") as usize,
        allow_list: matches.get_one("allow-list").cloned(),
        requires_signature: matches.get_flag("require-signature"),
        metrics: matches.get_one("metrics-address").copied(),
        drain_timeout: Duration::from_secs(one(matches, "drain-timeout")),
        log_level: level(matches),
    })
}

fn put(matches: &ArgMatches) -> ChunkPut {
    ChunkPut { files: many(matches, "files"), transfer: transfer(matches), proof: matches.get_one("proof").cloned() }
}

fn get(matches: &ArgMatches) -> Result<ChunkGet, CliError> {
    let maps: Vec<PathBuf> = many(matches, "files");
    let out: Option<PathBuf> = matches.get_one("out").cloned();
    if out.is_some() && maps.len() > 1 {
        return Err(CliError::Chunk(
            "--out names one file, and several lists are given; get them one by one".to_owned(),
        ));
    }
    Ok(ChunkGet { maps, transfer: transfer(matches), out })
}

fn transfer(matches: &ArgMatches) -> Transfer {
    Transfer {
        peers: many(matches, "peers"),
        close_group: one::<u64>(matches, "close-group") as usize,
        memory_bytes: bytes(matches, "memory"),
        answer_within: Duration::from_secs(one(matches, "answer-within")),
        attempts: one::<u64>(matches, "attempts") as u32,
        key: matches.get_one("key").cloned(),
        log_level: level(matches),
    }
}

/// The value of an option that has a default.
fn one<T: Clone + Send + Sync + 'static>(matches: &ArgMatches, name: &str) -> T {
    matches.get_one::<T>(name).cloned().expect("the option has a default")
}

fn many<T: Clone + Send + Sync + 'static>(matches: &ArgMatches, name: &str) -> Vec<T> {
    matches.get_many::<T>(name).into_iter().flatten().cloned().collect()
}

fn bytes(matches: &ArgMatches, name: &str) -> usize {
    usize::try_from(one::<u64>(matches, name)).unwrap_or(usize::MAX)
}

fn level(matches: &ArgMatches) -> LogLevel {
    LogLevel::named(&one::<String>(matches, "log-level")).expect("the option allows only these words")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<super::super::Command, CliError> {
        read(line.split_whitespace().map(OsString::from))
    }

    fn command_of(line: &str) -> ChunkCommand {
        match parsed(line) {
            Ok(super::super::Command::Chunk(command)) => command,
            other => panic!("{other:?} is no command"),
        }
    }

    fn fault(line: &str) -> String {
        parsed(line).unwrap_err().to_string()
    }

    #[test]
    fn files_and_peers_stand_where_they_are_expected() {
        let ChunkCommand::Put(put) = command_of("put a b --to h:1 quic://i:2 --to [::1]:3 --memory=8MiB --key=k")
        else {
            panic!("it is a put");
        };
        assert_eq!(put.files, [PathBuf::from("a"), PathBuf::from("b")]);
        let peers: Vec<String> = put.transfer.peers.iter().map(ToString::to_string).collect();
        assert_eq!(peers, ["tcp://h:1", "quic://i:2", "tcp://[::1]:3"]);
        assert_eq!((put.transfer.memory_bytes, put.transfer.close_group), (8 << 20, 7));
        let ChunkCommand::Get(get) = command_of("get --from h:1 --out o -- m") else { panic!("it is a get") };
        assert_eq!((get.maps, get.out), (vec![PathBuf::from("m")], Some(PathBuf::from("o"))));
    }

    #[test]
    fn a_node_has_defaults_and_listens_once_of_each_kind() {
        let ChunkCommand::Serve(serve) = command_of("serve") else { panic!("it is a node") };
        assert_eq!(serve.listen.len(), 2);
        let ChunkCommand::Serve(serve) = command_of("serve --listen=quic://0.0.0.0:7 --log-level=warn") else {
            panic!("it is a node");
        };
        assert_eq!(serve.listen, [(Scheme::Quic, ([0, 0, 0, 0], 7).into())]);
        assert_eq!(serve.log_level, LogLevel::Warn);
        assert!(fault("serve --listen=tcp://127.0.0.1:1 --listen=tcp://127.0.0.1:2").contains("twice"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (line, words) in [
            ("", "requires a subcommand"),
            ("stor", "unrecognized subcommand 'stor'"),
            ("put a", "--to"),
            ("put --to h:1", "FILE"),
            ("put a --to h", "no address of a peer"),
            ("put a --to h:1 --close-group=0", "0 is not in 1..=20"),
            ("put a --to h:1 --memory=x", "write a number of bytes"),
            ("get m n --from h:1 --out=o", "several lists"),
            ("serve --listen=127.0.0.1:1", "tcp://IP:PORT"),
            ("serve --log-level=loud", "possible values"),
            ("serve --metrics-address=9", "--metrics-address"),
        ] {
            let fault = fault(line);
            assert!(fault.contains(words), "{line}: {fault}");
        }
    }

    #[test]
    fn help_is_help_wherever_it_is_asked_for() {
        for (line, words) in [("--help", "Five nodes"), ("put --help", "--to"), ("serve -h", "--allow-list")] {
            let Ok(super::super::Command::Help(text)) = parsed(line) else { panic!("{line} is help") };
            assert!(text.contains(words), "{text}");
            let longest = text.lines().map(str::len).max();
            assert!(longest <= Some(COLUMNS_MAX), "{text}");
        }
        assert!(help(None).contains("serve") && help(Some("get")).contains("--from"));
    }
}
