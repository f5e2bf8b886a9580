//! Configurations as TOML: the resolved one with its sources, and the documented defaults.

use std::fmt::Write;

use super::key::{Group, Key, redact_password};
use super::settings::Setting;
use super::table::NODE;
use super::wrap::wrap;
use super::{Loaded, Source};

/// The resolved configuration. Ports are written as given, before `ports-shift`, so that reading the text back gives the same.
pub(crate) fn render(loaded: &Loaded) -> String {
    let mut out = String::from("# The resolved configuration: each value, and where it came from.\n");
    if let Some(setting) = loaded.settings.find("config-file").filter(|setting| setting.is_given()) {
        let _ = writeln!(out, "# The configuration file is {} ({}).", setting.texts.concat(), setting.source);
    }
    let _ = writeln!(out, "# Subscribed at start: {}", list_or_none(&loaded.config.pubsub_topics()));
    for group in Group::ALL {
        let shown = |setting: &&Setting| setting.key.group == *group && is_resolved_line(setting);
        let lines: Vec<String> = loaded.settings.iter().filter(shown).map(resolved_line).collect();
        push_group(&mut out, *group, &lines);
    }
    let given_in_vain = |setting: &&Setting| !setting.key.is_effective() && setting.is_given();
    let lines: Vec<String> = loaded.settings.iter().filter(given_in_vain).map(resolved_line).collect();
    if !lines.is_empty() {
        let _ = write!(out, "\n# Accepted, without effect in this version\n{}\n", lines.join("\n"));
    }
    out
}

/// The documented defaults: each key that this version acts on, with its help above it. Read as a configuration file, it
/// changes nothing.
pub fn render_default() -> String {
    let mut out = String::from(
        "# Levada's configuration, every key with its default.\n\
         # A flag (--NAME=VALUE) overrides the environment (LEVADA_NAME), which overrides this file.\n",
    );
    for group in Group::ALL {
        let keys = NODE.keys().filter(|key| key.group == *group && key.is_effective() && key.name != CONFIG_FILE);
        let entries: Vec<String> = keys.map(documented_entry).collect();
        push_group(&mut out, *group, &entries);
    }
    out
}

fn push_group(out: &mut String, group: Group, entries: &[String]) {
    if !entries.is_empty() {
        let _ = write!(out, "\n# ---- {} ----\n{}\n", group.heading(), entries.join("\n"));
    }
}

fn list_or_none(items: &[String]) -> String {
    if items.is_empty() { "nothing".to_owned() } else { items.join(", ") }
}

fn is_resolved_line(setting: &Setting) -> bool {
    setting.key.is_effective() && setting.key.name != CONFIG_FILE
}

fn resolved_line(setting: &Setting) -> String {
    let key = setting.key;
    match setting.source {
        Source::Default if setting.texts.is_empty() && !key.repeatable => format!("# {} is not set", key.name),
        _ if key.kind.is_secret() => format!("# {} is set but not shown  # {}", key.name, setting.source),
        _ => format!("{} = {}  # {}", key.name, toml_value(key, &setting.texts), setting.source),
    }
}

fn documented_entry(key: &'static Key) -> String {
    let mut lines: Vec<String> = wrap(key.help, HELP_COLUMNS).into_iter().map(|line| format!("# {line}")).collect();
    let texts = key.default_texts();
    lines.push(if texts.is_empty() && !key.repeatable {
        format!("# {} = \"\"", key.name)
    } else {
        format!("{} = {}", key.name, toml_value(key, &texts))
    });
    lines.join("\n")
}

fn toml_value(key: &Key, texts: &[String]) -> String {
    let elements: Vec<String> = texts.iter().map(|text| toml_scalar(key, text)).collect();
    if key.repeatable { format!("[{}]", elements.join(", ")) } else { elements.concat() }
}

fn toml_scalar(key: &Key, text: &str) -> String {
    // Bools have more spellings here than in TOML, and TOML refuses numbers with leading zeros; quoted, all read back.
    let is_toml_bare = matches!(text, "true" | "false" | "0")
        || (text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0') && text.len() < I64_DIGITS);
    if key.kind.is_bare_in_toml() && is_toml_bare {
        return text.to_owned();
    }
    toml::Value::String(redact_password(text)).to_string()
}

const CONFIG_FILE: &str = "config-file";

const HELP_COLUMNS: usize = 96;

/// A number of fewer digits fits TOML's 64-bit integers.
const I64_DIGITS: usize = 19;
