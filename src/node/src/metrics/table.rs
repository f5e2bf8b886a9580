//! The table of metrics: each is named once, with the source that is read when a scrape comes.

use std::fmt;

use futures::future::BoxFuture;
use levada_engine::Observed;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use super::Value;

/// The labels of one sample: names are fixed, values need not be.
pub type Labels = Vec<(&'static str, String)>;

/// Whether a metric only grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows; `_total` is appended to its name in the scrape.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts durations or sizes by steps; `_bucket`, `_sum` and `_count` are appended to its name in the scrape.
    Histogram,
}

/// All metrics of the node.
///
/// Calls chain, so that the registration reads as a table. The same name may be registered again with other labels:
/// its samples then stand under one heading, with the help of the first. Sources are read on the thread of the scrape
/// and must not block.
#[derive(Debug, Default)]
pub struct Metrics {
    families: Vec<Family>,
    preparations: Preparations,
}

/// What is done before the sources are read.
#[derive(Default)]
pub(super) struct Preparations(pub(super) Vec<Preparation>);

type Preparation = Box<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

struct Family {
    name: &'static str,
    help: &'static str,
    kind: Kind,
    sources: Vec<Source>,
}

enum Source {
    One { labels: Labels, read: Box<dyn Fn() -> Value + Send + Sync> },
    Many(Box<dyn Fn() -> Vec<(Labels, Value)> + Send + Sync>),
}

impl Metrics {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a counter; its scrape name is `name` with `_total` appended.
    #[must_use]
    pub fn counter<V: Into<Value>>(
        self,
        name: &'static str,
        help: &'static str,
        read: impl Fn() -> V + Send + Sync + 'static,
    ) -> Self {
        self.counter_with_labels(name, help, &[], read)
    }

