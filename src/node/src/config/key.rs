//! What one configuration key is: its name, the values it takes, and whether this version acts on it.

use super::kind::Kind;

/// One declared key. From this declaration come the flag, its environment twins, its TOML key, its help and its checks.
#[derive(Debug)]
pub struct Key {
    /// The name in kebab-case: `--name`, `name = …` in TOML, `LEVADA_NAME` in the environment.
    pub name: &'static str,
    /// Which values it takes.
    pub kind: Kind,
    /// The default as text, comma separated for a repeatable key; `None` when the key is simply absent by default.
    pub default: Option<&'static str>,
    /// The heading under which help and printed configurations list it.
    pub group: Group,
    /// One or two sentences for the operator.
    pub help: &'static str,
    /// Whether it may be given several times (a list in TOML, comma separated in the environment).
    pub repeatable: bool,
    /// Whether this version acts on it.
    pub effect: Effect,
}

impl Key {
    /// A key that this version acts on, with a default.
    pub const fn new(name: &'static str, kind: Kind, default: &'static str, group: Group, help: &'static str) -> Self {
        Self { name, kind, default: Some(default), group, help, repeatable: false, effect: Effect::Effective }
    }

    /// A key that this version acts on and that is absent unless given.
    pub const fn optional(name: &'static str, kind: Kind, group: Group, help: &'static str) -> Self {
        Self { name, kind, default: None, group, help, repeatable: false, effect: Effect::Effective }
    }

    /// A key of nwaku's that is accepted, so that its configurations start, but not acted on.
    pub const fn accepted(name: &'static str, kind: Kind, group: Group, help: &'static str) -> Self {
        Self { name, kind, default: None, group, help, repeatable: false, effect: Effect::Accepted("") }
    }

    /// The same key, allowed several times.
    pub const fn repeatable(mut self) -> Self {
        self.repeatable = true;
        self
    }

    /// The same accepted key, whose warning goes on to say what follows from its having no effect.
    pub const fn consequence(mut self, sentence: &'static str) -> Self {
        self.effect = Effect::Accepted(sentence);
        self
    }

    /// The same key, which may only be given to say no: whoever gives it for more would believe in a protection that is not there.
    pub const fn refused(mut self, reason: &'static str) -> Self {
        self.effect = Effect::Refused(reason);
        self
    }

    /// Whether this version acts on the key.
    pub const fn is_effective(&self) -> bool {
        matches!(self.effect, Effect::Effective)
    }

    /// The name in the environment, without the `LEVADA_` or `WAKUNODE2_` before it.
    pub fn environment_name(&self) -> String {
        self.name.replace('-', "_").to_ascii_uppercase()
    }

    /// The default as a list of texts: one for a plain key, any number for a repeatable one.
    pub fn default_texts(&self) -> Vec<String> {
        match self.default {
            Some(text) if self.repeatable => text.split(',').map(str::to_owned).collect(),
            Some(text) => vec![text.to_owned()],
            None => Vec::new(),
        }
    }

    /// A given value as it may be shown: secrets are replaced, the rest is quoted and cut to a line's length.
    pub(crate) fn shown(&self, text: &str) -> String {
        if self.kind.is_secret() { "(redacted)".to_owned() } else { quoted(&redact_password(text), SHOWN_CHARS_MAX) }
    }
}

/// Whether this version acts on a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It does.
    Effective,
    /// It only warns; the text, if any, says what follows.
    Accepted(&'static str),
    /// It does not start, since the key asks for a protection that is not there; the text says which, and what to do.
    Refused(&'static str),
}

/// The headings of help and printed configurations, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Which network, cluster and shards.
    Network,
    /// Who the node is and where it listens.
    Endpoints,
    /// Whom it connects to.
    Peers,
    /// The relay protocol.
    Relay,
    /// The archive and the store protocol.
    Store,
    /// Filter and lightpush.
    Services,
    /// The REST and metrics servers.
    Servers,
    /// Finding other peers.
    Discovery,
    /// WebSocket and QUIC.
    Transports,
    /// Logs and limits.
    Logs,
    /// The engine under the node.
    Engine,
    /// Where the configuration comes from.
    Configuration,
    /// What a benchmark runs.
    Workload,
    /// What a benchmark reports.
    Report,
}

impl Group {
    /// Every group, in the order in which they are listed.
    pub const ALL: &'static [Self] = &[
        Self::Configuration,
        Self::Network,
        Self::Endpoints,
        Self::Transports,
        Self::Peers,
        Self::Relay,
        Self::Store,
        Self::Services,
        Self::Servers,
        Self::Discovery,
        Self::Logs,
        Self::Engine,
        Self::Workload,
        Self::Report,
    ];

    /// The heading.
    pub const fn heading(self) -> &'static str {
        match self {
            Self::Network => "Network",
            Self::Endpoints => "Identity and endpoints",
            Self::Peers => "Peers",
            Self::Relay => "Relay",
            Self::Store => "Store",
            Self::Services => "Filter and lightpush",
            Self::Servers => "REST and metrics",
            Self::Discovery => "Discovery",
            Self::Transports => "Transports",
            Self::Logs => "Logs and limits",
            Self::Engine => "Engine",
            Self::Configuration => "Configuration",
            Self::Workload => "Workload",
            Self::Report => "Report",
        }
    }
}

/// A table of keys, in parts.
#[derive(Debug)]
pub struct Table(pub &'static [&'static [Key]]);

impl Table {
    /// Every key, in the order of declaration.
    pub fn keys(&self) -> impl Iterator<Item = &'static Key> + use<> {
        self.0.iter().flat_map(|part| part.iter())
    }

    /// The key of this name.
    pub fn find(&self, name: &str) -> Option<&'static Key> {
        self.keys().find(|key| key.name == name)
    }

    /// The known name nearest to an unknown one.
    pub(crate) fn nearest(&self, name: &str) -> Option<&'static str> {
        super::suggest::nearest(name, self.keys().map(|key| key.name))
    }
}

/// Quotes `text` with control characters escaped, cut to `chars_max` characters.
pub(crate) fn quoted(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// Replaces the password in `scheme://user:password@host…`; any other text is returned as it is.
pub(crate) fn redact_password(text: &str) -> String {
    let parts = text.split_once("://").and_then(|(scheme, rest)| {
        let authority_end = rest.find('/').unwrap_or(rest.len());
        let at = rest[..authority_end].rfind('@')?;
        let (user, _) = rest[..at].split_once(':')?;
        Some(format!("{scheme}://{user}:***{}", &rest[at..]))
    });
    parts.unwrap_or_else(|| text.to_owned())
}

/// An error message stays one readable line whatever was given.
const SHOWN_CHARS_MAX: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_in_urls_are_replaced() {
        assert_eq!(redact_password("postgres://me:hush@db:5432/x"), "postgres://me:***@db:5432/x");
        assert_eq!(redact_password("postgres://me:a@b@db/x"), "postgres://me:***@db/x");
        assert_eq!(redact_password("sqlite://a@b:c"), "sqlite://a@b:c");
        assert_eq!(redact_password("sqlite:///x/y:z@w"), "sqlite:///x/y:z@w");
    }

    #[test]
    fn long_and_odd_values_stay_one_line() {
        assert_eq!(quoted("a\nb", 10), "\"a\\nb\"");
        assert_eq!(quoted(&"é".repeat(20), 3), "\"ééé\"…");
    }
}
