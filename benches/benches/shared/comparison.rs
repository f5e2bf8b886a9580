//! Rivals beside each other: what each takes, and how many times as long as the first.
//!
//! Criterion compares a bench with its own past. What is wanted here is the rival of the same moment on the same machine:
//! before every sample of a rival the first one runs as often, and the table after each group shows the median of the
//! quotients. Whatever stands in one table must have done the same work. Samples during which a thread was switched out against its
//! will do not count, and a row with more of those than others, or of a machine that was busy, is not recorded.

use std::io::Write;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, SamplingMode, Throughput};
use levada_benches::machine::{Disturbance, Watch, involuntary_switches_ever};

/// What a routine took, and a digest of what came out of one iteration.
#[derive(Debug, Clone, Copy)]
pub struct Timed {
    pub elapsed: Duration,
    pub work: u64,
}

/// Runs as many iterations as it is asked to.
type Routine<'r> = Box<dyn FnMut(u64) -> Timed + 'r>;

/// A criterion group that ends in a table.
pub struct Comparison<'r> {
    name: String,
    group: BenchmarkGroup<'r, WallTime>,
    elements: u64,
    first: Option<Routine<'r>>,
    rows: Vec<Row>,
}

struct Row {
    name: String,
    samples: Vec<Sample>,
    machine: Disturbance,
}

struct Sample {
    iterations: u64,
    ns_per_element: f64,
    times_the_first: f64,
    /// How often threads of this process were switched out against their will meanwhile.
    switches: u64,
}

impl<'r> Comparison<'r> {
    /// A group whose iterations are worth `elements` each. Short: the table is about factors, not about per cents.
    pub fn new(criterion: &'r mut Criterion, name: &str, elements: u64) -> Self {
        let mut group = criterion.benchmark_group(name);
        group.sample_size(15).sampling_mode(SamplingMode::Flat).throughput(Throughput::Elements(elements));
        group.warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_secs(1));
        Self { name: name.to_owned(), group, elements, first: None, rows: Vec::new() }
    }

    /// Measures one rival; the first is the measure of the others.
    pub fn bench(&mut self, name: &str, mut routine: impl FnMut(u64) -> Timed + 'r) {
        let (mut samples, elements) = (Vec::new(), self.elements as f64);
        let (first, group) = (&mut self.first, &self.name);
        let watch = Watch::begin();
        self.group.bench_function(name, |bencher| {
            bencher.iter_custom(|iterations| {
                let switches = involuntary_switches_ever();
                let before = first.as_mut().map(|first| first(iterations));
                let own = routine(iterations);
                let first = before.unwrap_or(own);
                assert_eq!(own.work, first.work, "{group}/{name} does other work than the first");
                samples.push(Sample {
                    iterations,
                    ns_per_element: own.elapsed.as_nanos() as f64 / iterations as f64 / elements,
                    times_the_first: own.elapsed.as_nanos() as f64 / first.elapsed.as_nanos().max(1) as f64,
                    switches: involuntary_switches_ever() - switches,
                });
                own.elapsed
            });
        });
        self.first.get_or_insert_with(|| Box::new(routine));
        // A filter on the command line may have left this bench out.
        if !samples.is_empty() {
            self.rows.push(Row { name: name.to_owned(), samples, machine: watch.end() });
        }
    }

    /// Prints the table, unless every bench ran once only, as a test.
    pub fn finish(self) {
        self.group.finish();
        if self.rows.iter().all(|row| row.samples.len() == 1) {
            return;
        }
        let mut table = format!("{}: ns per element, and times the first; median (lowest..highest)\n", self.name);
        for row in &self.rows {
            table += &format!("  {:<26} {}\n", row.name, row.text());
        }
        // A table that nobody can read is no reason to fail.
        let _ = writeln!(std::io::stderr(), "{table}");
    }
}

impl Row {
    /// Its figures, or why there are none.
    fn text(&self) -> String {
        let (proper, switches) = (self.proper(), self.proper().map(|sample| sample.switches).sum::<u64>());
        let kept: Vec<&Sample> = proper.filter(|sample| sample.switches == 0).collect();
        let switched = self.proper().count() - kept.len();
        let machine = Disturbance { switched, kept: kept.len(), ..self.machine };
        if machine.is_too_much() {
            let Disturbance { others_pct, stolen_pct, .. } = machine;
            return format!(
                "not recorded: {switches} involuntary switches, {others_pct:.0} % of the machine used by others, {stolen_pct:.0} % stolen"
            );
        }
        let ns = figures(&kept, 1, |sample| sample.ns_per_element);
        let times = figures(&kept, 2, |sample| sample.times_the_first);
        format!("{ns:<34} {times:<22} {switches} involuntary switches")
    }

    /// The samples that have as many iterations as the last; those before warmed up.
    fn proper(&self) -> impl Iterator<Item = &Sample> {
        let last = self.samples.last().map_or(0, |sample| sample.iterations);
        self.samples.iter().filter(move |sample| sample.iterations == last)
    }
}

/// Median and spread of samples during which no thread was switched out against its will; there is one at least.
fn figures(kept: &[&Sample], digits: usize, of: impl Fn(&Sample) -> f64) -> String {
    let mut values: Vec<f64> = kept.iter().map(|sample| of(sample)).collect();
    values.sort_by(f64::total_cmp);
    let (median, lowest, highest) = (values[values.len() / 2], values[0], values[values.len() - 1]);
    format!("{median:.digits$} ({lowest:.digits$}..{highest:.digits$})")
}
