//! The progress bar on standard error: how much is done, how fast, how much is under way, and when it will be over.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::{BinaryBytes, HumanDuration, ProgressBar, ProgressStyle};
use levada_chunk::client::Progress;
use tokio::task::JoinHandle;

/// How often it is drawn.
const EVERY: Duration = Duration::from_millis(100);

const TEMPLATE: &str = "{prefix} [{bar:24}] {bytes}/{total_bytes} {bytes_per_sec}, {msg}, ETA {eta}";

/// A bar that follows a transfer until it is finished. Where standard error is no terminal, nothing is drawn.
pub(super) struct Bar {
    bar: ProgressBar,
    follows: JoinHandle<()>,
    progress: Arc<Progress>,
    started: Instant,
}

impl Bar {
    pub fn of(file: &Path, progress: Arc<Progress>) -> Self {
        let bar = ProgressBar::new(0);
        bar.set_style(
            ProgressStyle::with_template(TEMPLATE).expect("the template is well-formed").progress_chars("=> "),
        );
        bar.set_prefix(file.display().to_string());
        let follows = tokio::spawn(follow(bar.clone(), progress.clone()));
        Self { bar, follows, progress, started: Instant::now() }
    }

    /// Takes the bar away; says how much was moved, and how fast.
    pub fn finish(self) -> String {
        self.follows.abort();
        self.bar.finish_and_clear();
        let progress = self.progress.snapshot();
        let (elapsed, moved) = (self.started.elapsed(), progress.done_bytes - progress.kept_bytes);
        let bytes_per_s = moved as f64 / elapsed.as_secs_f64().max(0.001);
        let kept = match progress.kept_bytes {
            0 => String::new(),
            kept => format!(", {} kept from before", BinaryBytes(kept)),
        };
        let (moved, rate) = (BinaryBytes(moved), BinaryBytes(bytes_per_s as u64));
        format!("{moved} in {}, {rate}/s{kept}", HumanDuration(elapsed))
    }
}

async fn follow(bar: ProgressBar, progress: Arc<Progress>) {
    let mut has_begun = false;
    loop {
        let now = progress.snapshot();
        bar.set_length(now.total_bytes);
        if !has_begun && now.total_bytes > 0 {
            // What was done before does not count as fast.
            bar.set_position(now.kept_bytes);
            bar.reset_eta();
            has_begun = true;
        }
        bar.set_message(format!("{} in flight (limit {})", BinaryBytes(now.in_flight_bytes), now.limit));
        bar.set_position(now.done_bytes);
        tokio::time::sleep(EVERY).await;
    }
}
