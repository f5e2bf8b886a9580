//! `levada keys`, `peers`, `query`, `publish` and `subscribe`: clients that speak the protocols of light nodes to any node.
//!
//! Answers go to standard output, everything else to standard error. Nothing is listened on.

mod connection;
mod inbox;
mod keys;
mod peers;
mod publish;
mod query;
mod shown;
mod subscribe;

use std::io::{self, Write};

use levada_net::ConnectError;
use levada_net::filter::FilterError;
use levada_net::lightpush::LightpushClientError;
use levada_net::peer_exchange::PeerExchangeClientError;
use levada_net::store::StoreClientError;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::cli::{ClientCommand, logging};
use crate::config::{LogFormat, LogLevel};

/// Everything was done.
const EXIT_DONE: u8 = 0;
/// The node refused, or answered nothing that can be read.
const EXIT_FAILED: u8 = 1;
/// The node is not to be reached (`EX_UNAVAILABLE` of sysexits).
const EXIT_UNAVAILABLE: u8 = 69;
/// Stopped by a signal, as a shell reports it for Ctrl-C.
const EXIT_INTERRUPTED: u8 = 130;

/// Why a command was not carried out.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("{address} cannot be reached: {source}")]
    Unreachable { address: String, source: ConnectError },
    #[error("{0} is in another cluster than this client; name its cluster by --cluster-id")]
    OtherCluster(String),
    #[error("{0} has closed the connection")]
    Closed(String),
    #[error("{0} does not say what it is within the time of --timeout")]
    Silent(String),
    #[error(transparent)]
    Store(#[from] StoreClientError),
    #[error(transparent)]
    Lightpush(#[from] LightpushClientError),
    #[error(transparent)]
    Filter(#[from] FilterError),
    #[error(transparent)]
    PeerExchange(#[from] PeerExchangeClientError),
    #[error("the message cannot be encoded: {0}")]
    Message(String),
    #[error("{what}: {source}")]
    File { what: String, source: io::Error },
    #[error("the file {path} holds no key: {reason}")]
    Key { path: String, reason: String },
    #[error("the client cannot start: {0}")]
    Start(String),
}

impl Fault {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Unreachable { .. } | Self::OtherCluster(_) | Self::Closed(_) | Self::Silent(_) => EXIT_UNAVAILABLE,
            _ => EXIT_FAILED,
        }
    }
}

/// Runs a command; returns the exit code.
pub fn run(command: &ClientCommand) -> u8 {
    let outcome = match command {
        ClientCommand::Keys(command) => keys::run(command),
        command => on_the_network(command),
    };
    outcome.unwrap_or_else(|fault| {
        complain(&fault.to_string());
        fault.exit_code()
    })
}

fn on_the_network(command: &ClientCommand) -> Result<u8, Fault> {
    logging::init(LogLevel::Error, LogFormat::Text).map_err(|error| Fault::Start(error.to_string()))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|error| Fault::Start(error.to_string()))?;
    let outcome = runtime.block_on(async {
        let mut signals = Signals::listen().map_err(|error| Fault::Start(error.to_string()))?;
        if let ClientCommand::Subscribe(command) = command {
            return subscribe::run(command, signals).await;
        }
        tokio::select! {
            done = once(command) => done,
            () = signals.next() => Ok(EXIT_INTERRUPTED),
        }
    });
    runtime.shutdown_background();
    outcome
}

async fn once(command: &ClientCommand) -> Result<u8, Fault> {
    match command {
        ClientCommand::Peers(command) => peers::run(command).await,
        ClientCommand::Query(command) => query::run(command).await,
        ClientCommand::Publish(command) => publish::run(command).await,
        ClientCommand::Keys(_) | ClientCommand::Subscribe(_) => Ok(EXIT_DONE),
    }
}

/// Ctrl-C and SIGTERM.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Prints a line to standard output.
///
/// # Errors
/// The reader went away: nothing more needs to be printed.
fn say(line: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{line}")?;
    stdout.flush()
}

fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "levada: {text}");
}
