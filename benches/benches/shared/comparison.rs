//! Rivals beside each other: what each was measured to take, and how many times the first it is.
//!
//! Criterion compares a bench with its own past. What is wanted here is the rival of the same minute on the same machine,
//! so every sample is kept, and a table follows each group. Whatever stands in one table must have done the same work.

use std::io::Write;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, SamplingMode, Throughput};

/// What a routine took, and a digest of what came out of one iteration.
#[derive(Debug, Clone, Copy)]
pub struct Timed {
    pub elapsed: Duration,
    pub work: u64,
}

/// Runs `iteration` as often as criterion asks, and times the whole.
pub fn timed(iterations: u64, mut iteration: impl FnMut() -> u64) -> Timed {
    let (started, mut work) = (std::time::Instant::now(), 0);
    for _ in 0..iterations {
        work = std::hint::black_box(iteration());
    }
    Timed { elapsed: started.elapsed(), work }
}

/// A criterion group that ends in a table.
pub struct Comparison<'c> {
    name: String,
    group: BenchmarkGroup<'c, WallTime>,
    elements: u64,
    rows: Vec<Row>,
    work: Option<u64>,
}

struct Row {
    name: String,
    /// Iterations and nanoseconds per element of every sample, those for warm-up included.
    samples: Vec<(u64, f64)>,
}

impl<'c> Comparison<'c> {
    /// A group whose iterations are worth `elements` each. Short: the table is about factors, not about per cents.
    pub fn new(criterion: &'c mut Criterion, name: &str, elements: u64) -> Self {
        let mut group = criterion.benchmark_group(name);
        group.sample_size(10).sampling_mode(SamplingMode::Flat).throughput(Throughput::Elements(elements));
        group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
        Self { name: name.to_owned(), group, elements, rows: Vec::new(), work: None }
    }

    /// Measures one rival; the first is the measure of the others.
    pub fn bench(&mut self, name: &str, mut routine: impl FnMut(u64) -> Timed) {
        let (mut samples, mut work, elements) = (Vec::new(), 0, self.elements as f64);
        self.group.bench_function(name, |bencher| {
            bencher.iter_custom(|iterations| {
                let timed = routine(iterations);
                samples.push((iterations, timed.elapsed.as_nanos() as f64 / iterations as f64 / elements));
                work = timed.work;
                timed.elapsed
            });
        });
        // A filter on the command line may have left this bench out.
        if !samples.is_empty() {
            assert_eq!(*self.work.get_or_insert(work), work, "{}/{name} does other work than its rivals", self.name);
            self.rows.push(Row { name: name.to_owned(), samples });
        }
    }

    /// Prints the table, unless every bench ran once only, as a test.
    pub fn finish(self) {
        self.group.finish();
        let figures: Vec<Figures> = self.rows.iter().map(Figures::of).collect();
        let Some(first) = figures.first().filter(|first| first.samples > 1) else { return };
        let mut table = format!("{}: ns per element, median (lowest..highest), and times the first\n", self.name);
        for (row, figures) in self.rows.iter().zip(&figures) {
            let (spread, times) = (format!("({:.1}..{:.1})", figures.lowest, figures.highest), figures.median / first.median);
            table += &format!("  {:<28} {:>10.1} {spread:<24} {times:>8.2}\n", row.name, figures.median);
        }
        table += &format!("  work {:016x}\n\n", self.work.unwrap_or_default());
        // A table that nobody can read is no reason to fail.
        let _ = std::io::stderr().write_all(table.as_bytes());
    }
}

struct Figures {
    samples: usize,
    median: f64,
    lowest: f64,
    highest: f64,
}

impl Figures {
    /// Of the samples proper, which all have as many iterations as the last one.
    fn of(row: &Row) -> Self {
        let last = row.samples.last().map_or(0, |(iterations, _)| *iterations);
        let proper = row.samples.iter().filter(|(iterations, _)| *iterations == last);
        let mut ns: Vec<f64> = proper.map(|(_, ns)| *ns).collect();
        ns.sort_by(f64::total_cmp);
        Self { samples: ns.len(), median: ns[ns.len() / 2], lowest: ns[0], highest: ns[ns.len() - 1] }
    }
}
