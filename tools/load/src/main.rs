//! A load test of whole nodes, over loopback: two real `levada` processes, relay peers that publish to both, filter subscribers at both,
//! lightpush and store queries all the while, and one restart. What was sent is kept in a ledger, message by message, and at the end
//! every subscriber, relay peer and archive is held against it. Memory is sampled each second and must stay flat.
//!
//! In the order of the files: [`node`] runs the processes, [`relay`], [`filter`] and [`light`] are their clients, [`ledger`] remembers
//! who got what, [`sample`] watches, [`verdict`] judges, and [`plot`] draws.

#![forbid(unsafe_code)]

mod client;
mod filter;
mod ledger;
mod light;
mod message;
mod node;
mod options;
mod plot;
mod relay;
mod run;
mod sample;
mod verdict;

use std::process::ExitCode;

use clap::Parser;

use crate::options::Options;

fn main() -> ExitCode {
    let options = Options::parse();
    let runtime = tokio::runtime::Runtime::new();
    let outcome = runtime.map_err(Into::into).and_then(|runtime| {
        let outcome = runtime.block_on(run::run(&options));
        runtime.shutdown_background();
        outcome
    });
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            run::say(&format!("the load test could not be run: {error}"));
            ExitCode::from(2)
        }
    }
}
