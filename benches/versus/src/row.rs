//! A row of the report: contestants that take turns, and what came of it.

use serde::Serialize;

use crate::machine::{Disturbance, Watch};
use crate::pair::Sample;

/// A row as it is printed and kept.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// What was measured.
    pub measure: String,
    /// Of `ours` and `rival`.
    pub unit: String,
    /// Our median.
    pub ours: f64,
    /// The median of the best rival; none where the limit is absolute.
    pub rival: Option<f64>,
    /// Its name.
    pub rival_name: Option<String>,
    /// How many times better than the rival we are, whichever direction better is in; none where the limit is absolute.
    pub ratio: Option<f64>,
    /// The middle half of the ratios of one round each, from end to end, in per cent of their median; of our samples where
    /// there is no rival.
    pub spread_pct: f64,
    /// The least ratio, or the limit itself where it is absolute.
    pub bar: f64,
    /// The bar is reached.
    pub holds: bool,
    /// For the table alone: how busy the machine was, and all rivals.
    #[serde(skip)]
    pub machine: Disturbance,
    /// For the table alone: threads share cores and are switched out all the time, which throws no sample away: how often that was
    /// in the samples kept.
    #[serde(skip)]
    pub switches: Option<u64>,
    /// For the table alone: every contestant with its median.
    #[serde(skip)]
    pub all: Vec<(String, f64)>,
}

/// One who takes part, and how a sample of it is taken.
pub struct Contestant<'a> {
    name: String,
    sample: Box<dyn FnMut() -> Sample + 'a>,
}

/// A contest; the first contestant is ours.
pub struct Contest<'a> {
    measure: &'static str,
    unit: &'static str,
    bar: f64,
    contestants: Vec<Contestant<'a>>,
    tolerates_switches: bool,
}

/// Samples thrown away per sample kept before a disturbed one is taken as it is.
const RETRIES_MAX: usize = 4;

impl<'a> Contest<'a> {
    /// Lower figures are better.
    pub fn new(measure: &'static str, unit: &'static str, bar: f64) -> Self {
        Self { measure, unit, bar, contestants: Vec::new(), tolerates_switches: false }
    }

    /// Threads that share cores are switched out all the time: that throws no sample away.
    pub fn tolerate_switches(mut self) -> Self {
        self.tolerates_switches = true;
        self
    }

    /// Adds a contestant.
    pub fn with(mut self, name: &str, sample: impl FnMut() -> Sample + 'a) -> Self {
        self.contestants.push(Contestant { name: name.to_owned(), sample: Box::new(sample) });
        self
    }

    /// Lets all take turns, `rounds` times after one to warm up.
    pub fn run(mut self, rounds: usize) -> Row {
        let watch = Watch::begin();
        let (mut switched, mut kept, mut switches) = (0, 0, 0);
        let mut samples: Vec<Vec<f64>> = self.contestants.iter().map(|_| Vec::new()).collect();
        for contestant in &mut self.contestants {
            (contestant.sample)();
        }
        for _ in 0..rounds {
            for (contestant, samples) in self.contestants.iter_mut().zip(&mut samples) {
                let mut sample = (contestant.sample)();
                let mut retries = 0;
                while sample.switches > 0 && !self.tolerates_switches && retries < RETRIES_MAX {
                    (switched, retries) = (switched + 1, retries + 1);
                    sample = (contestant.sample)();
                }
                kept += 1;
                switches += sample.switches;
                samples.push(sample.value);
            }
        }
        let machine = Disturbance { switched, kept, ..watch.end() };
        let names = self.contestants.into_iter().map(|contestant| contestant.name);
        let samples = names.zip(samples).collect();
        Row {
            switches: self.tolerates_switches.then_some(switches),
            ..contested(self.measure, self.unit, self.bar, samples, machine)
        }
    }
}

impl Row {
    /// Says what came out as soon as it has: the report comes with the last row, and some take minutes.
    fn told(self) -> Self {
        let Self { measure, unit, ours, bar, .. } = &self;
        match (self.ratio, &self.rival_name) {
            (Some(ratio), Some(rival)) => {
                eprintln!("  {measure}: {ours:.2} {unit}, {ratio:.2} times as good as {rival}, bar {bar}");
            }
            _ => eprintln!("  {measure}: {ours:.2} {unit}, limit {bar}"),
        }
        self
    }
}

/// A row from the samples of all contestants, ours first, as many of each, those of one round at the same place. Lower
/// figures are better.
pub fn contested(
    measure: &'static str,
    unit: &'static str,
    bar: f64,
    samples: Vec<(String, Vec<f64>)>,
    machine: Disturbance,
) -> Row {
    let all: Vec<(String, f64)> =
        samples.iter().map(|(name, samples)| (name.clone(), quantile(samples.clone(), 0.5))).collect();
    let best = (1..all.len()).min_by(|a, b| all[*a].1.total_cmp(&all[*b].1)).expect("a contest has a rival");
    let (ours, rival) = (all[0].1, all[best].1);
    let of_rounds = samples[0].1.iter().zip(&samples[best].1).map(|(ours, rival)| rival / ours).collect();
    Row {
        measure: measure.to_owned(),
        unit: unit.to_owned(),
        ours,
        rival: Some(rival),
        rival_name: Some(all[best].0.clone()),
        ratio: Some(rival / ours),
        spread_pct: spread(of_rounds),
        bar,
        holds: rival / ours >= bar,
        machine,
        switches: None,
        all,
    }
    .told()
}

/// A row without a rival: the figure must not exceed `limit`.
pub fn absolute(
    measure: &'static str,
    unit: &'static str,
    limit: f64,
    rounds: usize,
    mut sample: impl FnMut() -> f64,
) -> Row {
    let watch = Watch::begin();
    let samples: Vec<f64> = (0..rounds).map(|_| sample()).collect();
    let ours = quantile(samples.clone(), 0.5);
    Row {
        measure: measure.to_owned(),
        unit: unit.to_owned(),
        ours,
        rival: None,
        rival_name: None,
        ratio: None,
        spread_pct: spread(samples),
        bar: limit,
        holds: ours <= limit,
        machine: Disturbance { kept: rounds, ..watch.end() },
        switches: None,
        all: Vec::new(),
    }
    .told()
}

fn quantile(mut samples: Vec<f64>, part: f64) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[((samples.len() - 1) as f64 * part).round() as usize]
}

fn spread(samples: Vec<f64>) -> f64 {
    let [low, middle, high] = [0.25, 0.5, 0.75].map(|part| quantile(samples.clone(), part));
    if middle == 0.0 { 0.0 } else { (high - low) * 100.0 / middle }
}
