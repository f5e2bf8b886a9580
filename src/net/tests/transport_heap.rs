//! What our transport allocates while it carries messages.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[expect(dead_code, reason = "the other tests use the rest")]
mod muxing;

use std::alloc::System;

use futures::{AsyncReadExt, AsyncWriteExt};
use levada_engine::heap::{CountingAllocator, allocations_total};
use muxing::{Side, connect, pattern, stream, within};

#[global_allocator]
static HEAP: CountingAllocator<System> = CountingAllocator(System);

const MESSAGE_BYTES: usize = 150_000;
const WARM_UP: usize = 100;
const MEASURED: usize = 400;

/// Sends messages one way on a thread of their own and gives what both sides allocated, the system's buffers aside.
async fn allocations(sides: (Side, Side)) -> u64 {
    let (dialler, mut listener) = connect(sides.0, sides.1).await;
    let (mut near, mut far) = stream(&dialler, &mut listener).await;
    let message = pattern(1, MESSAGE_BYTES);
    let sent = message.clone();
    let sender = tokio::spawn(async move {
        for _ in 0..WARM_UP + MEASURED {
            near.write_all(&sent).await.unwrap();
            near.flush().await.unwrap();
        }
        near
    });
    let mut slot = vec![0; MESSAGE_BYTES];
    let mut before = 0;
    for round in 0..WARM_UP + MEASURED {
        if round == WARM_UP {
            before = allocations_total();
        }
        within(far.read_exact(&mut slot)).await.unwrap();
        assert!(slot == message);
    }
    let allocated = allocations_total() - before;
    sender.await.unwrap();
    allocated
}

#[tokio::test]
async fn steady_state_allocates_next_to_nothing() {
    let ours = allocations((Side::Levada, Side::Levada)).await;
    let stock = allocations((Side::StockYamux, Side::StockYamux)).await;
    // The counter counts: the stock transport allocates for every frame.
    assert!(stock > MEASURED as u64, "{stock}");
    // Not one for a message on either side; a handful for the runtime's own queues.
    assert!(ours <= MEASURED as u64 / 20, "{ours} allocations for {MEASURED} messages, stock {stock}");
}
