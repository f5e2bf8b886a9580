//! What both sides of a TCP connection say first: who connects its version, the node its version and its id.

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::{PeerId, TransportError};

/// What every connection begins with; the digit changes when the messages do.
const VERSION: &[u8; 16] = b"levada-chunk/1\r\n";

/// Greets a node; gives its id.
pub(crate) async fn greet(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> Result<PeerId, TransportError> {
    stream.write_all(VERSION).await?;
    expect_version(stream).await?;
    let mut id = [0; 32];
    stream.read_exact(&mut id).await?;
    Ok(PeerId(id))
}

/// Answers a greeting.
pub(crate) async fn welcome(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    id: &PeerId,
) -> Result<(), TransportError> {
    expect_version(stream).await?;
    stream.write_all(VERSION).await?;
    stream.write_all(&id.0).await?;
    Ok(())
}

async fn expect_version(stream: &mut (impl AsyncRead + Unpin)) -> Result<(), TransportError> {
    let mut version = [0; VERSION.len()];
    stream.read_exact(&mut version).await.map_err(|_| TransportError::NotChunk)?;
    if version == *VERSION { Ok(()) } else { Err(TransportError::NotChunk) }
}
