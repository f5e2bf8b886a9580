//! The value of every key after precedence: flag, then environment, then file, then default.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use super::error::ConfigError;
use super::key::{Effect, Key, Table};
use super::kind::{Kind, Value};
use super::nat::Nat;
use super::node_key::NodeKey;
use super::source::{Given, Source};

/// One key's value and where it came from. Its `Debug` form shows no secret.
#[derive(Clone)]
pub struct Setting {
    /// The key.
    pub key: &'static Key,
    /// Its texts as given.
    pub(crate) texts: Vec<String>,
    /// Its values: at most one unless the key is repeatable.
    pub values: Vec<Value>,
    /// Where they came from.
    pub source: Source,
    sound: bool,
}

/// Every key's setting.
#[derive(Debug, Clone)]
pub struct Settings(Vec<Setting>);

impl Settings {
    /// Takes each key's values from the first layer that gives any (a list replaces a list, they are never joined), else
    /// from its default. Wrong values go to `errors`.
    pub(crate) fn resolve(table: &Table, layers: &[Vec<Given>], errors: &mut Vec<ConfigError>) -> Self {
        let find = |key: &Key| layers.iter().flatten().find(|given| given.key.name == key.name);
        Self(table.keys().map(|key| Setting::resolve(key, find(key), errors)).collect())
    }

    /// Every setting, in the order of the table.
    pub fn iter(&self) -> impl Iterator<Item = &Setting> {
        self.0.iter()
    }

    /// Where the value of the key `name` came from; `None` if there is no such key.
    pub fn source(&self, name: &str) -> Option<&Source> {
        self.find(name).map(|setting| &setting.source)
    }

    /// The setting of the key `name`.
    pub fn find(&self, name: &str) -> Option<&Setting> {
        self.0.iter().find(|setting| setting.key.name == name)
    }

    /// Whether all these keys have values that may be combined with others.
    pub(crate) fn are_sound(&self, names: &[&str]) -> bool {
        names.iter().all(|name| self.of(name).sound)
    }

    /// The setting of a key that the caller knows to be in the table.
    pub(crate) fn of(&self, name: &str) -> &Setting {
        self.find(name).expect("callers name keys of their own table")
    }

    /// The value of a key that has a default.
    pub(crate) fn value(&self, name: &str) -> &Value {
        self.of(name).values.first().expect("a key that is read as a value has a default")
    }

    pub(crate) fn bool(&self, name: &str) -> bool {
        let Value::Bool(flag) = self.value(name) else { unreachable!("{name} is declared a bool") };
        *flag
    }

    pub(crate) fn duration(&self, name: &str) -> Duration {
        let Value::Duration(duration) = self.value(name) else { unreachable!("{name} is declared seconds") };
        *duration
    }

    pub(crate) fn address(&self, name: &str) -> IpAddr {
        let Value::Address(address) = self.value(name) else { unreachable!("{name} is declared an address") };
        *address
    }

    pub(crate) fn nat(&self) -> Nat {
        let Value::Nat(nat) = self.value("nat") else { unreachable!("nat is declared so") };
        *nat
    }

    /// The private key, if one is given.
    pub(crate) fn node_key(&self) -> Option<NodeKey> {
        match self.of("nodekey").values.first() {
            Some(Value::NodeKey(key)) => Some(key.clone()),
            _ => None,
        }
    }

    /// A number whose declared bounds fit the type that the caller asks for.
    pub(crate) fn number<N: TryFrom<u64>>(&self, name: &str) -> N {
        narrow(self.value(name))
    }

    /// The numbers of a repeatable key.
    pub(crate) fn numbers<N: TryFrom<u64>>(&self, name: &str) -> Vec<N> {
        self.of(name).values.iter().map(narrow).collect()
    }

    pub(crate) fn text(&self, name: &str) -> &str {
        as_text(self.value(name))
    }

    /// The texts of a repeatable or optional key.
    pub(crate) fn texts(&self, name: &str) -> Vec<String> {
        self.of(name).values.iter().map(|value| as_text(value).to_owned()).collect()
    }
}

impl Setting {
    fn resolve(key: &'static Key, given: Option<&Given>, errors: &mut Vec<ConfigError>) -> Self {
        let (texts, source) = match given {
            Some(given) => (given.texts.clone(), given.source.clone()),
            None => (key.default_texts(), Source::Default),
        };
        let mut sound = true;
        let mut values = Vec::new();
        if texts.len() > VALUES_MAX {
            let (count, max) = (texts.len(), VALUES_MAX);
            errors.push(ConfigError::TooManyValues { key: key.name, place: source.clone(), count, max });
            sound = false;
        }
        for text in texts.iter().take(VALUES_MAX) {
            match key.kind.parse(text) {
                Some(value) => values.push(value),
                None => {
                    errors.push(ConfigError::WrongValue {
                        key: key.name,
                        given: key.shown(text),
                        place: source.clone(),
                        expected: key.kind.expected(),
                    });
                    sound = false;
                }
            }
        }
        Self { key, texts, values, source, sound }
    }

    /// Whether somebody gave it.
    pub fn is_given(&self) -> bool {
        self.source != Source::Default
    }

    /// The warning that this key, if given, has no effect.
    pub(crate) fn warning(&self) -> Option<String> {
        if !self.is_given() {
            return None;
        }
        let (name, source) = (self.key.name, &self.source);
        let sentence = format!("{name} ({source}) is accepted but has no effect in this version");
        match self.key.effect {
            Effect::Effective => None,
            Effect::Accepted("") => Some(sentence),
            Effect::Accepted(consequence) => Some(format!("{sentence}: {consequence}")),
            // It says no to what is not there anyway.
            Effect::Refused(_) => None,
        }
    }

    /// The fault that this key asks for a protection which is not there.
    pub(crate) fn refusal(&self) -> Option<ConfigError> {
        match self.key.effect {
            Effect::Refused(reason) if self.asks_for_something() => {
                Some(ConfigError::Refused { key: self.key.name, place: self.source.clone(), reason: reason.to_owned() })
            }
            _ => None,
        }
    }

    /// Whether the value is more than an explicit "off".
    fn asks_for_something(&self) -> bool {
        match self.key.kind {
            Kind::Bool => self.values.contains(&Value::Bool(true)),
            _ => self.texts.iter().any(|text| !text.is_empty()),
        }
    }
}

impl fmt::Debug for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: Vec<String> = self.texts.iter().map(|text| self.key.shown(text)).collect();
        write!(f, "{} = [{}] ({})", self.key.name, shown.join(", "), self.source)
    }
}

fn narrow<N: TryFrom<u64>>(value: &Value) -> N {
    let Value::Number(number) = value else { unreachable!("the key is declared a number") };
    N::try_from(*number).ok().expect("the declared bounds fit the type")
}

fn as_text(value: &Value) -> &str {
    let Value::Text(text) = value else { unreachable!("the key is declared a text") };
    text
}

/// As many as a cluster has shards; no other list needs more.
const VALUES_MAX: usize = 1_024;
