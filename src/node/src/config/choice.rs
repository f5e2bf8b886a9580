//! The closed sets of words a key may take, each declared once with its spelling.

/// Declares an enum whose variants are spelled in exactly one way on the command line, in the environment and in TOML.
macro_rules! choice {
    ($(#[$meta:meta])* $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$variant_meta])* $variant,)+ }

        impl $name {
            /// Every accepted word, in the order in which help and error messages list them.
            pub const NAMES: &'static [&'static str] = &[$($text),+];

            /// The variant spelled `text`, in any mixture of cases; `None` for any other word.
            pub fn named(text: &str) -> Option<Self> {
                $(if text.eq_ignore_ascii_case($text) { return Some(Self::$variant); })+
                None
            }

            /// The canonical spelling.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

pub(crate) use choice;

choice! {
    /// How much is logged, in nwaku's words; each level includes those below it in this list.
    LogLevel {
        /// Every step, message by message.
        Trace = "TRACE",
        /// What a developer needs to follow a fault.
        Debug = "DEBUG",
        /// What an operator wants to see of a healthy node.
        Info = "INFO",
        /// nwaku's level between INFO and WARN; logged as INFO, since nothing asked for may be hidden.
        Notice = "NOTICE",
        /// What may need attention.
        Warn = "WARN",
        /// What failed.
        Error = "ERROR",
        /// What stops the node; logged as ERROR.
        Fatal = "FATAL",
        /// Nothing.
        None = "NONE",
    }
}

choice! {
    /// The shape of a log line.
    LogFormat {
        /// One human-readable line per event.
        Text = "TEXT",
        /// One JSON object per line.
        Json = "JSON",
    }
}

choice! {
    /// How a worker without work waits: latency against idle CPU.
    WaitPreset {
        /// Spins briefly, then yields, then sleeps until woken.
        Balanced = "balanced",
        /// Sleeps as soon as there is no work.
        Eco = "eco",
        /// Never sleeps; burns its core for the lowest latency.
        Spin = "spin",
    }
}

choice! {
    /// Whose Noise, yamux and mplex secure and divide connections.
    Transport {
        /// The node's own.
        Levada = "levada",
        /// rust-libp2p's.
        Stock = "stock",
    }
}

impl From<Transport> for levada_net::TransportKind {
    fn from(transport: Transport) -> Self {
        match transport {
            Transport::Levada => Self::Levada,
            Transport::Stock => Self::Stock,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_any_case_and_spelled_canonically() {
        assert_eq!(LogLevel::named("notice"), Some(LogLevel::Notice));
        assert_eq!(LogFormat::named("json").map(LogFormat::name), Some("JSON"));
        assert_eq!(WaitPreset::named("ECO").map(WaitPreset::name), Some("eco"));
        assert_eq!(LogLevel::named("LOUD"), None);
        assert_eq!(LogLevel::named(""), None);
    }

    #[test]
    fn every_name_names_a_variant() {
        for name in LogLevel::NAMES {
            assert_eq!(LogLevel::named(name).map(LogLevel::name), Some(*name));
        }
    }
}
