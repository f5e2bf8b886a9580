//! How many of the connections are for relay (`--relay-service-ratio`, `--max-relay-peers`).

use super::settings::Settings;

/// The parts of relay and of services, of a hundred together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    relay_percent: f64,
}

impl Ratio {
    /// Reads `RELAY:SERVICES`, such as `60:40` or `12.5:87.5`; `None` unless the two make a hundred.
    pub fn parse(text: &str) -> Option<Self> {
        let (relay, services) = text.split_once(':')?;
        let percent = |part: &str| {
            let is_plain = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
            is_plain.then(|| part.parse::<f64>().ok()).flatten()
        };
        let (relay_percent, services) = (percent(relay)?, percent(services)?);
        ((relay_percent + services - 100.0).abs() < 1e-6).then_some(Self { relay_percent })
    }

    /// The part of relay, rounded up as nwaku does.
    pub fn relay_peers(self, connections: u32) -> u32 {
        // To the millionth first, or 7 of a hundred would be 8.
        let millionths = (f64::from(connections) * self.relay_percent * 1e4).round();
        ((millionths / 1e6).ceil() as u32).min(connections)
    }
}

/// The most relay peers: the older of the two flags wins where it is given, as with nwaku.
pub(super) fn relay_peers_max(settings: &Settings) -> u32 {
    let connections = settings.number("max-connections");
    if let Some(most) = settings.numbers::<u32>("max-relay-peers").pop() {
        return most.min(connections);
    }
    Ratio::parse(settings.text("relay-service-ratio")).map_or(connections, |ratio| ratio.relay_peers(connections))
}

#[cfg(test)]
mod tests {
    use super::Ratio;

    #[test]
    fn the_part_of_relay_is_rounded_up() {
        let peers = |text: &str, connections| Ratio::parse(text).map(|ratio| ratio.relay_peers(connections));
        for (text, connections, expected) in [
            ("50:50", 150, 75),
            ("60:40", 150, 90),
            ("7:93", 100, 7),
            ("33.3:66.7", 10, 4),
            ("0:100", 9, 0),
            ("100:0", 9, 9),
        ] {
            assert_eq!(peers(text, connections), Some(expected), "{text} of {connections}");
        }
        for text in ["", "50", "50:", ":50", "50:51", "-1:101", "1e2:0", "50:50:0", "nan:0", "50 : 50"] {
            assert_eq!(peers(text, 100), None, "{text}");
        }
    }
}
