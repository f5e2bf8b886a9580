//! Asking a peer.

use std::time::Duration;

use bytes::Bytes;
use futures::{AsyncWriteExt, FutureExt};
use libp2p::{PeerId, Stream};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::Exchange;
use super::connection::Order;
use super::error::RequestError;
use super::frame::{Prefix, read_byte, read_frame};
use crate::peers::Direction;
use crate::streams::OpenStream;

/// A stream is open by then.
pub(super) const OPEN_TIMEOUT: Duration = Duration::from_secs(10);
/// The peer has taken the request by then.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// The answer begins by then.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// An answer that has begun is here by then.
const READ_TIMEOUT: Duration = Duration::from_secs(60);

impl RequestError {
    pub(super) fn open_timed_out() -> Self {
        Self::TimedOut { step: "open a stream", seconds: OPEN_TIMEOUT.as_secs() }
    }
}

impl Exchange {
    /// Opens a stream to a connected peer.
    ///
    /// # Errors
    ///
    /// [`RequestError`].
    pub async fn open(&self, peer: &PeerId, protocol: &'static str) -> Result<Stream, RequestError> {
        let orders = self.shared.connections().orders(peer);
        let orders = orders.ok_or(RequestError::NotConnected { peer: *peer })?;
        let (reply, stream) = oneshot::channel();
        let opened = async {
            orders.send(Order { protocol, reply }).await.map_err(|_| RequestError::Ended)?;
            stream.await.unwrap_or(Err(RequestError::Ended))
        };
        timeout(OPEN_TIMEOUT, opened).await.unwrap_or_else(|_| Err(RequestError::open_timed_out()))
    }

    /// Asks a connected peer, and gives the body of its answer. The request is a message in pieces, without its length.
    ///
    /// # Errors
    ///
    /// [`RequestError`].
    pub async fn request(
        &self,
        peer: &PeerId,
        protocol: &'static str,
        request: &[&[u8]],
        answer_bytes_max: usize,
    ) -> Result<Bytes, RequestError> {
        let mut stream = self.open(peer, protocol).await?;
        let _open_stream = OpenStream::new(protocol, Direction::Out);
        in_time("take the request", WRITE_TIMEOUT, write(&mut stream, request)).await?;
        let first = in_time("answer", ANSWER_TIMEOUT, read_byte(&mut stream).map(|byte| Ok(byte?))).await?;
        let answer = read_frame(&mut stream, first, answer_bytes_max).map(|frame| Ok(frame?));
        Ok(in_time("complete its answer", READ_TIMEOUT, answer).await?.into())
    }
}

async fn write(stream: &mut Stream, request: &[&[u8]]) -> Result<(), RequestError> {
    let bytes = request.iter().map(|part| part.len() as u64).sum();
    stream.write_all(Prefix::of(bytes).bytes()).await?;
    for part in request {
        stream.write_all(part).await?;
    }
    // The answerer may wait for the end of the request.
    Ok(stream.close().await?)
}

async fn in_time<T>(
    step: &'static str,
    limit: Duration,
    work: impl Future<Output = Result<T, RequestError>>,
) -> Result<T, RequestError> {
    let late = || RequestError::TimedOut { step, seconds: limit.as_secs() };
    timeout(limit, work).await.unwrap_or_else(|_| Err(late()))
}
