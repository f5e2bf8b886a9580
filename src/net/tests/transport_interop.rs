//! Our transport with itself and with rust-libp2p's, in both roles, with yamux and with mplex.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod muxing;

use std::io::ErrorKind;

use futures::{AsyncReadExt, AsyncWriteExt};
use libp2p::core::muxing::SubstreamBox;
use muxing::{Side, connect, pattern, stream, within};

const PAIRS: [(Side, Side); 5] = [
    (Side::Levada, Side::Levada),
    (Side::Levada, Side::StockYamux),
    (Side::StockYamux, Side::Levada),
    (Side::Levada, Side::StockMplex),
    (Side::StockMplex, Side::Levada),
];
const LARGE_BYTES: usize = 10 * 1_024 * 1_024;

/// Sends `sent` and the end, while it reads to the end.
async fn exchange(stream: SubstreamBox, sent: Vec<u8>) -> Vec<u8> {
    let (mut reader, mut writer) = stream.split();
    let write = async {
        writer.write_all(&sent).await.unwrap();
        writer.close().await.unwrap();
    };
    let mut read = Vec::new();
    let (_, outcome) = within(futures::future::join(write, reader.read_to_end(&mut read))).await;
    outcome.unwrap();
    read
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_megabytes_each_way() {
    for sides in PAIRS {
        let (dialler, mut listener) = connect(sides.0, sides.1).await;
        let (near, far) = stream(&dialler, &mut listener).await;
        let (up, down) = (pattern(1, LARGE_BYTES), pattern(2, LARGE_BYTES));
        let far = tokio::spawn(exchange(far, down.clone()));
        assert!(exchange(near, up.clone()).await == down, "{sides:?}: down");
        assert!(far.await.unwrap() == up, "{sides:?}: up");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_streams_of_both_sides_at_once() {
    for sides in PAIRS {
        let (mut dialler, mut listener) = connect(sides.0, sides.1).await;
        let mut tasks = Vec::new();
        for round in 0..20 {
            let (near, far) = stream(&dialler, &mut listener).await;
            let (far_side, near_side) = stream(&listener, &mut dialler).await;
            for (index, (one, other)) in [(near, far), (far_side, near_side)].into_iter().enumerate() {
                let (up, down) = (pattern(round * 4 + index as u64, 70_000), pattern(round * 4 + 2, 200_000));
                tasks.push((tokio::spawn(exchange(one, up.clone())), down.clone()));
                tasks.push((tokio::spawn(exchange(other, down)), up));
            }
        }
        for (task, expected) in tasks {
            assert!(task.await.unwrap() == expected, "{sides:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_side_that_has_ended_still_reads() {
    for sides in PAIRS {
        let (dialler, mut listener) = connect(sides.0, sides.1).await;
        let (mut near, mut far) = stream(&dialler, &mut listener).await;
        near.close().await.unwrap();
        let mut end = Vec::new();
        within(far.read_to_end(&mut end)).await.unwrap();
        assert!(end.is_empty());
        far.write_all(&pattern(3, 100_000)).await.unwrap();
        far.close().await.unwrap();
        let mut answer = Vec::new();
        within(near.read_to_end(&mut answer)).await.unwrap();
        assert!(answer == pattern(3, 100_000), "{sides:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_stream_fails_at_the_other_side_and_nothing_else_does() {
    for sides in PAIRS {
        let (dialler, mut listener) = connect(sides.0, sides.1).await;
        let (near, mut far) = stream(&dialler, &mut listener).await;
        let (mut other, mut other_far) = stream(&dialler, &mut listener).await;
        drop(near);
        // libp2p's mplex sends a reset only along with something else.
        other.write_all(&[1; 5]).await.unwrap();
        other.flush().await.unwrap();
        // The reset may be on its way for some writes.
        let failure = within(async {
            loop {
                if let Err(error) = far.write_all(&[0; 1_000]).await {
                    return error;
                }
                tokio::task::yield_now().await;
            }
        })
        .await;
        assert!(sides.1 != Side::Levada || failure.kind() == ErrorKind::ConnectionReset, "{sides:?}: {failure}");
        let mut alive = [0; 5];
        within(other_far.read_exact(&mut alive)).await.unwrap();
        assert_eq!(alive, [1; 5]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_waits_for_the_window_and_goes_on() {
    for sides in [PAIRS[0], PAIRS[1], PAIRS[2]] {
        for is_dialler_reading in [true, false] {
            let (mut dialler, mut listener) = connect(sides.0, sides.1).await;
            let (mut reader, mut writer) = if is_dialler_reading {
                stream(&dialler, &mut listener).await
            } else {
                let (far, near) = stream(&listener, &mut dialler).await;
                (far, near)
            };
            let (side_reader, mut side_writer) = if is_dialler_reading {
                stream(&dialler, &mut listener).await
            } else {
                stream(&listener, &mut dialler).await
            };
            let sent = pattern(4, LARGE_BYTES);
            let expected = sent.clone();
            let task = tokio::spawn(async move {
                writer.write_all(&sent).await.unwrap();
                writer.close().await.unwrap();
                writer
            });
            // The window is full long before the reader comes, and other streams pass it by.
            let answer = exchange(side_reader, pattern(5, 50_000));
            let far = async {
                side_writer.write_all(&pattern(6, 50_000)).await.unwrap();
                side_writer.close().await.unwrap();
                let mut read = Vec::new();
                side_writer.read_to_end(&mut read).await.unwrap();
                read
            };
            let (down, up) = within(futures::future::join(answer, far)).await;
            assert!(down == pattern(6, 50_000) && up == pattern(5, 50_000), "{sides:?}");
            assert!(!task.is_finished());
            let mut read = Vec::new();
            within(reader.read_to_end(&mut read)).await.unwrap();
            assert!(read == expected, "{sides:?}");
            within(task).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_that_is_gone_fails_its_streams() {
    for sides in PAIRS {
        let (dialler, mut listener) = connect(sides.0, sides.1).await;
        let (mut near, far) = stream(&dialler, &mut listener).await;
        listener.task.abort();
        drop((far, listener));
        let mut read = Vec::new();
        let outcome = within(near.read_to_end(&mut read)).await;
        assert!(sides.0 != Side::Levada || outcome.is_err(), "{sides:?}: a cut stream looks whole");
        within(dialler.task).await.unwrap();
    }
}
