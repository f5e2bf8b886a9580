//! One run: starts the nodes, has the messages published, and collects what was counted.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};
use std::thread::JoinHandle;

use super::orders::{Answer, Measured, Order, Role, Setup, Workload, line_of, said};
use super::{Configuration, MacroError, NODE_COMMAND, Options, Router, machine, node};

/// Cores of the nodes, counted round: the publisher's, and those from which the others begin.
const PUBLISHER_CORE: usize = 0;
const OTHER_CORES: usize = 1;

/// What the nodes of one run have counted.
#[derive(Debug, Clone)]
pub struct Nodes {
    /// From the first publication until every receiver had handled the last message, in nanoseconds.
    pub wall_ns: u64,
    /// The publisher's.
    pub publisher: Measured,
    /// The relay's, with two hops.
    pub relay: Option<Measured>,
    /// Each receiver's.
    pub receivers: Vec<Measured>,
    /// Most resident memory of all nodes together, in bytes.
    pub rss_bytes_max: u64,
}

/// Runs one configuration once.
pub fn run(options: &Options, configuration: Configuration) -> Result<Nodes, MacroError> {
    if options.processes == 1 {
        machine::forget_peak();
    }
    let Options { seed, messages, warmup, .. } = *options;
    let work = Workload { seed, messages, warmup };
    let mut nodes = Started::all(options, configuration, work)?;
    nodes.mesh(options)?;
    nodes.publisher.publish(true)?;
    nodes.each(Order::Begin)?;
    let wall_ns = nodes.publisher.publish(false)?;
    let publisher = nodes.publisher.measured()?;
    let relay = nodes.relay.as_mut().map(Remote::measured).transpose()?;
    let receivers = nodes.receivers.iter_mut().map(Remote::measured).collect::<Result<Vec<_>, _>>()?;
    nodes.end();
    check(&receivers, &work)?;
    let all = || receivers.iter().chain(&relay).chain([&publisher]).map(|node| node.rss_bytes_max);
    // Threads share a process, and its memory.
    let rss_bytes_max = if options.processes == 1 { all().max().unwrap_or_default() } else { all().sum() };
    Ok(Nodes { wall_ns, publisher, relay, receivers, rss_bytes_max })
}

/// Every message arrived once and whole at every receiver.
fn check(receivers: &[Measured], work: &Workload) -> Result<(), MacroError> {
    let (expected, messages) = (work.sum(), work.messages);
    for (receiver, measured) in receivers.iter().enumerate() {
        let (handled, work) = (measured.handled.messages, measured.handled.work);
        if handled != messages as u64 || work != expected {
            return Err(MacroError::Work { receiver, handled, messages, work, expected });
        }
    }
    Ok(())
}

/// The nodes of a run.
struct Started {
    publisher: Remote,
    relay: Option<Remote>,
    receivers: Vec<Remote>,
}

impl Started {
    /// Receivers first, because the others connect to them.
    fn all(options: &Options, configuration: Configuration, work: Workload) -> Result<Self, MacroError> {
        let (heard, said) = std::io::pipe()?;
        let setup = |role, core, dial| Setup {
            role,
            core,
            router: configuration.router.name.to_owned(),
            transport: configuration.transport.to_string(),
            dial,
            work,
            window: options.window,
            receivers: options.peers,
            net_workers: options.net_workers,
        };
        let first = OTHER_CORES + options.hops - 1;
        let mut receivers = Vec::with_capacity(options.peers);
        for number in 0..options.peers {
            let setup = setup(Role::Receiver(number as u32), first + number, Vec::new());
            receivers.push(Remote::start(options, configuration.router, &setup, said.try_clone()?.into())?);
        }
        drop(said);
        let mut dial: Vec<String> = receivers.iter().map(|node| node.address.clone()).collect();
        let mut relay = None;
        if options.hops == 2 {
            let setup = setup(Role::Relay, OTHER_CORES, dial);
            let node = Remote::start(options, configuration.router, &setup, heard.try_clone()?.into())?;
            dial = vec![node.address.clone()];
            relay = Some(node);
        }
        let publisher =
            Remote::start(options, configuration.router, &setup(Role::Publisher, PUBLISHER_CORE, dial), heard.into())?;
        Ok(Self { publisher, relay, receivers })
    }

    fn mesh(&mut self, options: &Options) -> Result<(), MacroError> {
        self.receivers.iter_mut().try_for_each(|node| node.obey(Order::Mesh { peers: 1 }))?;
        if let Some(relay) = &mut self.relay {
            relay.obey(Order::Mesh { peers: options.peers + 1 })?;
        }
        let peers = if self.relay.is_some() { 1 } else { options.peers };
        self.publisher.obey(Order::Mesh { peers })
    }

