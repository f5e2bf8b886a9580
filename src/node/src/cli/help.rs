//! Help texts, rendered by `clap` from the tables of keys. No line is longer than [`COLUMNS_MAX`].

use clap::{Arg, ArgAction, Command};

use super::bench::BENCH;
use super::bench_chunk::BENCH_CHUNK;
use super::bench_hash::BENCH_HASH;
use super::bench_macro::BENCH_MACRO;
use super::{archive, chunk, client, generate};
use crate::config::{Group, Key, Kind, NODE, Table, wrap};

/// `levada --help`.
pub(super) fn overview() -> String {
    rendered(overview_command())
}

fn overview_command() -> Command {
    Command::new("levada")
        .about("Levada, a Waku service node: it relays, archives and answers.")
        .override_usage(
            "levada [FLAGS]                 run the node (the same as levada run)\n       \
             levada run [FLAGS]             run the node\n       \
             levada bench micro [OPTIONS]   measure the message path in process\n       \
             levada bench macro [OPTIONS]   measure messages from node to node\n       \
             levada bench hash [OPTIONS]    measure the hash stage by how many messages wait\n       \
             levada bench chunk [OPTIONS]   measure sending chunks to several peers\n       \
             levada check [FLAGS]           check a configuration and print it with its sources\n       \
             levada keys                    make a node key, or tell its peer id\n       \
             levada peers --to NODE         tell what a node is and whom it knows\n       \
             levada query --to NODE         ask a store node for messages\n       \
             levada publish --to NODE       have a node publish a message\n       \
             levada subscribe --to NODE     print the messages that a node pushes\n       \
             levada archive COMMAND         verify, count, compact, export or fill an archive\n       \
             levada chunk serve [OPTIONS]   be a node that stores chunks of files\n       \
             levada chunk put FILE… --to PEER…\n       \
             levada chunk get MAP… --from PEER…\n                                      \
             put files to such nodes, and get them back\n       \
             levada generate WHAT           print completions, manual pages or a dashboard\n       \
             levada help [COMMAND]          explain a command\n       \
             levada version                 print the version",
        )
        .disable_help_flag(true)
        .after_help(
            "Without flags the node starts with defaults that need no set-up:\n  \
             levada\n  \
             levada --cluster-id=16 --shard=32 --nat=extip:192.0.2.7\n  \
             levada --config-file=node.toml\n\n\
             levada run --help lists every flag. Each can also be an environment variable, LEVADA_TCP_PORT\n\
             for --tcp-port, or a key of the configuration file.\n\
             levada run --print-default-config prints a documented configuration file to start from.",
        )
}

/// `levada run --help`.
pub(super) fn run() -> String {
    rendered(run_command())
}

fn run_command() -> Command {
    Command::new("levada run")
        .about("Runs the node until Ctrl-C or SIGTERM, then drains it; a second signal stops it at once.")
        .override_usage("levada run [FLAGS]")
        .args(arguments(&NODE))
        .arg(
            action(
                "print-config",
                "Prints the resolved configuration as TOML, with the source of each value, and exits.",
            )
            .help_heading(Group::Configuration.heading()),
        )
        .arg(
            action("print-default-config", "Prints a configuration file with every key explained, and exits.")
                .help_heading(Group::Configuration.heading()),
        )
        .disable_help_flag(true)
        .after_help(run_notes())
}

/// `levada check --help`.
pub(super) fn check() -> String {
    rendered(check_command())
}

fn check_command() -> Command {
    Command::new("levada check")
        .about(
            "Checks a configuration without starting anything, and prints every value with its source.\n\n\
             It takes the flags of levada run; faults go to standard error, all at once.",
        )
        .override_usage("levada check [FLAGS]")
        .disable_help_flag(true)
}

/// `levada bench --help`.
pub(super) fn bench() -> String {
    rendered(bench_command())
}

