//! A client of nodes of chunks: it puts files and gets them back.

mod connection;
mod cutter;
mod data_map;
mod download;
mod fault;
mod gate;
mod journal;
mod peer;
mod peers;
mod progress;
mod put;
mod upload;

pub use data_map::{DataMap, MapError};
pub use download::{Downloader, GetError, GetOptions};
pub use fault::{Fault, FaultKind, Faults, WORDS_MAX};
pub use peer::Peer;
pub use peers::{CLOSE_GROUP, Peers, TooFewPeers};
pub use progress::{Progress, Snapshot};
pub use put::PutOptions;
pub use upload::{PutError, Uploaded, Uploader, map_of};
