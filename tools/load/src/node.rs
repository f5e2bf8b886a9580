//! A node under load: the real binary as a process of its own.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use levada_net::{Multiaddr, PeerId};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use crate::options::Options;
use crate::run::Error;

/// What every node is started with. All clients come from one address, and ask more often than the defaults let strangers.
const FLAGS: [&str; 9] = [
    "--listen-address=127.0.0.1",
    "--websocket-support=false",
    "--rest=false",
    "--metrics-server=false",
    "--discv5-discovery=false",
    "--ip-colocation-limit=0",
    "--max-connections=1000",
    "--rate-limit=1000000/1s",
    "--log-level=WARN",
];

/// Neither start nor stop takes this long.
const PATIENCE: Duration = Duration::from_secs(60);

/// How a node is started, again and again the same.
pub struct Recipe {
    binary: PathBuf,
    flags: Vec<String>,
}

/// A node that is ready.
pub struct Node {
    child: Child,
    /// Kept so that the node can write what it likes.
    _lines: Lines<BufReader<ChildStdout>>,
    /// Where it listens, with its peer id.
    pub address: Multiaddr,
    pub peer: PeerId,
    pub ready_ms: u64,
}

impl Recipe {
    /// A node with its archive in `folder`, on a port that the system chooses.
    pub fn new(options: &Options, folder: &Path, name: &str, key: &str) -> Self {
        let mut flags: Vec<String> = FLAGS.iter().map(|flag| (*flag).to_owned()).collect();
        flags.push(format!("--nodekey={key}"));
        flags.push(format!("--store-message-db-url=sqlite://{}", folder.join(format!("{name}.sqlite3")).display()));
        Self { binary: options.levada.clone(), flags }
    }

    /// With one more flag.
    pub fn with(mut self, flag: String) -> Self {
        self.flags.push(flag);
        self
    }

    /// Starts the node and waits until it is ready.
    pub async fn start(&self, port: u16) -> Result<Node, Error> {
        let began = Instant::now();
        let mut command = Command::new(&self.binary);
        command.args(&self.flags).arg(format!("--tcp-port={port}"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
        let spawned = command.spawn();
        let mut child =
            spawned.map_err(|error| format!("{}: {error}; build it, or name it by --levada", self.binary.display()))?;
        let mut lines = BufReader::new(child.stdout.take().ok_or("the node has no output")?).lines();
        let mut address = None;
        loop {
            let line =
                timeout(PATIENCE, lines.next_line()).await??.ok_or("a node did not start; see what it wrote above")?;
            if let Some(told) = line.strip_prefix("listening on ") {
                address.get_or_insert(told.parse::<Multiaddr>()?);
            }
            if line.starts_with("ready") {
                break;
            }
        }
        let address = address.ok_or("a node does not listen")?;
        let peer = address.to_string().rsplit('/').next().unwrap_or_default().parse::<PeerId>()?;
        Ok(Node { child, _lines: lines, address, peer, ready_ms: began.elapsed().as_millis() as u64 })
    }
}

impl Node {
    /// Its TCP port.
    pub fn port(&self) -> u16 {
        let address = self.address.to_string();
        let behind = address.split("/tcp/").nth(1).and_then(|rest| rest.split('/').next());
        behind.and_then(|port| port.parse().ok()).unwrap_or_default()
    }

    /// The process, for those who watch it.
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Stops it as a supervisor does, and gives whether it went in order.
    pub async fn stop(mut self) -> Result<bool, Error> {
        let pid = self.child.id().ok_or("a node had ended before it was stopped")?;
        let sent = Command::new("sh").args(["-c", &format!("kill -s TERM {pid}")]).status().await?;
        if !sent.success() {
            return Err("a node had ended before it was stopped".into());
        }
        Ok(timeout(PATIENCE, self.child.wait()).await??.success())
    }
}
