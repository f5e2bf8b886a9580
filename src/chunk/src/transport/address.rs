//! Where a node of chunks is reached, as a user writes it.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

/// How bytes travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Messages behind their lengths on one connection; neither encrypted nor authenticated.
    Tcp,
    /// One unidirectional stream per message, encrypted; the node is authenticated by its certificate.
    Quic,
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp => "tcp",
            Self::Quic => "quic",
        })
    }
}

/// `tcp://HOST:PORT` or `quic://HOST:PORT`; without a scheme it is TCP.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PeerAddress {
    /// How.
    pub scheme: Scheme,
    /// Where: a name or an IP address, a colon, and a port.
    pub host_and_port: String,
}

/// A text that is no address of a peer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no address of a peer; write tcp://HOST:PORT or quic://HOST:PORT")]
pub struct AddressError(String);

impl FromStr for PeerAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let (scheme, rest) = match text.split_once("://") {
            Some(("tcp", rest)) => (Scheme::Tcp, rest),
            Some(("quic", rest)) => (Scheme::Quic, rest),
            Some(_) => return Err(AddressError(text.to_owned())),
            None => (Scheme::Tcp, text),
        };
        let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port != 0);
        match rest.rsplit_once(':') {
            Some((host, port)) if !host.is_empty() && is_port(port) => {
                Ok(Self { scheme, host_and_port: rest.to_owned() })
            }
            _ => Err(AddressError(text.to_owned())),
        }
    }
}

impl fmt::Display for PeerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.host_and_port)
    }
}

impl PeerAddress {
    /// The address of a socket.
    pub fn of(scheme: Scheme, address: SocketAddr) -> Self {
        Self { scheme, host_and_port: address.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_they_are_written() {
        for (text, shown) in [
            ("tcp://127.0.0.1:9", "tcp://127.0.0.1:9"),
            ("quic://node.example:65535", "quic://node.example:65535"),
            ("[::1]:80", "tcp://[::1]:80"),
        ] {
            assert_eq!(text.parse::<PeerAddress>().unwrap().to_string(), shown);
        }
        for text in ["", ":1", "host", "host:", "host:0", "host:65536", "udp://host:1", "tcp://", "quic://:1"] {
            assert!(text.parse::<PeerAddress>().is_err(), "{text}");
        }
    }
}
