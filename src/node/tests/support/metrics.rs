//! Reading `/metrics`.

use std::net::SocketAddr;

use super::http::Client;

/// One scrape.
pub struct Scrape(String);

impl Scrape {
    pub fn of(address: SocketAddr) -> Self {
        let answer = Client::new(address).get("/metrics");
        assert_eq!(answer.status, 200);
        Self(answer.text().to_owned())
    }

    /// Whether there is such a series, whatever its value.
    pub fn has(&self, series: &str) -> bool {
        self.0.lines().any(|line| line.strip_prefix(series).is_some_and(|rest| rest.starts_with(' ')))
    }

    /// The value of a series that need not be whole.
    pub fn number(&self, series: &str) -> f64 {
        let value = self.0.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        let value = value.unwrap_or_else(|| panic!("no series {series} in\n{}", self.0));
        value.parse().unwrap_or_else(|_| panic!("{series} is {value}, which is no number"))
    }

    /// The value of a series, written as in the text: `name` or `name{label="value"}`.
    pub fn value(&self, series: &str) -> u64 {
        let value = self.0.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        let value = value.unwrap_or_else(|| panic!("no series {series} in\n{}", self.0));
        value.parse().unwrap_or_else(|_| panic!("{series} is {value}, which is no count"))
    }
}
