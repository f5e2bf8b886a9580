//! A small language for which worker runs on which core.
//!
//! | text | means |
//! |---|---|
//! | `auto` | each pinned worker gets the next core of the affinity mask, while the quota lasts |
//! | `0` | core 0 |
//! | `0-10` | cores 0 to 10 |
//! | `0-10/2` | every second of them: 0, 2, 4, 6, 8, 10 |
//! | `f2` | two workers that float, on whatever core the system gives them |
//! | `0-1,f1,3` | all of these one after another |
//!
//! The places go to the pinned workers of a topology in the order in which those were added.

use std::str::FromStr;

use crate::cores::Cores;
use crate::error::AffinityError;
use crate::topology::TopologyError;

/// Most places an affinity can name.
const PLACES_MAX: usize = 1024;

/// Where the pinned workers of a topology run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Affinity {
    /// Each on the next core of the affinity mask while the quota lasts; those beyond float.
    #[default]
    Auto,
    /// One place per worker, in the order in which the workers are added. What is left over stays unused.
    Places(Vec<Place>),
}

/// Where one worker runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Bound to the core of this number.
    Core(usize),
    /// Wherever the system puts it.
    Floating,
}

impl Affinity {
    /// Reads the language of this module. Pure: whether the cores exist is checked where a topology is built.
    ///
    /// # Errors
    /// [`AffinityError`], with the item that is not understood.
    pub fn parse(text: &str) -> Result<Self, AffinityError> {
        let text = text.trim();
        match text {
            "" => return Err(AffinityError::Empty),
            "auto" => return Ok(Self::Auto),
            _ => {}
        }
        let mut places = Vec::new();
        for item in text.split(',') {
            parse_item(item.trim(), &mut places)?;
        }
        Ok(Self::Places(places))
    }

    /// The core of each worker, where it is bound to one. The workers are named in order, pinned ones only.
    pub(crate) fn assign(&self, workers: &[&str], cores: &Cores) -> Result<Vec<Option<usize>>, TopologyError> {
        let Self::Places(places) = self else {
            return Ok((0..workers.len()).map(|worker| cores.usable().get(worker).copied()).collect());
        };
        if places.len() < workers.len() {
            return Err(TopologyError::AffinityTooShort { workers: workers.len(), places: places.len() });
        }
        let assigned: Vec<Option<usize>> = places.iter().take(workers.len()).map(|place| place.core()).collect();
        let unknown = |core: &Option<usize>| core.is_some_and(|core| !cores.allowed.contains(&core));
        if let Some(position) = assigned.iter().position(unknown) {
            let worker = workers[position].to_owned();
            let core = assigned[position].expect("only bound workers are found");
            return Err(TopologyError::CoreNotAllowed { worker, core, allowed: list(&cores.allowed) });
        }
        let mut distinct: Vec<usize> = assigned.iter().flatten().copied().collect();
        distinct.sort_unstable();
        distinct.dedup();
        if distinct.len() > cores.quota {
            return Err(TopologyError::CoresBeyondQuota { cores: list(&distinct), quota: cores.quota });
        }
        Ok(assigned)
    }
}

impl Place {
    /// The number of the core, if the worker is bound to one.
    pub fn core(self) -> Option<usize> {
        match self {
            Self::Core(core) => Some(core),
            Self::Floating => None,
        }
    }
}

impl FromStr for Affinity {
    type Err = AffinityError;

    fn from_str(text: &str) -> Result<Self, AffinityError> {
        Self::parse(text)
    }
}

fn parse_item(item: &str, places: &mut Vec<Place>) -> Result<(), AffinityError> {
    let wrong = || AffinityError::Item { item: item.to_owned() };
    let number = |text: &str| {
        // `parse` would take a sign as well.
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse::<usize>().ok()).flatten().ok_or_else(wrong)
    };
    let room = PLACES_MAX - places.len();
    let too_many = || AffinityError::TooMany { places_max: PLACES_MAX };
    if let Some(count) = item.strip_prefix('f') {
        let count = number(count)?;
        if count == 0 {
            return Err(wrong());
        }
        if count > room {
            return Err(too_many());
        }
        places.extend((0..count).map(|_| Place::Floating));
        return Ok(());
    }
    let (range, stride) = match item.split_once('/') {
        Some((range, stride)) => (range, number(stride)?),
        None => (item, 1),
    };
    let (first, last) = match range.split_once('-') {
        Some((first, last)) => (number(first)?, number(last)?),
        // A stride needs a range to stride over.
        None if item.contains('/') => return Err(wrong()),
        None => (number(range)?, number(range)?),
    };
    if stride == 0 || first > last {
        return Err(wrong());
    }
    if (last - first) / stride >= room {
        return Err(too_many());
    }
    places.extend((first..=last).step_by(stride).map(Place::Core));
    Ok(())
}

/// Numbers as a reader wants them: `0, 1, 5`.
fn list(cores: &[usize]) -> String {
    cores.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn cores(allowed: &[usize], quota: usize) -> Cores {
        Cores { allowed: allowed.to_vec(), quota }
    }

    fn assign(text: &str, workers: usize, cores: &Cores) -> Result<Vec<Option<usize>>, TopologyError> {
        let names = ["w0", "w1", "w2", "w3"];
        Affinity::parse(text).expect("a right affinity").assign(&names[..workers], cores)
    }

    #[test]
    fn auto_follows_the_mask_and_keeps_to_the_quota() {
        let four = cores(&[2, 3, 6, 7], 8);
        assert_eq!(assign("auto", 4, &four), Ok(vec![Some(2), Some(3), Some(6), Some(7)]));
        assert_eq!(assign("auto", 3, &cores(&[2, 3, 6, 7], 2)), Ok(vec![Some(2), Some(3), None]));
        assert_eq!(assign("auto", 1, &cores(&[], 2)), Ok(vec![None]), "the system does not tell");
        assert_eq!(assign("auto", 0, &four), Ok(vec![]));
    }

    #[test]
    fn places_go_to_workers_in_order() {
        let four = cores(&[0, 1, 2, 3], 4);
        assert_eq!(assign("3,f1,0", 3, &four), Ok(vec![Some(3), None, Some(0)]));
        assert_eq!(assign("1,1", 2, &four), Ok(vec![Some(1), Some(1)]), "two workers may share a core");
        assert_eq!(assign("0-3", 1, &four), Ok(vec![Some(0)]), "what is left over stays unused");
    }

    #[test]
    fn cores_outside_mask_or_quota_are_refused() {
        let two = cores(&[4, 5], 2);
        let refused = TopologyError::CoreNotAllowed { worker: "w1".to_owned(), core: 0, allowed: "4, 5".to_owned() };
        assert_eq!(assign("4,0", 2, &two), Err(refused));
        assert_eq!(assign("4,0", 1, &two), Ok(vec![Some(4)]), "nobody uses core 0");
        let beyond = TopologyError::CoresBeyondQuota { cores: "0, 3".to_owned(), quota: 1 };
        assert_eq!(assign("3,0,3", 3, &cores(&[0, 1, 2, 3], 1)), Err(beyond));
        assert_eq!(assign("3,3,f1", 3, &cores(&[0, 1, 2, 3], 1)), Ok(vec![Some(3), Some(3), None]));
        let short = TopologyError::AffinityTooShort { workers: 3, places: 2 };
        assert_eq!(assign("4-5", 3, &two), Err(short));
    }
}
