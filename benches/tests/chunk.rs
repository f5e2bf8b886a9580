//! The benchmark of chunks: what our forms may cost, counted, and that every form sends the same messages.

use levada_benches::chunk::{FormKind, Options, Row, SinkKind, run};
use levada_engine::heap::CountingAllocator;
use mimalloc::MiMalloc;

#[global_allocator]
static HEAP: CountingAllocator<MiMalloc> = CountingAllocator(MiMalloc);

const IN_FLIGHT: usize = 6;

const CHUNK_MB: f64 = 4.194_304;

/// Forms and recipients as asked for, to a sink; rows in that order. What is counted is the process's: one at a time.
fn rows(forms: &[FormKind], recipients: &[usize], sink: SinkKind) -> Vec<Row> {
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _alone = ALONE.lock();
    let (forms, recipients) = (forms.to_vec(), recipients.to_vec());
    let options = Options { bytes: 40_000_000, in_flight: IN_FLIGHT, recipients, forms, sinks: vec![sink], runs: 1 };
    run(&options, |_| ()).expect("the forms agree and the sink takes all").rows
}

#[test]
fn ours_take_the_memory_of_the_chunks_whatever_the_recipients() {
    let rows = rows(&[FormKind::Vectored], &[1, 5, 20], SinkKind::Null);
    let content_mb = IN_FLIGHT as f64 * CHUNK_MB;
    for row in &rows {
        assert_eq!(row.copies_per_chunk, 0.0, "{row:?}");
        // 264 of 256, as for 64 chunks in flight.
        assert!((content_mb..=content_mb * 264.0 / 256.0).contains(&row.peak_heap_MB), "{row:?}");
    }
    let growth = rows[2].peak_heap_MB - rows[0].peak_heap_MB;
    assert!(growth < 0.1, "19 recipients more cost {growth} MB");
}

#[test]
fn one_encoding_is_one_copy_for_all() {
    for row in rows(&[FormKind::Shared], &[1, 20], SinkKind::Null) {
        assert_eq!(row.copies_per_chunk, 1.0, "{row:?}");
        assert!(row.peak_heap_MB < (IN_FLIGHT + 2) as f64 * CHUNK_MB, "{row:?}");
    }
}

/// A recipient that missed a byte would void the run.
#[test]
fn every_byte_arrives_through_sockets() {
    for sink in [SinkKind::Unix, SinkKind::Tcp] {
        let rows = rows(&[FormKind::Shared, FormKind::Vectored], &[3], sink);
        assert!(rows.iter().all(|row| row.chunks == 10 && row.sink == sink.name()));
    }
}

#[cfg(feature = "mirrors")]
#[test]
fn the_mirrors_cost_what_the_client_does() {
    let rows = rows(&[FormKind::Vec, FormKind::Bytes], &[5], SinkKind::Null);
    assert_eq!(rows.iter().map(|row| row.copies_per_chunk).collect::<Vec<_>>(), [10.0, 5.0]);
    // A copy and an encoding, whose buffer doubles to 8 MiB, for each of five; or the encoding alone.
    for (row, chunk_times) in rows.iter().zip([1 + 5 * 3, 1 + 5 * 2]) {
        let expected_mb = (IN_FLIGHT * chunk_times) as f64 * CHUNK_MB;
        assert!((expected_mb..expected_mb * 1.1).contains(&row.peak_heap_MB), "{row:?}");
    }
}
