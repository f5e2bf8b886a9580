//! How many threads connections are spread over, and which cores these get.

use levada_engine::{Affinity, Cores};

use crate::topology::PathWorkers;

/// Network workers at most, unless more are asked for: one relay router does not keep more busy.
const WORKERS_MAX: usize = 4;

/// The network workers beside those of the path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NetWorkers {
    pub count: usize,
    /// A core for each; none where they would share cores with the path, and then the system decides.
    pub cores: Vec<usize>,
}

impl NetWorkers {
    /// As many as are `asked` for; else one for each core that the path leaves, or if that is only one, for each core there is.
    pub fn new(asked: Option<usize>, path: &PathWorkers, cores: &Cores) -> Self {
        let lanes = path.lanes;
        let (all, left) = (cores.count(), cores.count().saturating_sub(lanes));
        let count = asked.unwrap_or(if left >= 2 { left } else { all }.min(WORKERS_MAX));
        let taken: Vec<usize> = match &path.affinity {
            Affinity::Auto => cores.allowed.iter().copied().take(lanes).collect(),
            Affinity::Places(places) => places.iter().take(lanes).filter_map(|place| place.core()).collect(),
        };
        let free: Vec<usize> = cores.allowed.iter().copied().filter(|core| !taken.contains(core)).collect();
        let own = free.get(..count).filter(|_| count <= left);
        Self { count, cores: own.unwrap_or_default().to_vec() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_get_cores_that_the_path_leaves_or_float_on_all() {
        let place = |asked, lanes, allowed: &[usize], quota| {
            let NetWorkers { count, cores } =
                NetWorkers::new(asked, &PathWorkers::new(lanes), &Cores { allowed: allowed.to_vec(), quota });
            (count, cores)
        };
        assert_eq!(place(None, 1, &[0], 1), (1, vec![]));
        assert_eq!(place(None, 1, &[4, 5], 2), (2, vec![]));
        assert_eq!(place(None, 2, &[0, 2, 4, 6], 8), (2, vec![4, 6]));
        assert_eq!(place(None, 4, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 10), (4, vec![4, 5, 6, 7]));
        assert_eq!(place(None, 2, &[0, 1, 2, 3, 4, 5], 3), (3, vec![]), "the quota pays for three");
        assert_eq!(place(Some(1), 1, &[0, 1], 2), (1, vec![1]));
        assert_eq!(place(Some(7), 1, &[0, 1], 2), (7, vec![]));
        assert_eq!(place(None, 1, &[], 4), (3, vec![]), "the system does not tell its cores");
    }

    #[test]
    fn workers_keep_off_the_cores_that_the_path_was_given() {
        let four = Cores { allowed: vec![0, 1, 2, 3], quota: 4 };
        for (affinity, lanes, expected) in [("2", 1, [0, 1, 3].as_slice()), ("1,3", 2, &[0, 2]), ("f2", 2, &[0, 1])] {
            let affinity = affinity.parse().expect("an affinity");
            let path = PathWorkers { affinity, ..PathWorkers::new(lanes) };
            assert_eq!(NetWorkers::new(None, &path, &four).cores, expected);
        }
    }
}
