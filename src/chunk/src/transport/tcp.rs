//! Messages on a TCP connection: a big-endian `u32` with the length, then the message.

use std::io::{self, IoSlice};
use std::sync::Arc;
use std::time::Duration;

use bytes::Buf;
use levada_engine::Arena;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::timeout;

use super::{Limits, PeerId, TransportError, hello};
use crate::outgoing::{LENGTH_BYTES, Outgoing};
use crate::stages::{Assembly, ChunkRecord};

/// The half that is read.
pub(crate) type Reader = OwnedReadHalf;

/// The half that is written.
pub(crate) type Writer = OwnedWriteHalf;

/// Connects to a node.
pub(crate) async fn connect(host_and_port: &str, limits: &Limits) -> Result<(PeerId, Reader, Writer), TransportError> {
    let connected = async {
        let mut stream = TcpStream::connect(host_and_port).await?;
        stream.set_nodelay(true)?;
        let id = hello::greet(&mut stream).await?;
        let (reader, writer) = stream.into_split();
        Ok((id, reader, writer))
    };
    timeout(limits.connect_within, connected).await.map_err(|_| TransportError::NoAnswer)?
}

/// Lets a client in that `stream` leads to.
pub(crate) async fn accept(
    mut stream: TcpStream,
    id: &PeerId,
    limits: &Limits,
) -> Result<(Reader, Writer), TransportError> {
    stream.set_nodelay(true)?;
    timeout(limits.connect_within, hello::welcome(&mut stream, id)).await.map_err(|_| TransportError::NoAnswer)??;
    Ok(stream.into_split())
}

/// Writes the parts from where they lie. The peer may take its time, as long as it takes something.
pub(super) async fn send(writer: &mut Writer, message: &Outgoing, limits: &Limits) -> Result<(), TransportError> {
    let mut parts = message.with_length();
    while parts.iter().any(|part| !part.is_empty()) {
        let slices = parts.each_ref().map(|part| IoSlice::new(part));
        let written = timeout(limits.stall, writer.write_vectored(&slices)).await;
        let mut written = written.map_err(|_| TransportError::Stalled)??;
        if written == 0 {
            return Err(io::Error::from(io::ErrorKind::WriteZero).into());
        }
        for part in &mut parts {
            let bytes = written.min(part.len());
            part.advance(bytes);
            written -= bytes;
        }
    }
    Ok(())
}

/// Reads the next message into a slot that fits it.
pub(super) async fn receive(
    reader: &mut Reader,
    arena: &Arc<Arena<ChunkRecord>>,
    limits: &Limits,
) -> Result<Option<Assembly>, TransportError> {
    let mut length = [0; LENGTH_BYTES];
    // Between two messages a peer may be silent as long as it likes, and leave.
    if reader.read(&mut length[..1]).await? == 0 {
        return Ok(None);
    }
    let Some(bytes) = within(limits.message_within, read_length(reader, &mut length)).await? else { return Ok(None) };
    if bytes > limits.message_bytes_max {
        return Err(TransportError::too_long(bytes, limits.message_bytes_max));
    }
    // Waiting for a slot is our slowness, not the peer's.
    let mut assembly = super::claim(arena, bytes).await?;
    within(limits.message_within, async {
        while assembly.filled() < bytes {
            match reader.read(assembly.room_to(bytes)).await? {
                0 => return Err(TransportError::StreamCut),
                read => assembly.advance(read),
            }
        }
        Ok(Some(assembly))
    })
    .await
}

async fn read_length(reader: &mut Reader, length: &mut [u8; LENGTH_BYTES]) -> Result<Option<usize>, TransportError> {
    reader.read_exact(&mut length[1..]).await.map_err(|_| TransportError::StreamCut)?;
    Ok(usize::try_from(u32::from_be_bytes(*length)).ok())
}

/// What `work` gives, unless it takes longer than `limit`.
async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, TransportError>>,
) -> Result<T, TransportError> {
    timeout(limit, work).await.map_err(|_| TransportError::TooSlow)?
}

/// Ends the sending half.
pub(super) async fn close(mut writer: Writer, limits: &Limits) {
    // A peer that does not take the last bytes loses them, as it would any others.
    let _ = timeout(limits.stall, writer.shutdown()).await;
}