    /// Adds a counter with fixed labels.
    #[must_use]
    pub fn counter_with_labels<V: Into<Value>>(
        self,
        name: &'static str,
        help: &'static str,
        labels: &[(&'static str, &str)],
        read: impl Fn() -> V + Send + Sync + 'static,
    ) -> Self {
        self.add(Kind::Counter, name, help, one(labels, read))
    }

    /// Adds a gauge.
    #[must_use]
    pub fn gauge<V: Into<Value>>(
        self,
        name: &'static str,
        help: &'static str,
        read: impl Fn() -> V + Send + Sync + 'static,
    ) -> Self {
        self.gauge_with_labels(name, help, &[], read)
    }

    /// Adds a gauge with fixed labels.
    #[must_use]
    pub fn gauge_with_labels<V: Into<Value>>(
        self,
        name: &'static str,
        help: &'static str,
        labels: &[(&'static str, &str)],
        read: impl Fn() -> V + Send + Sync + 'static,
    ) -> Self {
        self.add(Kind::Gauge, name, help, one(labels, read))
    }

    /// Adds a histogram with fixed labels.
    #[must_use]
    pub fn histogram_with_labels(
        self,
        name: &'static str,
        help: &'static str,
        labels: &[(&'static str, &str)],
        read: impl Fn() -> Observed + Send + Sync + 'static,
    ) -> Self {
        self.add(Kind::Histogram, name, help, one(labels, read))
    }

    /// Adds a metric whose samples are found at scrape time, each with its labels, which must differ. While there are
    /// none, the metric is absent from the scrape.
    #[must_use]
    pub fn family(
        self,
        kind: Kind,
        name: &'static str,
        help: &'static str,
        read: impl Fn() -> Vec<(Labels, Value)> + Send + Sync + 'static,
    ) -> Self {
        self.add(kind, name, help, Source::Many(Box::new(read)))
    }

    /// Has `prepare` done before each scrape, for sources that need to wait for what they read. It must bound its time.
    #[must_use]
    pub fn before_scrape(mut self, prepare: impl Fn() -> BoxFuture<'static, ()> + Send + Sync + 'static) -> Self {
        self.preparations.0.push(Box::new(prepare));
        self
    }

    /// The registry that a scrape encodes, and what comes before.
    pub(super) fn into_registry(mut self) -> (Registry, Preparations) {
        let mut registry = Registry::default();
        let preparations = std::mem::take(&mut self.preparations);
        registry.register_collector(Box::new(self));
        (registry, preparations)
    }

    fn add(mut self, kind: Kind, name: &'static str, help: &'static str, source: Source) -> Self {
        debug_assert!(is_metric_name(name), "a metric name is of letters, digits, _ and :, and starts with no digit");
        debug_assert!(
            kind != Kind::Counter || !name.ends_with("_total"),
            "_total is appended when a counter is encoded"
        );
        match self.families.iter_mut().find(|family| family.name == name && family.kind == kind) {
            Some(family) => family.sources.push(source),
            None => self.families.push(Family { name, help, kind, sources: vec![source] }),
        }
        self
    }
}

fn one<V: Into<Value>>(labels: &[(&'static str, &str)], read: impl Fn() -> V + Send + Sync + 'static) -> Source {
    let labels = labels.iter().map(|&(name, value)| (name, value.to_owned())).collect();
    Source::One { labels, read: Box::new(move || read().into()) }
}

fn is_metric_name(name: &str) -> bool {
    let starts_well = name.bytes().next().is_some_and(|first| !first.is_ascii_digit());
    starts_well && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b':')
}

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        self.families.iter().try_for_each(|family| family.encode(&mut encoder))
    }
}

impl Family {
    fn encode(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let samples = self.samples();
        if samples.is_empty() {
            return Ok(());
        }
        let metric_type = match self.kind {
            Kind::Counter => MetricType::Counter,
            Kind::Gauge => MetricType::Gauge,
            Kind::Histogram => MetricType::Histogram,
        };
        let mut metric = encoder.encode_descriptor(self.name, self.help, None, metric_type)?;
        for (labels, value) in samples {
            if labels.is_empty() {
                self.encode_value(&mut metric, value)?;
            } else {
                self.encode_value(&mut metric.encode_family(&labels)?, value)?;
            }
        }
        Ok(())
    }

    fn samples(&self) -> Vec<(Labels, Value)> {
        let mut samples = Vec::with_capacity(self.sources.len());
        for source in &self.sources {
            match source {
                Source::One { labels, read } => samples.push((labels.clone(), read())),
                Source::Many(read) => samples.extend(read()),
            }
        }
        samples
    }

    fn encode_value(&self, encoder: &mut MetricEncoder, value: Value) -> fmt::Result {
        match (self.kind, value) {
            (Kind::Counter, Value::Unsigned(value)) => encoder.encode_counter::<NoLabelSet, _, u64>(&value, None),
            (Kind::Counter, Value::Float(value)) => encoder.encode_counter::<NoLabelSet, _, u64>(&value, None),
            // A counter has no sign; a source that counts in a signed type starts at 0 all the same.
            (Kind::Counter, Value::Signed(value)) => {
                encoder.encode_counter::<NoLabelSet, _, u64>(&value.max(0).unsigned_abs(), None)
            }
            (Kind::Gauge, Value::Unsigned(value)) => encoder.encode_gauge(&value),
            (Kind::Gauge, Value::Signed(value)) => encoder.encode_gauge(&value),
            (Kind::Gauge, Value::Float(value)) => encoder.encode_gauge(&value),
            (Kind::Histogram, Value::Observed(observed)) => {
                let (sum, count) = (observed.sum, observed.count());
                encoder.encode_histogram::<NoLabelSet>(sum, count, &observed.steps, None)
            }
            (Kind::Histogram, _) | (_, Value::Observed(_)) => {
                debug_assert!(false, "{}: the value is not of its kind", self.name);
                Ok(())
            }
        }
    }
}

impl fmt::Debug for Preparations {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Preparations").field(&self.0.len()).finish()
    }
}

impl fmt::Debug for Family {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Family").field("name", &self.name).field("kind", &self.kind).finish_non_exhaustive()
    }
}
