//! `--rate-limit`: how many requests a service answers, as nwaku writes it: `filter:30/1m`, or `100/1s` for all services that have none.

use std::time::Duration;

use levada_net::exchange::{RateLimit, RateScope};

/// A service whose requests can be limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// Store, version 3.
    Store,
    /// Lightpush, both versions.
    Lightpush,
    /// Peer exchange.
    PeerExchange,
    /// Filter, where each peer is limited by itself.
    Filter,
}

/// The limits of all services. By default filter has 30 requests a minute from each peer, and the others have none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RateLimits(Vec<Entry>);

/// What one value of the key says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    subject: Subject,
    requests: u32,
    period: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    Service(Service),
    /// Store version 2, which this node does not have.
    OldStore,
    /// Services without a limit of their own.
    Others,
}

const FILTER_DEFAULT: RateLimit = RateLimit { requests: 30, period: Duration::from_secs(60), scope: RateScope::Peer };

impl Entry {
    /// Reads `[SERVICE:]REQUESTS/PERIOD`, with the unit h, m, s or ms behind the period.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.to_ascii_lowercase();
        let (subject, limit) = match text.split_once(':') {
            Some((name, limit)) => (Subject::named(name.trim())?, limit),
            None => (Subject::Others, &*text),
        };
        let (requests, period) = limit.split_once('/')?;
        let digits = period.trim().find(|letter: char| !letter.is_ascii_digit())?;
        let (number, unit) = period.trim().split_at(digits);
        let number: u32 = number.parse().ok()?;
        let period = match unit.trim() {
            "h" => Duration::from_secs(u64::from(number) * 3_600),
            "m" => Duration::from_secs(u64::from(number) * 60),
            "s" => Duration::from_secs(u64::from(number)),
            "ms" => Duration::from_millis(u64::from(number)),
            _ => return None,
        };
        let requests = requests.trim();
        let is_whole = !requests.is_empty() && requests.bytes().all(|byte| byte.is_ascii_digit());
        Some(Self { subject, requests: requests.parse().ok().filter(|_| is_whole)?, period })
    }
}

impl Subject {
    fn named(name: &str) -> Option<Self> {
        match name {
            "store" | "storev3" => Some(Self::Service(Service::Store)),
            "storev2" => Some(Self::OldStore),
            "lightpush" => Some(Self::Service(Service::Lightpush)),
            "px" => Some(Self::Service(Service::PeerExchange)),
            "filter" => Some(Self::Service(Service::Filter)),
            _ => None,
        }
    }
}

impl RateLimits {
    /// The limits that these texts, which parse, describe.
    pub(super) fn of(texts: &[String]) -> Self {
        Self(texts.iter().filter_map(|text| Entry::parse(text)).collect())
    }

    /// The limit of a service; none if all its requests are answered. Of several values the last counts, and one for the service before
    /// one for all. No request or no time means no limit, as in nwaku.
    pub fn limit(&self, service: Service) -> Option<RateLimit> {
        let last = |subject| self.0.iter().rev().find(|entry| entry.subject == subject);
        let scope = if service == Service::Filter { RateScope::Peer } else { RateScope::Everybody };
        let entry = match (last(Subject::Service(service)), service) {
            (Some(entry), _) => entry,
            // nwaku's default for filter stands before the limit for all others.
            (None, Service::Filter) => return Some(FILTER_DEFAULT),
            (None, _) => last(Subject::Others)?,
        };
        let is_limited = entry.requests > 0 && !entry.period.is_zero();
        is_limited.then_some(RateLimit { requests: entry.requests, period: entry.period, scope })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(texts: &[&str]) -> [Option<(u32, u128)>; 4] {
        let limits = RateLimits::of(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
        [Service::Store, Service::Lightpush, Service::PeerExchange, Service::Filter]
            .map(|service| limits.limit(service).map(|limit| (limit.requests, limit.period.as_millis())))
    }

    #[test]
    fn nwakus_forms() {
        let filter = Some((30, 60_000));
        assert_eq!(limits(&[]), [None, None, None, filter]);
        assert_eq!(limits(&["100/1s"]), [Some((100, 1_000)), Some((100, 1_000)), Some((100, 1_000)), filter]);
        let named = limits(&["lightpush:5/2m", " PX : 7 / 3 h ", "storev3:1/500ms", "filter:60/1m"]);
        assert_eq!(named, [Some((1, 500)), Some((5, 120_000)), Some((7, 10_800_000)), Some((60, 60_000))]);
        assert_eq!(limits(&["store:1/1s", "store:2/1s", "9/1s"])[..2], [Some((2, 1_000)), Some((9, 1_000))]);
        assert_eq!(limits(&["storev2:1/1s", "filter:0/1m", "px:5/0s"]), [None; 4]);
        assert_eq!(RateLimits::default().limit(Service::Filter).map(|limit| limit.scope), Some(RateScope::Peer));
    }

    #[test]
    fn what_is_no_limit() {
        for text in [
            "",
            "10",
            "10/",
            "/1s",
            "10/1",
            "10/s",
            "10/1d",
            "relay:1/1s",
            "store:",
            "-1/1s",
            "+1/1s",
            "1/+1s",
            "1.5/1s",
            "99999999999/1s",
            "filter:filter:1/1s",
        ] {
            assert_eq!(Entry::parse(text), None, "{text:?}");
        }
    }
}
