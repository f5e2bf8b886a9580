//! Metadata (66/WAKU2-METADATA): which cluster and shards a peer serves.
//!
//! One request and one answer per stream, each with a varint length in front; the answerer closes its side after the answer, which
//! js-waku waits for. js-waku also opens one stream ahead of need and may use it minutes later. Closing only our side of such a
//! stream would be fatal for that client, a reset is not: the streams below are either answered and closed, or dropped, and dropping
//! a stream that is still open resets it in yamux and in mplex.

use std::io;
use std::time::Duration;

use futures::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use levada_wire::varint;
use levada_wire::waku::metadata::{METADATA_BYTES_MAX, Metadata};
use libp2p::StreamProtocol;
use libp2p::request_response::{Behaviour, Codec, Config, ProtocolSupport};

use crate::counters;
use crate::peers::Direction;
use crate::streams::OpenStream;

/// The protocol id of metadata, verbatim on the wire.
pub const PROTOCOL: &str = "/vac/waku/metadata/1.0.0";

/// Streams of one connection that are open at once, idle ones included. One more is reset.
const STREAMS_PER_CONNECTION_MAX: usize = 32;
/// A stream that carries nothing for this long is reset.
const IDLE_TIMEOUT: Duration = Duration::from_secs(600);
/// A frame that has begun, or an answer that is awaited, must be here by then.
const FRAME_TIMEOUT: Duration = Duration::from_secs(10);

/// The behaviour that asks and answers.
pub(crate) type Exchange = Behaviour<MetadataCodec>;

pub(crate) fn build() -> Exchange {
    let limits =
        Config::default().with_request_timeout(IDLE_TIMEOUT).with_max_concurrent_streams(STREAMS_PER_CONNECTION_MAX);
    Behaviour::with_codec(MetadataCodec, [(StreamProtocol::new(PROTOCOL), ProtocolSupport::Full)], limits)
}

/// Whether `error` means that the peer sent a frame that is too long or does not parse.
pub(crate) fn is_malformed(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidData
}

/// Length-prefixed protobuf of at most 1 024 bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct MetadataCodec;

impl Codec for MetadataCodec {
    type Protocol = StreamProtocol;
    type Request = Metadata;
    type Response = Metadata;

    async fn read_request<T>(&mut self, _: &StreamProtocol, io: &mut T) -> io::Result<Metadata>
    where
        T: AsyncRead + Unpin + Send,
    {
        let _open_stream = OpenStream::new(PROTOCOL, Direction::In);
        // Waiting for the first byte is the idle time of the stream, which the behaviour bounds.
        let first = read_byte(io).await?;
        decode(&in_time(read_frame(io, first)).await?)
    }

    async fn read_response<T>(&mut self, _: &StreamProtocol, io: &mut T) -> io::Result<Metadata>
    where
        T: AsyncRead + Unpin + Send,
    {
        let _open_stream = OpenStream::new(PROTOCOL, Direction::Out);
        let first = in_time(read_byte(io)).await?;
        decode(&in_time(read_frame(io, first)).await?)
    }

    async fn write_request<T>(&mut self, _: &StreamProtocol, io: &mut T, request: Metadata) -> io::Result<()>
    where
        T: AsyncWrite + Unpin + Send,
    {
        in_time(io.write_all(&encode(&request))).await
    }

    async fn write_response<T>(&mut self, _: &StreamProtocol, io: &mut T, response: Metadata) -> io::Result<()>
    where
        T: AsyncWrite + Unpin + Send,
    {
        in_time(io.write_all(&encode(&response))).await
    }
}

async fn in_time<T>(work: impl Future<Output = io::Result<T>> + Send) -> io::Result<T> {
    tokio::time::timeout(FRAME_TIMEOUT, work).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

async fn read_byte<T: AsyncRead + Unpin + Send>(io: &mut T) -> io::Result<u8> {
    let mut byte = [0];
    io.read_exact(&mut byte).await?;
    Ok(byte[0])
}

/// Reads a frame whose length prefix begins with `byte`.
async fn read_frame<T: AsyncRead + Unpin + Send>(io: &mut T, mut byte: u8) -> io::Result<Vec<u8>> {
    let mut length = 0_usize;
    for shift in [0, 7] {
        length |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            if length > METADATA_BYTES_MAX {
                break;
            }
            let mut frame = vec![0; length];
            io.read_exact(&mut frame).await?;
            return Ok(frame);
        }
        byte = read_byte(io).await?;
    }
    Err(malformed(format!("a metadata frame is longer than {METADATA_BYTES_MAX} bytes")))
}

fn encode(metadata: &Metadata) -> Vec<u8> {
    let body = metadata.encode();
    let mut frame = vec![0; varint::len(body.len() as u64)];
    varint::encode(body.len() as u64, &mut frame).expect("the prefix has the length that was made for it");
    frame.extend_from_slice(&body);
    frame
}

fn decode(frame: &[u8]) -> io::Result<Metadata> {
    Metadata::decode(frame).map_err(malformed)
}

/// Counted here, since nobody above hears of a question that failed to parse.
fn malformed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    counters::METADATA_MALFORMED.add(1);
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod tests {
    use futures::io::Cursor;
    use libp2p::StreamProtocol;
    use libp2p::request_response::Codec;

    use super::{Metadata, MetadataCodec, PROTOCOL, is_malformed};

    fn read_request(bytes: &[u8]) -> std::io::Result<Metadata> {
        let protocol = StreamProtocol::new(PROTOCOL);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(MetadataCodec.read_request(&protocol, &mut Cursor::new(bytes)))
    }

    #[test]
    fn the_request_of_a_light_client_parses() {
        let asked = read_request(&[2, 0x08, 0x01]).unwrap();
        assert_eq!(asked.cluster_id, Some(1));
        assert_eq!(read_request(&[0]).unwrap().cluster_id, None, "an empty request is one");
    }

    #[test]
    fn bad_frames_fail_alone() {
        let cut = read_request(&[5, 0x08]).unwrap_err();
        assert!(!is_malformed(&cut), "the peer left in the middle: {cut}");
        assert!(!is_malformed(&read_request(&[]).unwrap_err()), "an idle stream that the peer closed");
        for bad in [&[0x81, 0x08, 0][..], &[0xff; 12], &[0x80, 0x80, 0x00], &[2, 0x0b, 0x00], &[1, 0x08]] {
            let error = read_request(bad).unwrap_err();
            assert!(is_malformed(&error), "{bad:?}: {error}");
        }
    }

    #[test]
    fn every_shard_is_told_in_both_fields() {
        let told = Metadata { cluster_id: Some(16), shards: vec![1, 5] };
        let mut wire = Vec::new();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let protocol = StreamProtocol::new(PROTOCOL);
        runtime.block_on(MetadataCodec.write_response(&protocol, &mut wire, told)).unwrap();
        assert_eq!(wire, [10, 0x08, 16, 0x10, 1, 0x10, 5, 0x1a, 2, 1, 5]);
    }
}