    fn each(&mut self, order: Order) -> Result<(), MacroError> {
        let nodes = self.receivers.iter_mut().chain(&mut self.relay).chain([&mut self.publisher]);
        nodes.into_iter().try_for_each(|node| node.obey(order))
    }

    /// The publisher first, so that nobody is left to talk to one who has gone.
    fn end(self) {
        drop((self.publisher, self.relay, self.receivers));
    }
}

/// A node as it is spoken to. Dropped, it ends.
struct Remote {
    /// What is said; none while the node ends.
    said: Option<UnixStream>,
    heard: BufReader<UnixStream>,
    address: String,
    runs: Option<Runs>,
}

enum Runs {
    Thread(JoinHandle<()>),
    Process(Child),
}

impl Remote {
    fn start(options: &Options, router: Router, setup: &Setup, feedback: OwnedFd) -> Result<Self, MacroError> {
        let (ours, theirs) = UnixStream::pair()?;
        let runs = if options.processes == 1 {
            let moved_bytes = options.moved_bytes;
            let work = move || {
                // The other end of the stream learns of every error.
                let _ = node::serve(theirs, feedback, &[router], moved_bytes);
            };
            Runs::Thread(std::thread::Builder::new().name("macro".to_owned()).spawn(work)?)
        } else {
            let mut command = Command::new(std::env::current_exe()?);
            Runs::Process(command.args(NODE_COMMAND).stdin(OwnedFd::from(theirs)).stdout(feedback).spawn()?)
        };
        let heard = BufReader::new(ours.try_clone()?);
        let mut node = Self { said: Some(ours), heard, address: String::new(), runs: Some(runs) };
        node.say(setup)?;
        match node.hear()? {
            Answer::Listening { address } => node.address = address,
            other => return Err(unexpected(&other)),
        }
        Ok(node)
    }

    fn say(&mut self, what: &impl serde::Serialize) -> Result<(), MacroError> {
        let stream = self.said.as_mut().ok_or(MacroError::Ended)?;
        stream.write_all(line_of(what).as_bytes()).map_err(|_| MacroError::Ended)
    }

    fn hear(&mut self) -> Result<Answer, MacroError> {
        let mut line = String::new();
        if self.heard.read_line(&mut line)? == 0 {
            return Err(MacroError::Ended);
        }
        match said(&line)? {
            Answer::Failed { reason } => Err(MacroError::Node(reason)),
            answer => Ok(answer),
        }
    }

    fn obey(&mut self, order: Order) -> Result<(), MacroError> {
        self.say(&order)?;
        match self.hear()? {
            Answer::Done => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    fn publish(&mut self, warm_up: bool) -> Result<u64, MacroError> {
        self.say(&Order::Publish { warm_up })?;
        match self.hear()? {
            Answer::Published { wall_ns } => Ok(wall_ns),
            other => Err(unexpected(&other)),
        }
    }

    fn measured(&mut self) -> Result<Measured, MacroError> {
        self.say(&Order::End)?;
        match self.hear()? {
            Answer::Measured(measured) => Ok(*measured),
            other => Err(unexpected(&other)),
        }
    }
}

fn unexpected(answer: &Answer) -> MacroError {
    MacroError::Node(format!("it answered {answer:?}, which does not fit the order"))
}

impl Drop for Remote {
    fn drop(&mut self) {
        if let Some(stream) = self.said.take() {
            // The node reads the end of the stream, and ends.
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
        match self.runs.take() {
            Some(Runs::Thread(thread)) => _ = thread.join(),
            Some(Runs::Process(mut child)) => _ = child.wait(),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench_macro::orders::{Handled, work_of};

    #[test]
    fn a_message_that_is_missing_doubled_or_cut_makes_the_run_void() {
        let work = Workload { seed: 42, messages: 8, warmup: 0 };
        let receiver = |messages, work| Measured {
            handled: Handled { messages, work, ..Handled::default() },
            ..Measured::default()
        };
        let (whole, sizes) = (work.sum(), work.measured());
        assert!(check(&[receiver(8, whole), receiver(8, whole)], &work).is_ok());
        let first = work_of(0, sizes[0]);
        let (missing, cut) = (whole ^ first, whole ^ first ^ work_of(0, sizes[0] - 1));
        for wrong in [receiver(7, missing), receiver(9, missing), receiver(8, cut), receiver(9, whole)] {
            let error = check(&[receiver(8, whole), wrong], &work).expect_err("the work is not whole").to_string();
            assert!(error.starts_with("receiver 1 handled"), "{error}");
        }
    }
}
