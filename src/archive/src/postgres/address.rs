//! Where a PostgreSQL archive is.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::tls::Tls;

/// Time a connection may take to be made, unless the URL says otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A URL `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, with the parameters that libpq knows. `sslmode` is `disable`, `prefer`, which
/// is the default, `require` or `verify-full`, to which `sslrootcert` may name a PEM file. What it shows of itself has no password.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresUrl {
    config: Box<Config>,
    tls: Tls,
}

/// Why a URL was not understood.
#[derive(Debug, thiserror::Error)]
pub enum PostgresUrlError {
    /// A part that the client does not read.
    #[error(transparent)]
    Client(#[from] tokio_postgres::Error),
    /// `sslmode`, or `sslrootcert` without `verify-full`.
    #[error("sslmode is disable, prefer, require or verify-full, and sslrootcert=FILE goes with verify-full")]
    Tls,
}

impl PostgresUrl {
    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    pub(super) fn tls(&self) -> &Tls {
        &self.tls
    }
}

impl FromStr for PostgresUrl {
    type Err = PostgresUrlError;

    fn from_str(url: &str) -> Result<Self, Self::Err> {
        let (url, tls) = Tls::split(url).ok_or(PostgresUrlError::Tls)?;
        let mut config: Config = url.parse()?;
        config.ssl_mode(tls.ssl_mode());
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if config.get_application_name().is_none() {
            config.application_name("levada");
        }
        Ok(Self { config: Box::new(config), tls })
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
