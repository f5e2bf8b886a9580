//! `levada chunk`: a node of chunks, and files to and from such nodes.

mod bar;
mod metrics;
mod serve;
mod transfer;

use std::io::Write;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::cli::{ChunkCommand, logging};
use crate::config::LogFormat;

/// Everything was done.
const EXIT_DONE: u8 = 0;

/// Something was not.
const EXIT_FAILED: u8 = 1;

/// Stopped by a signal, as a shell reports it for Ctrl-C.
const EXIT_INTERRUPTED: u8 = 130;

/// Threads of the async runtime; hashing and the disk have their own.
const RUNTIME_THREADS: usize = 2;

/// Runs the command until it is done or stopped; returns the exit code.
pub fn run(command: &ChunkCommand) -> u8 {
    let level = match command {
        ChunkCommand::Serve(serve) => serve.log_level,
        ChunkCommand::Put(put) => put.transfer.log_level,
        ChunkCommand::Get(get) => get.transfer.log_level,
    };
    if let Err(error) = logging::init(level, LogFormat::Text) {
        return fail(&error.to_string());
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(RUNTIME_THREADS).enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("the system refuses the threads of the program: {error}")),
    };
    let code = runtime.block_on(async {
        let (stop, stopping) = watch::channel(false);
        let mut signals = match Signals::listen() {
            Ok(signals) => signals,
            Err(error) => return fail(&format!("cannot listen for signals: {error}")),
        };
        let work = async {
            match command {
                ChunkCommand::Serve(serve) => serve::run(serve, stopping).await,
                ChunkCommand::Put(put) => transfer::put(put, stopping).await,
                ChunkCommand::Get(get) => transfer::get(get, stopping).await,
            }
        };
        tokio::select! {
            code = work => code,
            () = signals.twice(&stop) => EXIT_INTERRUPTED,
        }
    });
    // Threads in the middle of a read or a write are not waited for.
    runtime.shutdown_background();
    code
}

/// Ctrl-C and SIGTERM.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    /// Says `stop` at the first signal, and returns at the second.
    async fn twice(&mut self, stop: &watch::Sender<bool>) {
        self.next().await;
        complain("stopping: what is under way is waited for; a second signal quits at once");
        let _ = stop.send(true);
        self.next().await;
    }
}

fn say(line: &str) {
    let mut stdout = std::io::stdout().lock();
    // A reader that went away is no reason to stop.
    let _ = writeln!(stdout, "{line}");
    let _ = stdout.flush();
}

fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "levada: {text}");
}

fn fail(text: &str) -> u8 {
    complain(text);
    EXIT_FAILED
}
