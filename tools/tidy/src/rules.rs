//! The rules, one module each.

mod functions;
mod imports;
mod layout;
mod lint_levels;
mod lock_files;
mod machine_paths;
mod markdown;
mod pairs;
mod unfinished;
mod unsafety;

use crate::file::SourceFile;
use crate::finding::Finding;

/// A rule: its name in the report, one line for `--help`, and its check.
pub struct Rule {
    /// The name in the report.
    pub name: &'static str,
    /// What it asks for.
    pub about: &'static str,
    check: fn(&SourceFile, &mut Vec<Finding>),
}

/// Every rule, in the order `--help` lists them.
pub const ALL: &[Rule] = &[
    layout::LINE_LENGTH,
    layout::FILE_LENGTH,
    layout::WHITESPACE,
    functions::RULE,
    unsafety::PLACE,
    unsafety::REASON,
    pairs::RULE,
    imports::DEPENDENCIES,
    imports::PATHS,
    unfinished::RULE,
    lint_levels::RULE,
    machine_paths::RULE,
    lock_files::RULE,
    markdown::RULE,
];

/// Applies every rule to `file`.
pub fn check(file: &SourceFile, findings: &mut Vec<Finding>) {
    for rule in ALL {
        (rule.check)(file, findings);
    }
}

/// What `rule` finds in a file at `path` that holds `text`, as printed.
#[cfg(test)]
fn found(rule: &Rule, path: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    (rule.check)(&SourceFile::new(path, text), &mut findings);
    findings.iter().map(ToString::to_string).collect()
}
