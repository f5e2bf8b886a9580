//! `levada chunk serve`: a node of chunks.

use std::net::SocketAddr;

use levada_chunk::node::{ChunkNode, NodeOptions};
use levada_chunk::stages::{AcceptAll, AllowList, PaymentVerifier};
use levada_chunk::transport::{Limits, Scheme};
use levada_engine::Drained;
use tokio::sync::watch;

use super::metrics::metrics as metrics_of;
use super::{EXIT_DONE, EXIT_FAILED, fail, say};
use crate::cli::{ChunkServe, VERSION};
use crate::config::format_bytes;
use crate::metrics;
use crate::rest::ServeError;

/// Serves until `stopping` turns true; gives the exit code.
pub(super) async fn run(options: &ChunkServe, mut stopping: watch::Receiver<bool>) -> u8 {
    let verifier = match verifier(options) {
        Ok(verifier) => verifier,
        Err(error) => return fail(&error),
    };
    let address = |wanted| options.listen.iter().find(|(scheme, _)| *scheme == wanted).map(|(_, address)| *address);
    let node = ChunkNode::start(NodeOptions {
        folder: options.folder.clone(),
        tcp: address(Scheme::Tcp),
        quic: address(Scheme::Quic),
        chunk_bytes_max: options.chunk_bytes_max,
        arena_bytes: options.arena_bytes,
        connections_max: options.connections_max,
        requires_signature: options.requires_signature,
        verifier,
        limits: Limits::default(),
    });
    let node = match node.await {
        Ok(node) => node,
        Err(error) => return fail(&error.to_string()),
    };
    let metrics = match options.metrics {
        Some(address) => match serve_metrics(address, &node, stopping.clone()).await {
            Ok(address) => Some(address),
            Err(error) => {
                node.stop(options.drain_timeout).await;
                return fail(&error);
            }
        },
        None => None,
    };
    announce(&node, options, metrics);
    let _ = stopping.wait_for(|stopping| *stopping).await;
    let replies = node.replies();
    let [stored, already, found, not_found, refused] =
        [&replies.stored, &replies.already_stored, &replies.found, &replies.not_found, &replies.refused]
            .map(levada_engine::Counter::value);
    let drained = node.stop(options.drain_timeout).await;
    say(&format!(
        "stopped: {stored} chunks stored, {already} were here, {found} fetched, {not_found} not found, {refused} refused"
    ));
    if drained == Drained::Complete {
        return EXIT_DONE;
    }
    tracing::error!("stopped with requests unanswered; --drain-timeout passed, or a worker had broken down");
    EXIT_FAILED
}

fn verifier(options: &ChunkServe) -> Result<Box<dyn PaymentVerifier>, String> {
    let Some(path) = &options.allow_list else { return Ok(Box::new(AcceptAll)) };
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("cannot read --allow-list {}: {error}", path.display()))?;
    let list = AllowList::parse(&text);
    let list = list.map_err(|line| {
        format!("{}:{line}: not 64 hexadecimal digits; write a BLAKE3 digest a line", path.display())
    })?;
    Ok(Box::new(list))
}

/// Lets Prometheus read the metrics until `stopping` turns true; gives the address, whose port may have been the system's choice.
async fn serve_metrics(
    address: SocketAddr,
    node: &ChunkNode,
    mut stopping: watch::Receiver<bool>,
) -> Result<SocketAddr, String> {
    let stopped = async move {
        let _ = stopping.wait_for(|stopping| *stopping).await;
    };
    let served = metrics::serve(address, metrics_of(node), stopped).await;
    let (bound, server) = served.map_err(|ServeError::Bind { service, address, source, .. }| {
        ServeError::Bind { service, address, flag: "--metrics-address", source }.to_string()
    })?;
    tokio::spawn(server);
    Ok(bound)
}

fn announce(node: &ChunkNode, options: &ChunkServe, metrics: Option<SocketAddr>) {
    say(VERSION);
    node.addresses().iter().for_each(|address| say(&format!("listening on {address}")));
    say(&format!("node {}", node.id()));
    if let Some(address) = metrics {
        say(&format!("metrics at http://{address}/metrics"));
    }
    let (here, most) = (node.files().bytes(), format_bytes(options.chunk_bytes_max));
    say(&format!("chunks in {}, {here} bytes of {most}", options.folder.display()));
    say("ready (Ctrl-C stops)");
}