fn bench_command() -> Command {
    Command::new("levada bench")
        .about("Measures the node and parts of it, beside what they cannot avoid in the same run.")
        .override_usage(
            "levada bench micro [OPTIONS]   the message path\n       \
             levada bench macro [OPTIONS]   from node to node, over loopback TCP\n       \
             levada bench hash [OPTIONS]    the hash stage by how many messages wait\n       \
             levada bench chunk [OPTIONS]   chunks to several peers, beside Autonomi's client",
        )
        .disable_help_flag(true)
        .after_help("levada bench micro --help lists the options of micro; so it is with the others.")
}

/// `levada bench chunk --help`.
pub(super) fn bench_chunk() -> String {
    rendered(bench_chunk_command())
}

fn bench_chunk_command() -> Command {
    Command::new("levada bench chunk")
        .about("Measures memory and processor time of many chunks under way to several peers.")
        .override_usage("levada bench chunk [OPTIONS]")
        .args(arguments(&BENCH_CHUNK))
        .disable_help_flag(true)
        .after_help(
            "Example, whether memory grows with the recipients:\n  \
             levada bench chunk --form=vectored --recipients=1 --recipients=5 --recipients=20\n\n\
             Columns: peak_heap_MB is the allocator's peak plus the peak of slots lent out, arena_MB all slots,\n\
             rss_MB the most that was resident, allocated_MB all that was asked of the allocator, cpu_s the time of\n\
             all threads. MB are 10^6 bytes.",
        )
}

/// `levada bench hash --help`.
pub(super) fn bench_hash() -> String {
    rendered(bench_hash_command())
}

fn bench_hash_command() -> Command {
    Command::new("levada bench hash")
        .about("Measures the hash stage when 1, 2, 8, 16, 32, 64 or endlessly many messages wait.")
        .override_usage("levada bench hash [OPTIONS]")
        .args(arguments(&BENCH_HASH))
        .disable_help_flag(true)
        .after_help(
            "Columns: backlog (a number or endless), kernel (which one such a batch is begun with), msg_per_s,\n\
             sha2_msg_per_s (the same stage with the sha2 crate, one message after another), ratio (of the two).\n\
             Thread CPU time of the stage's calls on one core; the two sides take turns, and ratio is the\n\
             median of neighbours. LEVADA_HASH_KERNEL forces avx512x16, avx512vlx8, avx2x8, shani2 or sha2.",
        )
}

/// `levada bench macro --help`.
pub(super) fn bench_macro() -> String {
    rendered(bench_macro_command())
}

fn bench_macro_command() -> Command {
    Command::new("levada bench macro")
        .about("Measures messages from one node, over loopback TCP, into the archive of another.")
        .override_usage("levada bench macro [OPTIONS]")
        .args(arguments(&BENCH_MACRO))
        .disable_help_flag(true)
        .after_help(
            "Example, our transport beside rust-libp2p's:\n  \
             levada bench macro --transport=stock --transport=levada\n\n\
             A node is a thread on a core of its own, as far as there are cores; the workload is that of bench\n\
             micro, and a message has arrived when it is validated, decoded, dispatched and archived in memory.\n\n\
             Columns: rx_ of a receiver, tx_ of the publisher, relay_ of a relay in between; id_hashes are\n\
             message ids; ns_per_msg from the publication to the handler; interarrival_ns between two there;\n\
             bound_msg_per_s of a bare TCP sender with a length prefix, ChaCha20-Poly1305 in place and one\n\
             SHA-256, after each run on the same cores; rss_peak_MB of all nodes together.",
        )
}

/// `levada bench micro --help`.
pub(super) fn bench_micro() -> String {
    rendered(bench_micro_command())
}

