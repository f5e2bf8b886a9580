//! The REST server of a node: there before the node, so that whoever asks learns that it starts, and until all that was accepted is
//! stored, so that whoever asks learns that it stops.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use super::backend::NodeBackend;
use super::health;
use crate::config::Config;
use crate::rest::{self, ServeError};

/// See the module.
#[derive(Default)]
pub struct Front {
    opened: Option<(rest::Opened, JoinHandle<()>)>,
    end: watch::Sender<bool>,
}

impl Front {
    /// Listens, if REST is on.
    ///
    /// # Errors
    /// [`ServeError::Bind`] when the address cannot be listened on.
    pub async fn open(config: &Config) -> Result<Self, ServeError> {
        let mut front = Self::default();
        if let Some(address) = config.rest_socket() {
            let options = rest::Options {
                message_bytes_max: config.max_msg_bytes,
                allow_origin: config.rest_allow_origin.clone(),
                ..rest::Options::default()
            };
            let mut end = front.end.subscribe();
            let ended = async move { drop(end.wait_for(|end| *end).await) };
            let (opened, server) = rest::open(address, health::starting(config), options, ended).await?;
            front.opened = Some((opened, tokio::spawn(server)));
        }
        Ok(front)
    }

    /// Where it listens.
    pub fn address(&self) -> Option<SocketAddr> {
        self.opened.as_ref().map(|(opened, _)| opened.address())
    }

    /// From now on the node answers.
    pub fn ready(&self, backend: NodeBackend) {
        if let Some((opened, _)) = &self.opened {
            opened.ready(Arc::new(backend));
        }
    }

    /// Answers what has been asked, and ends; requests that take longer are cut off.
    pub async fn close(self, deadline: Instant) {
        self.end.send_replace(true);
        if let Some((_, mut server)) = self.opened
            && timeout_at(deadline, &mut server).await.is_err()
        {
            server.abort();
        }
    }
}
