//! Bounds what one call site logs: whatever a peer or a REST client does over and over costs a few lines, and is counted.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use levada_engine::Counter;
use tracing::callsite::Identifier;
use tracing::{Event, Metadata};
use tracing_subscriber::layer::{Context, Filter};

/// Lines of one call site in one [`WINDOW`]; more are left out.
pub const LINES_MAX: u32 = 50;

/// The time in which they are counted, and after which is told how many were left out.
pub const WINDOW: Duration = Duration::from_secs(10);

/// Call sites that one report names.
const SITES_TOLD_MAX: usize = 8;

/// Lines left out so far.
pub static LINES_LEFT_OUT: Counter = Counter::new();

/// Counts the lines of each call site, of which a program has a fixed number. Clones are handles to the same.
#[derive(Debug, Clone, Default)]
pub struct LineLimit(Arc<Mutex<HashMap<Identifier, Site>>>);

#[derive(Debug)]
struct Site {
    metadata: &'static Metadata<'static>,
    since: Instant,
    lines: u32,
    left_out: u64,
}

impl LineLimit {
    fn admits(&self, metadata: &'static Metadata<'static>, now: Instant) -> bool {
        let mut sites = self.sites();
        let fresh = || Site { metadata, since: now, lines: 0, left_out: 0 };
        let site = sites.entry(metadata.callsite()).or_insert_with(fresh);
        if now.duration_since(site.since) >= WINDOW {
            (site.since, site.lines) = (now, 0);
        }
        if site.lines < LINES_MAX {
            site.lines += 1;
            return true;
        }
        site.left_out += 1;
        LINES_LEFT_OUT.add(1);
        false
    }

    /// What was left out since the last call: how many lines in all, and the busiest call sites with theirs.
    pub fn left_out(&self) -> Option<(u64, String)> {
        let mut sites = self.sites();
        let told = sites.values_mut().filter(|site| site.left_out > 0).map(|site| {
            let (file, line) = (site.metadata.file().unwrap_or_default(), site.metadata.line().unwrap_or_default());
            (std::mem::take(&mut site.left_out), format!("{file}:{line}"))
        });
        let mut told: Vec<(u64, String)> = told.collect();
        drop(sites);
        told.sort_unstable_by_key(|(lines, _)| u64::MAX - lines);
        let all = told.iter().map(|(lines, _)| lines).sum();
        let names: Vec<String> =
            told.iter().take(SITES_TOLD_MAX).map(|(lines, site)| format!("{site} ({lines})")).collect();
        (all > 0).then(|| (all, names.join(", ")))
    }

    fn sites(&self) -> MutexGuard<'_, HashMap<Identifier, Site>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S> Filter<S> for LineLimit {
    fn enabled(&self, _: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        true
    }

    /// Called once for each line that the level lets through.
    fn event_enabled(&self, event: &Event<'_>, _: &Context<'_, S>) -> bool {
        self.admits(event.metadata(), Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::{Layer, SubscriberExt};

    use super::*;

    #[test]
    fn a_call_site_has_its_lines_and_others_have_theirs() {
        let limit = LineLimit::default();
        let counted = Arc::new(Counter::new());
        struct Count(Arc<Counter>);
        impl<S: tracing::Subscriber> Layer<S> for Count {
            fn on_event(&self, _: &Event<'_>, _: Context<'_, S>) {
                self.0.add(1);
            }
        }
        let subscriber = tracing_subscriber::registry().with(Count(counted.clone()).with_filter(limit.clone()));
        tracing::subscriber::with_default(subscriber, || {
            (0..LINES_MAX + 7).for_each(|number| tracing::info!(number, "again"));
            tracing::info!("another");
        });
        assert_eq!(counted.value(), u64::from(LINES_MAX) + 1);
        let (lines, sites) = limit.left_out().expect("seven lines are left out");
        assert!(lines == 7 && sites.contains("line_limit.rs:") && sites.ends_with("(7)"), "{lines} {sites}");
        assert_eq!(limit.left_out(), None, "each is told once");
        assert!(LINES_LEFT_OUT.value() >= 7);
    }

    #[test]
    fn a_window_later_there_are_lines_again() {
        let limit = LineLimit::default();
        static METADATA: std::sync::OnceLock<&'static Metadata<'static>> = std::sync::OnceLock::new();
        struct Take;
        impl<S: tracing::Subscriber> Layer<S> for Take {
            fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
                METADATA.get_or_init(|| event.metadata());
            }
        }
        let subscriber = tracing_subscriber::registry().with(Take);
        tracing::subscriber::with_default(subscriber, || tracing::info!("once"));
        let (metadata, start) = (METADATA.get().expect("an event"), Instant::now());
        assert!((0..LINES_MAX).all(|_| limit.admits(metadata, start)));
        assert!(!limit.admits(metadata, start + WINDOW - Duration::from_nanos(1)));
        assert!(limit.admits(metadata, start + WINDOW));
    }
}
