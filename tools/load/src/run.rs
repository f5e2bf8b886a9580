//! The run from beginning to end.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use levada_net::{Multiaddr, PeerId};
use tokio::time::{Instant, sleep};

use crate::filter::Subscriber;
use crate::ledger::{Ledger, lock};
use crate::light::Light;
use crate::node::{Node, Recipe};
use crate::options::Options;
use crate::plot;
use crate::relay::RelayPeer;
use crate::sample::{Pids, Sample, Watched};
use crate::verdict::{Outcome, Restart};

/// What keeps the test from being run at all.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// Who the nodes are; loopback keeps no secrets.
const KEYS: [&str; 2] = [
    "1111111111111111111111111111111111111111111111111111111111111111",
    "2222222222222222222222222222222222222222222222222222222222222222",
];

const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// What was sent last has arrived by then, also on a machine with more to do than it can.
const SETTLED_AFTER_MAX: Duration = Duration::from_secs(60);

/// Everybody is there by then.
const JOINED_AFTER_MAX: Duration = Duration::from_secs(60);

/// A line for whoever watches.
#[expect(clippy::print_stdout, reason = "this is what the program is for")]
pub fn say(line: &str) {
    println!("{line}");
}

/// Puts the nodes under load; gives whether everything held.
pub async fn run(options: &Options) -> Result<bool, Error> {
    let folder = tempfile::tempdir()?;
    let recipe = |name, key| Recipe::new(options, folder.path(), name, key);
    let restarting = recipe("restarted", KEYS[0]);
    let mut first = restarting.start(0).await?;
    let staying = recipe("staying", KEYS[1]).with(format!("--staticnode={}", first.address)).start(0).await?;
    let (addresses, nodes) = ([first.address.clone(), staying.address.clone()], [first.peer, staying.peer]);
    let pids: Arc<Pids> = Arc::new(Mutex::new([first.pid(), staying.pid()]));

    let ledger = Arc::new(Ledger::new(options.content_topics, options.payload_bytes as usize));
    let (relay_peers, subscribers, light) = join(options, &addresses, &nodes, &ledger).await?;
    announce(options);

    let samples = Arc::new(Mutex::new(Vec::new()));
    let watched =
        Watched { ledger: ledger.clone(), subscribers: subscribers.clone(), light: light.clone(), pids: pids.clone() };
    let watching = tokio::spawn(watched.watch({
        let samples = samples.clone();
        move |sample| {
            show(&sample);
            lock(&samples).push(sample);
        }
    }));

    let rate = options.rate as f64 / options.relay_peers as f64;
    let publishing: Vec<_> = relay_peers.iter().map(|peer| peer.publish(&ledger, rate, options.seconds)).collect();
    let pushing = tokio::spawn(light.clone().push(ledger.clone(), options.lightpush_rate, options.seconds));
    let querying = tokio::spawn(light.clone().query(options.query_rate, options.seconds));

    sleep(Duration::from_secs(options.seconds) / 2).await;
    let restart;
    (first, restart) = again(first, &restarting, &pids, &ledger, &subscribers, &light).await?;
    for task in publishing {
        task.await??;
    }
    pushing.await?;
    querying.await?;

    let mut outcome = Outcome {
        options,
        ledger,
        relay_peers,
        subscribers,
        light,
        stored: Default::default(),
        samples: Vec::new(),
        restart,
    };
    let began = Instant::now();
    while !outcome.is_whole() && began.elapsed() < SETTLED_AFTER_MAX {
        sleep(LOOK_AGAIN_AFTER).await;
    }
    watching.abort();
    outcome.stored = [outcome.light.stored(&nodes[0]).await?, outcome.light.stored(&nodes[1]).await?];
    outcome.samples = std::mem::take(&mut lock(&samples));
    plot::draw(&outcome.samples, outcome.restart, &options.plot)?;
    say(&format!("plot: {}", options.plot.display()));
    let mut holds = outcome.judge();
    for node in [first, staying] {
        holds &= node.stop().await?;
    }
    Ok(holds)
}

fn announce(options: &Options) {
    say(&format!(
        "2 nodes, {} relay peers with {} messages of {} B a second together, {} filter subscribers at {} content topics, \
         {} lightpush requests and {} store queries a second, for {} s",
        options.relay_peers,
        options.rate,
        options.payload_bytes,
        options.subscribers,
        options.content_topics,
        options.lightpush_rate,
        options.query_rate,
        options.seconds
    ));
}

/// All clients, connected and subscribed.
async fn join(
    options: &Options,
    addresses: &[Multiaddr],
    nodes: &[PeerId],
    ledger: &Arc<Ledger>,
) -> Result<(Vec<RelayPeer>, Vec<Arc<Subscriber>>, Arc<Light>), Error> {
    let mut relay_peers = Vec::new();
    for _ in 0..options.relay_peers {
        relay_peers.push(RelayPeer::join(addresses).await?);
    }
    let mut subscribers = Vec::new();
    for number in 0..options.subscribers {
        let topic = number as u64 % options.content_topics;
        let subscriber = Arc::new(Subscriber::connect(addresses, nodes, topic, ledger).await?);
        tokio::spawn(subscriber.clone().keep());
        subscribers.push(subscriber);
    }
    let light = Light::connect(addresses, nodes).await?;
    all_subscribed(&subscribers).await?;
    Ok((relay_peers, subscribers, light))
}

async fn all_subscribed(subscribers: &[Arc<Subscriber>]) -> Result<(), Error> {
    let began = Instant::now();
    while !subscribers.iter().all(|subscriber| subscriber.is_whole()) {
        if began.elapsed() > JOINED_AFTER_MAX {
            return Err("not all subscribers could subscribe at both nodes".into());
        }
        sleep(LOOK_AGAIN_AFTER).await;
    }
    Ok(())
}

/// Restarts a node under load, and waits until its subscribers are there again.
async fn again(
    node: Node,
    recipe: &Recipe,
    pids: &Pids,
    ledger: &Ledger,
    subscribers: &[Arc<Subscriber>],
    light: &Light,
) -> Result<(Node, Restart), Error> {
    let (port, stopped_ms) = (node.port(), ledger.now_ms());
    light.counters.restarting.store(true, Relaxed);
    lock(pids)[0] = None;
    let clean = node.stop().await?;
    let node = recipe.start(port).await?;
    lock(pids)[0] = node.pid();
    // First they notice that it was away.
    sleep(Duration::from_secs(1)).await;
    all_subscribed(subscribers).await?;
    light.counters.restarting.store(false, Relaxed);
    let ready_ms = node.ready_ms;
    Ok((node, Restart { stopped_ms, back_ms: ledger.now_ms(), ready_ms, clean }))
}

fn show(sample: &Sample) {
    let rss = sample.rss_mb.map(|mb| mb.map_or("-".to_owned(), |mb| format!("{mb:.0}")));
    say(&format!(
        "{:>5.0} s  sent {:>5}/s  pushed {:>6}/s  latency p50 {:>7.2} ms, p99 {:>7.2} ms  query {:>6.2} ms  memory {} and {} MB",
        sample.second,
        sample.sent,
        sample.pushed,
        sample.latency_ms_p50,
        sample.latency_ms_p99,
        sample.query_ms,
        rss[0],
        rss[1]
    ));
}
