//! Where a PostgreSQL archive is.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// Time a connection may take to be made, unless the URL says otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A URL `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, with the parameters that libpq knows. What it shows of itself has no password.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresUrl {
    config: Box<Config>,
}

impl PostgresUrl {
    pub(super) fn config(&self) -> &Config {
        &self.config
    }
}

impl FromStr for PostgresUrl {
    type Err = tokio_postgres::Error;

    fn from_str(url: &str) -> Result<Self, Self::Err> {
        let mut config: Config = url.parse()?;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if config.get_application_name().is_none() {
            config.application_name("levada");
        }
        Ok(Self { config: Box::new(config) })
    }
}

impl fmt::Display for PostgresUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("postgres://")?;
        if let Some(user) = self.config.get_user() {
            write!(formatter, "{user}@")?;
        }
        for (index, host) in self.config.get_hosts().iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            match host {
                Host::Tcp(name) => write!(formatter, "{comma}{name}")?,
                Host::Unix(path) => write!(formatter, "{comma}{}", path.display())?,
            }
            if let Some(port) = self.config.get_ports().get(index) {
                write!(formatter, ":{port}")?;
            }
        }
        write!(formatter, "/{}", self.config.get_dbname().unwrap_or_default())
    }
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}
