//! `levada run`: starts the node, says where it can be reached, and stops it in order on Ctrl-C or SIGTERM.

use std::io::Write;

use levada_engine::Drained;
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::{VERSION, logging};
use crate::config::{Config, Loaded};
use crate::node::{Listening, Node, Stopped};

/// The drain limit passed, or the node broke down.
const EXIT_FAILED: u8 = 1;

/// Ended by a second signal, as a shell reports it for Ctrl-C.
const EXIT_INTERRUPTED: u8 = 130;

/// Threads of the async runtime: network and servers; the message path has its own workers.
const RUNTIME_THREADS: usize = 2;

/// Runs a node until it is told to stop; returns the exit code.
pub fn run(loaded: &Loaded) -> u8 {
    let config = &loaded.config;
    // Warnings must be seen whatever the log level: they tell of protection that is not there.
    loaded.warnings.iter().for_each(|warning| complain(&format!("warning: {warning}")));
    if let Err(error) = logging::init(config.log_level, config.log_format) {
        complain(&error.to_string());
        return EXIT_FAILED;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(RUNTIME_THREADS).enable_all().build();
    match runtime {
        Ok(runtime) => {
            let code = runtime.block_on(start_and_wait(config));
            runtime.shutdown_background();
            code
        }
        Err(error) => {
            complain(&format!("the system refuses the threads of the node: {error}"));
            EXIT_FAILED
        }
    }
}

async fn start_and_wait(config: &Config) -> u8 {
    // Signals are caught before the start, so that one that comes early is not lost.
    let (mut interrupt, mut terminate) = match (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) {
        (Ok(interrupt), Ok(terminate)) => (interrupt, terminate),
        (Err(error), _) | (_, Err(error)) => {
            complain(&format!("cannot listen for signals: {error}"));
            return EXIT_FAILED;
        }
    };
    let mut node = match Node::start(config).await {
        Ok(node) => node,
        Err(error) => {
            complain(&error.to_string());
            return error.exit_code();
        }
    };
    announce(config, node.listening());
    let left_out = tokio::spawn(logging::tell_what_is_left_out());
    let broken = tokio::select! {
        _ = interrupt.recv() => false,
        _ = terminate.recv() => false,
        () = node.failed() => true,
    };
    left_out.abort();
    if broken {
        tracing::error!("the network or a worker has stopped by itself; the node goes down");
    } else {
        tracing::info!("stopping: what was accepted is being stored; a second signal quits at once");
    }
    tokio::select! {
        stopped = node.stop() => {
            let Stopped { drained, stored, not_stored } = stopped;
            match drained {
                Drained::Complete => tracing::info!(stored, not_stored, "stopped; nothing is left in flight"),
                Drained::TimedOut => tracing::error!(stored, not_stored, "stopped; --drain-timeout passed with messages in flight"),
                Drained::Failed => tracing::error!(stored, not_stored, "stopped; a worker had broken down with messages in flight"),
            }
            if drained == Drained::Complete && !broken { 0 } else { EXIT_FAILED }
        }
        _ = interrupt.recv() => EXIT_INTERRUPTED,
        _ = terminate.recv() => EXIT_INTERRUPTED,
    }
}

/// The start-up lines, on standard output; the last begins with `ready`.
fn announce(config: &Config, listening: &Listening) {
    let mut lines = vec![VERSION.to_owned()];
    lines.extend(listening.peers.iter().map(|address| format!("listening on {address}")));
    if config.node_key.is_none() {
        lines.push("peer id is new at each start; give --nodekey to keep one".to_owned());
    }
    if let Some(address) = listening.discv5 {
        lines.push(format!("discv5 on UDP {address}"));
    }
    lines.push(format!("record {}", listening.record));
    if let Some(address) = listening.rest {
        lines.push(format!("REST at http://{address}"));
    }
    if let Some(address) = listening.metrics {
        lines.push(format!("metrics at http://{address}/metrics"));
    }
    if let Some(archive) = &listening.archive {
        lines.push(format!("archive {archive}"));
    }
    lines.extend(protocols(config, listening));
    lines.push(format!("ready ({} on the message path; Ctrl-C stops)", counted(listening.lanes, "worker")));
    let mut stdout = std::io::stdout().lock();
    // A reader that went away is no reason to stop a node.
    let _ = lines.iter().try_for_each(|line| writeln!(stdout, "{line}"));
    let _ = stdout.flush();
}

/// One line per protocol mounted.
fn protocols(config: &Config, listening: &Listening) -> Vec<String> {
    let mut lines = vec!["protocol identify /ipfs/id/1.0.0".to_owned(), "protocol ping /ipfs/ping/1.0.0".to_owned()];
    lines.push(format!("protocol metadata {}, cluster {}", levada_net::METADATA_PROTOCOL, config.cluster_id));
    if config.relay {
        let topics = match listening.topics.as_slice() {
            [] => "no topic yet".to_owned(),
            [only] => only.clone(),
            [first, .., last] => format!("{} topics from {first} to {last}", listening.topics.len()),
        };
        lines.push(format!("protocol relay {}, {topics}", levada_net::RELAY_PROTOCOL));
    }
    let served = listening.served.iter().map(|protocol| format!("protocol {protocol}"));
    lines.extend(served);
    lines
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "levada: {text}");
}
