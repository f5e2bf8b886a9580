//! Starts the node's log on standard error: one line per event, as text or JSON.

use std::io::{self, IsTerminal};
use std::sync::OnceLock;

use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::FilterExt;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Filter, SubscriberExt};
use tracing_subscriber::registry::{LookupSpan, Registry};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt, reload};

use crate::cli::line_limit::{LineLimit, WINDOW};
use crate::config::{LogFormat, LogLevel};

/// The process already logs elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the log cannot be started or changed: {reason}; start it once, before anything else logs")]
pub struct LoggingError {
    reason: String,
}

/// Sends every event of the process from now on to standard error. Colours are used on a terminal only, and not at all when
/// the environment variable `NO_COLOR` is set to anything.
///
/// # Errors
/// [`LoggingError`] if a log was started before in this process.
pub fn init(level: LogLevel, format: LogFormat) -> Result<(), LoggingError> {
    let is_coloured = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let (levels, handle) = reload::Layer::new(filter(level));
    let limit = LineLimit::default();
    tracing_subscriber::registry()
        .with(layer(levels.and(limit.clone()), format, is_coloured, io::stderr))
        .try_init()
        .map_err(|error| LoggingError { reason: error.to_string() })?;
    // The registry takes one log only, and so does this.
    let _ = LOG.set(Log { levels: handle, limit });
    Ok(())
}

/// The log of the process.
struct Log {
    levels: reload::Handle<Targets, Registry>,
    limit: LineLimit,
}

static LOG: OnceLock<Log> = OnceLock::new();

/// Logs as much as `level` says from now on.
///
/// # Errors
/// [`LoggingError`] if the log was not started by [`init`].
pub fn set_level(level: LogLevel) -> Result<(), LoggingError> {
    let log = LOG.get().ok_or_else(|| LoggingError { reason: "it was not started by this node".to_owned() })?;
    log.levels.reload(filter(level)).map_err(|error| LoggingError { reason: error.to_string() })?;
    tracing::info!(%level, "the log level was changed");
    Ok(())
}

/// Says in the log, once in a while, what it left out. Never ends.
pub async fn tell_what_is_left_out() {
    let Some(log) = LOG.get() else { return };
    let mut every = tokio::time::interval(WINDOW);
    loop {
        every.tick().await;
        if let Some((lines, call_sites)) = log.limit.left_out() {
            tracing::warn!(lines, call_sites, "lines were left out, because their call sites log too many");
        }
    }
}

/// The level of tracing that shows at least what nwaku's level shows.
pub const fn level_filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Trace => LevelFilter::TRACE,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Info | LogLevel::Notice => LevelFilter::INFO,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Error | LogLevel::Fatal => LevelFilter::ERROR,
        LogLevel::None => LevelFilter::OFF,
    }
}

/// Dependencies are logged one level more quietly: at INFO an operator wants the node's story, at DEBUG a developer does not
/// want every frame of the multiplexer.
fn filter(level: LogLevel) -> Targets {
    let own = level_filter(level);
    let dependencies = match own {
        LevelFilter::TRACE => LevelFilter::DEBUG,
        LevelFilter::DEBUG => LevelFilter::INFO,
        LevelFilter::INFO => LevelFilter::WARN,
        quiet => quiet,
    };
    // What peers and REST users can cause, libp2p calls a warning; this project counts it instead.
    let network = if own >= LevelFilter::DEBUG { dependencies } else { own.min(LevelFilter::ERROR) };
    Targets::new().with_target(OWN_TARGETS, own).with_target(NETWORK_TARGETS, network).with_default(dependencies)
}

fn layer<S, F, W>(filter: F, format: LogFormat, is_coloured: bool, writer: W) -> Box<dyn Layer<S> + Send + Sync>
where
    F: Filter<S> + Send + Sync + 'static,
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let lines = fmt::layer().with_writer(writer).with_ansi(is_coloured);
    match format {
        LogFormat::Text => lines.compact().with_filter(filter).boxed(),
        LogFormat::Json => lines.json().with_ansi(false).flatten_event(true).with_filter(filter).boxed(),
    }
}

/// The targets of events are module paths, which in all crates of the project begin so.
const OWN_TARGETS: &str = "levada";

/// The targets of libp2p's crates.
const NETWORK_TARGETS: &str = "libp2p";

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(level: LogLevel, format: LogFormat, events: impl FnOnce()) -> String {
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber =
            tracing_subscriber::registry().with(layer(filter(level), format, false, move || writer.clone()));
        tracing::subscriber::with_default(subscriber, events);
        let bytes = lines.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn text_is_one_line_without_colours() {
        let text = logged(LogLevel::Info, LogFormat::Text, || {
            tracing::info!(target: "levada::test", port = 60000, "listening");
        });
        assert_eq!(text.lines().count(), 1);
        assert!(text.contains("INFO") && text.contains("listening") && text.contains("port=60000"), "{text}");
        assert!(!text.contains('\u{1b}'));
    }

    #[test]
    fn json_is_one_object_per_line() {
        let text = logged(LogLevel::Info, LogFormat::Json, || {
            tracing::info!(target: "levada::test", port = 60000, "listening");
            tracing::warn!(target: "levada_net", "slow");
        });
        let objects: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(objects.len(), 2);
        assert_eq!(objects[0]["message"], "listening");
        assert_eq!(objects[0]["port"], 60000);
        assert_eq!(objects[1]["level"], "WARN");
    }

    #[test]
    fn levels_hide_what_is_below_them_and_quieten_dependencies() {
        let events = || {
            tracing::debug!(target: "levada_wire", "own debug");
            tracing::info!(target: "levada_wire", "own info");
            tracing::info!(target: "yamux", "their info");
            tracing::warn!(target: "yamux", "their warning");
            tracing::error!(target: "levada", "own error");
        };
        for (level, count) in [
            (LogLevel::Trace, 5),
            (LogLevel::Debug, 5),
            (LogLevel::Info, 3),
            (LogLevel::Notice, 3),
            (LogLevel::Warn, 2),
            (LogLevel::Error, 1),
            (LogLevel::Fatal, 1),
            (LogLevel::None, 0),
        ] {
            assert_eq!(logged(level, LogFormat::Text, events).lines().count(), count, "{level}");
        }
    }
}