fn bench_micro_command() -> Command {
    Command::new("levada bench micro")
        .about("Measures the message path in process, on the reference workload, beside a bare SHA-256 loop.")
        .override_usage("levada bench micro [OPTIONS]")
        .args(arguments(&BENCH))
        .disable_help_flag(true)
        .after_help(
            "Example:\n  levada bench micro --archive=none --runs=3 --format=json > result.json\n\n\
             One seed gives identical counters and bytes in every run; only times differ.\n\n\
             The open loop, with both ways to hash in one run:\n  \
             levada bench micro --archive=none --hash=sha2 --hash=multi --rate=8000\n\n\
             Columns of the open loop: rate_msg_per_s is what was asked for, achieved_msg_per_s what the path\n\
             kept up with; ns_per_msg_p50, _p99 and _max count from when a message was due. Workers watch the\n\
             clock instead of sleeping, so the time that a thread takes to wake up is not in them.",
        )
}

/// The whole command line as one tree, for what is generated from it: completions and manual pages.
pub(super) fn tree() -> Command {
    let named = |command: Command, name: &'static str| command.name(name);
    let benches = [
        (bench_micro_command(), "micro"),
        (bench_macro_command(), "macro"),
        (bench_hash_command(), "hash"),
        (bench_chunk_command(), "chunk"),
    ];
    let bench = benches
        .into_iter()
        .fold(named(bench_command(), "bench"), |bench, (command, name)| bench.subcommand(named(command, name)));
    Command::new("levada")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Levada, a Waku service node: it relays, archives and answers.")
        .args(arguments(&NODE))
        .subcommand(named(run_command(), "run"))
        .subcommand(named(check_command(), "check"))
        .subcommands(client::commands())
        .subcommand(named(archive::command(), "archive"))
        .subcommand(named(chunk::command(), "chunk"))
        .subcommand(bench)
        .subcommand(named(generate::command(), "generate"))
}

fn rendered(mut command: Command) -> String {
    command.render_help().to_string()
}

/// One argument per key that has an effect, under its heading, in the order of the headings.
fn arguments(table: &Table) -> Vec<Arg> {
    let in_group = |group: &'static Group| table.keys().filter(move |key| key.is_effective() && key.group == *group);
    Group::ALL.iter().flat_map(in_group).map(argument).collect()
}

fn argument(key: &'static Key) -> Arg {
    let arg = Arg::new(key.name)
        .long(key.name)
        .value_name(key.kind.placeholder())
        .help(explained(key))
        .help_heading(key.group.heading());
    match key.kind {
        Kind::Bool => arg.num_args(0..=1).require_equals(true),
        _ => arg,
    }
}

fn action(name: &'static str, help: &str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(column(help))
}

/// The key's help, then its default, which is not broken over two lines.
fn explained(key: &Key) -> String {
    let mut lines = wrap(key.help, HELP_COLUMNS);
    if let Some(text) = key.default {
        let default = format!("[default: {text}]");
        match lines.last_mut().filter(|last| last.len() + 1 + default.len() <= HELP_COLUMNS) {
            Some(last) => *last = format!("{last} {default}"),
            None => lines.push(default),
        }
    }
    lines.join("\n")
}

/// `clap` breaks no lines itself as it is built here.
pub(super) fn column(help: &str) -> String {
    wrap(help, HELP_COLUMNS).join("\n")
}

fn run_notes() -> String {
    let accepted: Vec<String> =
        NODE.keys().filter(|key| !key.is_effective()).map(|key| format!("--{}", key.name)).collect();
    let accepted: Vec<String> =
        wrap(&accepted.join(", "), COLUMNS_MAX - 2).iter().map(|line| format!("  {line}")).collect();
    format!(
        "Values are written --name=value or --name value; a bool may stand alone (--relay) or have a value\n\
         (--relay=false). A flag overrides the environment (LEVADA_TCP_PORT, else WAKUNODE2_TCP_PORT), which\n\
         overrides the configuration file (tcp-port = 60000), which overrides the default. Lists are\n\
         repeated flags, comma separated in the environment, and [\"a\", \"b\"] in the file.\n\n\
         Accepted for nwaku's sake, with a warning, but without effect in this version:\n{}",
        accepted.join("\n")
    )
}

/// No line of help is longer.
pub(super) const COLUMNS_MAX: usize = 100;

/// What `clap` leaves for the sentences beside the longest flag of a table.
const HELP_COLUMNS: usize = 58;
