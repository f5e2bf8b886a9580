//! The real binary as a child process: started, waited for, signalled.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Every listener on loopback and on a port that the system chooses, and little memory.
const EPHEMERAL: [&str; 7] = [
    "--listen-address=127.0.0.1",
    "--tcp-port=0",
    "--websocket-port=0",
    "--rest-port=0",
    "--metrics-server-port=0",
    "--discv5-udp-port=0",
    "--arena-bytes=64MiB",
];

/// A process that has not ended by then never will.
const RUN_TIME_MAX: Duration = Duration::from_secs(50);

/// How a call without a lasting process ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    /// The lines of standard error.
    pub fn complaints(&self) -> Vec<&str> {
        self.stderr.lines().collect()
    }
}

/// The binary in `folder`, with nothing of this process's `LEVADA_` and `WAKUNODE2_` variables.
pub fn levada(folder: &Path) -> Command {
    clean(Command::new(env!("CARGO_BIN_EXE_levada")), folder)
}

/// A shell in `folder` that runs `script`, where `"$@"` is the binary and the flags of [`ephemeral`].
pub fn shell(folder: &Path, script: &str) -> Command {
    let mut command = clean(Command::new("sh"), folder);
    command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_levada")]).args(EPHEMERAL);
    command
}

/// The binary with `flags`, and those of [`EPHEMERAL`] that are not among them: any number of nodes run beside each other.
pub fn ephemeral(folder: &Path, flags: &[&str]) -> Command {
    let name = |flag: &str| flag.split('=').next().map(str::to_owned);
    let is_given = |flag: &str| flags.iter().any(|given| name(given) == name(flag));
    let mut command = levada(folder);
    command.args(EPHEMERAL.iter().filter(|flag| !is_given(flag))).args(flags);
    command
}

fn clean(mut command: Command, folder: &Path) -> Command {
    command.current_dir(folder).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("LEVADA_") || name.to_string_lossy().starts_with("WAKUNODE2_") {
            command.env_remove(name);
        }
    }
    command
}

/// Runs `command` to its end. One that does not end, as a node that should not have started, is killed and so has no code.
pub fn run(command: &mut Command) -> Ended {
    let mut child = spawn(command);
    let (stdout, stderr) = (collect(child.stdout.take()), collect(child.stderr.take()));
    let status = wait(&mut child);
    let text = |thread: JoinHandle<String>| thread.join().expect("the reader does not panic");
    Ended { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
}

fn spawn(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary that cargo built can be started")
}

fn collect(stream: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    let mut stream = stream.expect("the stream is piped and taken once");
    thread::spawn(move || {
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("the node writes UTF-8");
        text
    })
}

/// The lines of `stream`, until it ends.
fn follow(stream: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let stream = BufReader::new(stream.expect("the stream is piped and taken once"));
    let (sender, lines) = mpsc::channel();
    // Reads on when nobody listens: a full pipe would hold up the node.
    thread::spawn(move || stream.lines().map_while(Result::ok).for_each(|line| drop(sender.send(line))));
    lines
}

/// Waits for the end, and ends what has no end.
fn wait(child: &mut Child) -> ExitStatus {
    let (ended, watched) = mpsc::channel::<()>();
    let pid = child.id();
    thread::scope(|scope| {
        scope.spawn(move || {
            if watched.recv_timeout(RUN_TIME_MAX) == Err(mpsc::RecvTimeoutError::Timeout) {
                signal(pid, "KILL");
            }
        });
        let status = child.wait().expect("a child can be waited for");
        drop(ended);
        status
    })
}

fn signal(pid: u32, name: &str) {
    let sent = Command::new("sh").args(["-c", &format!("kill -s {name} {pid}")]).status();
    assert!(sent.expect("there is a shell").success(), "SIG{name} to the node");
}

/// A node that is ready. Dropping it kills it.
pub struct Node {
    child: Child,
    /// The start-up lines.
    pub lines: Vec<String>,
    /// The lines of standard error as they come.
    log: Receiver<String>,
    /// Those that were read.
    read: Vec<String>,
}

impl Node {
    /// Starts a node with `flags` beside those of [`ephemeral`], and waits until it is ready.
    pub fn start(folder: &Path, flags: &[&str]) -> Self {
        Self::start_command(&mut ephemeral(folder, flags))
    }

    /// Starts `command` and waits until it says that it is ready.
    pub fn start_command(command: &mut Command) -> Self {
        let mut child = spawn(command);
        let log = follow(child.stderr.take());
        let mut stdout = BufReader::new(child.stdout.take().expect("the stream is piped"));
        let mut lines = Vec::new();
        while !lines.last().is_some_and(|line: &String| line.starts_with("ready")) {
            let mut line = String::new();
            if stdout.read_line(&mut line).expect("the node writes UTF-8") == 0 {
                let status = wait(&mut child);
                panic!("the node did not start: {status}\n{}", log.iter().collect::<Vec<_>>().join("\n"));
            }
            lines.push(line.trim_end().to_owned());
        }
        Self { child, lines, log, read: Vec::new() }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The rest of each start-up line that begins with `start`.
    pub fn after(&self, start: &str) -> Vec<&str> {
        self.lines.iter().filter_map(|line| line.strip_prefix(start)).collect()
    }

    pub fn rest(&self) -> SocketAddr {
        self.address("REST at http://")
    }

    pub fn metrics(&self) -> SocketAddr {
        self.address("metrics at http://")
    }

    fn address(&self, start: &str) -> SocketAddr {
        let rest = self.after(start);
        let address = rest.first().and_then(|rest| rest.split('/').next()?.parse().ok());
        address.unwrap_or_else(|| panic!("no line {start} in {:?}", self.lines))
    }

    /// The peer id, which every multiaddress ends in.
    pub fn peer_id(&self) -> &str {
        let address = self.after("listening on ")[0];
        address.rsplit_once("/p2p/").expect("a multiaddress ends in the peer id").1
    }

    /// Sends the signal of this name, without `SIG`.
    pub fn signal(&self, name: &str) {
        signal(self.pid(), name);
    }

    /// Waits until the node logs a line that contains `text`.
    pub fn await_log(&mut self, text: &str) {
        while !self.read.last().is_some_and(|line| line.contains(text)) {
            let line = self.log.recv_timeout(RUN_TIME_MAX);
            self.read.push(line.unwrap_or_else(|_| panic!("no {text:?} in\n{}", self.read.join("\n"))));
        }
    }

    /// Ends it as a power failure would, as far as the process is concerned.
    pub fn kill(mut self) {
        self.child.kill().expect("the node has not been waited for");
        self.child.wait().expect("a child can be waited for");
    }

    /// Waits for its end, which somebody else has brought about.
    pub fn ended(mut self) -> Ended {
        let status = wait(&mut self.child);
        self.read.extend(self.log.iter());
        Ended { code: status.code(), stdout: self.lines.join("\n"), stderr: self.read.join("\n") }
    }

    /// Asks it to stop as a service supervisor does, and waits for its end.
    pub fn stop(self) -> Ended {
        self.signal("TERM");
        self.ended()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // Both fail when the node has ended already, which is what they are for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
