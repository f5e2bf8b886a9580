//! How long a message becomes, from its first bytes: for transports that end a message without telling its length.

use super::frame::is_framed;
use super::limits::{FRAME_BYTES_MAX, PROTOCOL};
use super::message::Address;
use super::numbers::{body, get};
use super::reader::Reader;

/// Bytes that the message which begins with `front` has at least, as far as `front` tells: those of `front`, and of the first
/// long field that it announces. At most [`FRAME_BYTES_MAX`], whatever is announced; a payment proof comes on top.
pub fn announced_len(front: &[u8]) -> usize {
    let announced = if is_framed(front) { data_end(front) } else { content_end(front) };
    announced.unwrap_or(0).max(front.len()).min(FRAME_BYTES_MAX)
}

/// Where the chunk message of an outer frame ends.
fn data_end(front: &[u8]) -> Option<usize> {
    let rest = front.get(1 + PROTOCOL.len()..)?;
    let (len, digits) = crate::varint::decode(rest).ok()?;
    Some(usize::try_from(len).ok()?.saturating_add(1 + PROTOCOL.len() + digits))
}

/// Where the content of a chunk message ends.
fn content_end(front: &[u8]) -> Option<usize> {
    let mut reader = Reader::new(front);
    reader.u64().ok()?;
    match reader.u32().ok()? {
        body::PUT_REQUEST => {}
        body::GET_RESPONSE if reader.u32().ok()? == get::SUCCESS => {}
        _ => return None,
    }
    let _: &Address = reader.address().ok()?;
    let len = reader.u64().ok()?;
    Some(usize::try_from(len).ok()?.saturating_add(reader.offset() as usize))
}

#[cfg(test)]
mod tests {
    use super::super::{ChunkBody, ChunkMessage, GetResponse, PutRequest, frame_head};
    use super::*;

    #[test]
    fn a_content_is_announced_by_the_header_and_nothing_more_is_believed() {
        let content = vec![1; 5_000];
        let put = ChunkBody::PutRequest(PutRequest { address: &[9; 32], content: &content, payment_proof: None });
        let got = ChunkBody::GetResponse(GetResponse::Success { address: &[9; 32], content: &content });
        for body in [put, got] {
            let message = ChunkMessage { request_id: 300, body };
            let header = message.parts().header().to_vec();
            assert_eq!(announced_len(&header), header.len() + 5_000);
            for cut in 0..header.len() {
                assert_eq!(announced_len(&header[..cut]), cut, "too little to tell");
            }
        }
        let mut frame = Vec::new();
        frame_head(70_000, &mut frame);
        assert_eq!(announced_len(&frame), frame.len() + 70_000);
        frame.clear();
        frame_head(usize::MAX, &mut frame);
        assert_eq!(announced_len(&frame), FRAME_BYTES_MAX);
        assert_eq!(announced_len(&[0xff; 40]), 40);
    }
}
