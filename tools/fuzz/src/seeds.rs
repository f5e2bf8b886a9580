//! Writes what each target starts from into a folder per target: `seeds FOLDER`.

use std::fs;
use std::io;
use std::path::Path;

use bytes::BytesMut;
use levada_wire::gossipsub::{PublishHeader, graft, idontwant, ihave, iwant, prune, publish_trailer, subscribe};
use levada_wire::waku::Message;

const TOPIC: &str = "/waku/2/rs/1/0";

fn main() -> io::Result<()> {
    let folder = std::env::args_os().nth(1).ok_or_else(|| io::Error::other("usage: seeds FOLDER"))?;
    let folder = Path::new(&folder);
    write(&folder.join("engine_ops"), &engine_ops())?;
    write(&folder.join("waku_message"), &waku_messages())?;
    write(&folder.join("rpc"), &frames())
}

fn write(folder: &Path, seeds: &[Vec<u8>]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    seeds.iter().enumerate().try_for_each(|(number, seed)| fs::write(folder.join(format!("{number:03}")), seed))
}

/// A few hundred operations on each ring and on the arena, and claims that fill the arena.
fn engine_ops() -> Vec<Vec<u8>> {
    const OPERATIONS: usize = 300;
    /// The number of the arena in the target, and more claims than it has slots.
    const ARENA: u8 = 4;
    const CLAIMS: usize = 200;
    let mut state: u32 = 1;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let mut seeds: Vec<Vec<u8>> =
        (0..5).map(|which| [which].into_iter().chain((0..2 * OPERATIONS).map(|_| random())).collect()).collect();
    seeds.push([ARENA].into_iter().chain((0..CLAIMS).flat_map(|_| [0, random()])).collect());
    seeds
}

fn waku_messages() -> Vec<Vec<u8>> {
    let full = Message {
        payload: b"hello",
        content_topic: "/app/1/topic/proto",
        version: 1,
        timestamp: 1_700_000_000_000_000_000,
        meta: &[8; 64],
        proof: &[9; 30],
        ephemeral: true,
    };
    let plain = Message { payload: &[7; 200], content_topic: "/é/1/t/proto", ..Message::default() };
    [full, plain, Message::default()].iter().map(encoded).collect()
}

fn encoded(message: &Message<'_>) -> Vec<u8> {
    let mut data = vec![0; message.encoded_len()];
    message.encode_into(&mut data).expect("the buffer has the encoded length");
    data
}

/// A frame of each kind, and one of all.
fn frames() -> Vec<Vec<u8>> {
    let ids = [[1; 32], [2; 32]];
    let data = encoded(&Message { payload: b"hello", content_topic: TOPIC, ..Message::default() });
    let header = PublishHeader::new(TOPIC, data.len()).expect("a small frame");
    let mut publish = BytesMut::from(header.bare());
    publish.extend_from_slice(&data);
    publish_trailer(TOPIC, &mut publish);
    let mut frames = vec![publish.to_vec()];
    let writers: [&dyn Fn(&mut BytesMut); 6] = [
        &|out| subscribe(TOPIC, true, out),
        &|out| graft(TOPIC, out),
        &|out| prune(TOPIC, Some(60), out),
        &|out| ihave(TOPIC, &ids, out),
        &|out| iwant(&ids, out),
        &|out| idontwant(&ids, out),
    ];
    for write in writers {
        let mut frame = BytesMut::new();
        write(&mut frame);
        frames.push(frame.to_vec());
    }
    frames.push(frames.concat());
    frames
}
