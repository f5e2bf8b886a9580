//! A relay peer of rust-libp2p and nothing else: its TCP, WebSocket, Noise, yamux, mplex and gossipsub. Orders come as one line of
//! JSON each, answers and messages go out the same way.
//!
//! ```text
//! levada-interop-peer tcp|ws yamux|mplex KEY [LISTEN]
//! → {"dial":"/ip4/…"} {"mesh":null} {"peers":null} {"publish":"HEX"} {"subscribe":true} {"hang_up":"PEER"}
//! ← {"listening":"/ip4/…"} {"answer":…} {"refused":"why"} {"message":"HEX"}
//! ```

mod orders;
mod peer;

use std::process::ExitCode;

use libp2p::futures::StreamExt;
use tokio::io::{AsyncBufReadExt, BufReader};

use peer::Peer;

type Failure = Box<dyn std::error::Error>;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            orders::say("refused", error.to_string());
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut peer = Peer::new(&arguments)?;
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    loop {
        tokio::select! {
            line = lines.next_line() => match line? {
                Some(line) => match peer.obey(serde_json::from_str(&line)?) {
                    Ok(answer) => orders::say("answer", answer),
                    Err(error) => orders::say("refused", error.to_string()),
                },
                None => return Ok(()),
            },
            event = peer.swarm.select_next_some() => peer.on_event(event),
        }
    }
}
