//! Shows of each publishing operation that it is needed: some model fails once its ordering is forgotten.
//!
//! A part of an operation's ordering goes by the name `file function operation part`, as in
//! `ring/index.rs Producer::publish tail.store release`.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use levada_engine::sync::weaken::{Part, Settings, Site, apply};

use crate::sources::{Source, is_word, word};

/// A model, by the name of its test.
pub type Model = (&'static str, fn());

/// A part that none of the models needs, and why it stands nevertheless.
pub type Spared = (&'static str, &'static str);

/// What a file of models proves.
pub struct Proof {
    /// Beginnings of the names of the parts it is about.
    pub about: &'static [&'static str],
    /// Beginnings of names among them that other models are about.
    pub elsewhere: &'static [&'static str],
    /// The models, all of which pass when nothing is forgotten.
    pub models: &'static [Model],
    /// The parts to expect no failure without.
    pub spared: &'static [Spared],
    /// Stand-alone fences publish nothing.
    pub fences_only_exclude: bool,
}

impl Proof {
    /// Fails unless the models meet every part that the source has, and for each but the spared ones a model fails
    /// without it.
    pub fn check(&self) {
        let met: Vec<BTreeSet<Site>> = self.models.iter().map(|(_, model)| self.run(BTreeSet::new(), *model)).collect();
        let sites: BTreeSet<Site> = met.iter().flatten().copied().filter(|site| self.is_about(&name(site))).collect();
        let mut unneeded = BTreeSet::new();
        for site in &sites {
            let meeting = self.models.iter().zip(&met).filter(|(_, met)| met.contains(site)).map(|(model, _)| model);
            let failing = meeting.into_iter().find(|(_, model)| self.fails([*site].into(), *model));
            println!("{} in line {}: needed by {:?}", name(site), site.line, failing.map(|(model, _)| model));
            if failing.is_none() {
                unneeded.insert(name(site));
            }
        }
        let spared: BTreeSet<String> = self.spared.iter().map(|(name, _)| (*name).to_owned()).collect();
        let mut wrong = self.unmet(&sites);
        wrong.extend(unneeded.difference(&spared).map(|name| format!("no model fails without {name}")));
        wrong.extend(spared.difference(&unneeded).map(|name| format!("spared, but needed or gone: {name}")));
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    /// Panics with `... is needed` when the model, which passes as it is, fails without the parts called `wanted`.
    pub fn fails_without(&self, wanted: &str, model: fn()) {
        let weakened: BTreeSet<Site> =
            self.run(BTreeSet::new(), model).into_iter().filter(|site| name(site) == wanted).collect();
        if weakened.is_empty() {
            println!("the model does not meet {wanted}");
            return;
        }
        assert!(!self.fails(weakened, model), "{wanted} is needed");
    }

    fn fails(&self, weakened: BTreeSet<Site>, model: fn()) -> bool {
        catch_unwind(AssertUnwindSafe(|| self.run(weakened, model))).is_err()
    }

    fn run(&self, weakened: BTreeSet<Site>, model: fn()) -> BTreeSet<Site> {
        // A fence that is left out must be missed although the others do all they can.
        let fences_only_exclude = self.fences_only_exclude && weakened.iter().all(|site| site.part != Part::Fence);
        apply(Settings { weakened, fences_only_exclude }, model)
    }

    fn is_about(&self, name: &str) -> bool {
        let among = |beginnings: &[&str]| beginnings.iter().any(|beginning| name.starts_with(beginning));
        among(self.about) && !among(self.elsewhere)
    }

    /// Calls in the source that no model came to.
    fn unmet(&self, sites: &BTreeSet<Site>) -> Vec<String> {
        let mut unmet = Vec::new();
        for source in Source::all() {
            for call in source.publishing_calls() {
                let is_here = |site: &Site| site.line as usize == call.line && is_in(site, &source);
                let place = format!("{} {}", source.path, call.function);
                if self.is_about(&place) && !sites.iter().any(is_here) {
                    unmet.push(format!("no model comes to {place}, line {}", call.line));
                }
            }
        }
        unmet
    }
}

/// Where the operation stands, its name with the last word before it, and which part it is.
fn name(site: &Site) -> String {
    let sources = Source::all();
    let source = sources.iter().find(|source| is_in(site, source)).expect("the file that the compiler names");
    let line =
        source.lines.get(site.line as usize - 1).and_then(|line| line.split_at_checked(site.column as usize - 1));
    let (before, call) = line.expect("the source is the one the models were built from; build them again");
    // A function is called by its path; the name is at the end of it.
    let path = call.split('(').next().unwrap_or_default();
    let method = word(path.rsplit("::").next().unwrap_or_default());
    let receiver = before.strip_suffix('.').map(|before| before.rsplit(|c| !is_word(c)).next().unwrap_or_default());
    let receiver = receiver.map(|receiver| format!("{receiver}.")).unwrap_or_default();
    let part = match site.part {
        Part::Acquire => "acquire",
        Part::Release => "release",
        Part::FailureAcquire => "failure",
        Part::Fence => "whole",
    };
    format!("{} {} {receiver}{method} {part}", source.path, source.function(site.line as usize))
}

fn is_in(site: &Site, source: &Source) -> bool {
    site.file.ends_with(&format!("engine/src/{}", source.path))
}

/// Tests that each name a part, and a model that fails without it.
#[macro_export]
macro_rules! needed {
    ($proof:ident; $($test:ident: $part:literal, $model:ident;)*) => {
        $(
            #[test]
            #[should_panic(expected = "is needed")]
            fn $test() {
                $proof.fails_without($part, $model);
            }
        )*
    };
}
