//! How a scenario is run, how large, and what is printed when it fails.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// How large the scenarios are.
#[derive(Clone, Copy)]
pub struct Scale {
    pub nodes: usize,
    pub messages: u32,
    pub seeds: u64,
}

impl Scale {
    fn of_environment() -> Self {
        if std::env::var_os("LEVADA_DEEP").is_some_and(|deep| deep == "1") {
            Self { nodes: 100, messages: 10_000, seeds: 3 }
        } else {
            Self { nodes: 24, messages: 150, seeds: 2 }
        }
    }

    /// A scenario whose cost grows with the messages of hostile peers runs with fewer of its own.
    pub fn fewer_messages(self, divisor: u32) -> Self {
        Self { messages: (self.messages / divisor).max(20), ..self }
    }
}

/// Runs the scenario with every seed, or the one of the environment.
pub fn with_seeds(name: &str, scenario: impl Fn(u64, Scale)) {
    let scale = Scale::of_environment();
    let wanted = std::env::var("LEVADA_SIM_SEED").ok().map(|seed| seed.parse::<u64>().expect("a seed is a number"));
    for seed in wanted.map_or(1..=scale.seeds, |seed| seed..=seed) {
        let outcome = catch_unwind(AssertUnwindSafe(|| scenario(seed, scale)));
        if let Err(panic) = outcome {
            let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
            let (deep, release) = if scale.nodes == 100 { ("LEVADA_DEEP=1 ", "--release ") } else { ("", "") };
            panic!(
                "{}\nrepeat: {deep}LEVADA_SIM_SEED={seed} cargo test {release}-p levada-router --test simulation {name}",
                text.unwrap_or("the scenario failed")
            );
        }
    }
}
