//! Paths that exist on one machine only.

use super::Rule;
use crate::file::{Kind, SourceFile};
use crate::finding::Finding;
use crate::scan::is_word;

/// First folders of paths that name somebody's machine.
const FOLDERS: [&str; 4] = ["work", "root", "home", "tmp"];

/// Those that a test may name all the same, as a path that it only parses or that any machine has.
const FOLDERS_OF_TESTS: [&str; 2] = ["home", "tmp"];

pub const RULE: Rule = Rule {
    name: "machine-paths",
    about: "no absolute path into a user's, root's or temporary folder (scripts: mktemp)",
    check,
};

fn check(file: &SourceFile, findings: &mut Vec<Finding>) {
    if matches!(file.kind, Kind::Data | Kind::PackageLock) {
        return;
    }
    let tests = file.first_test_line();
    for (number, line) in file.lines() {
        for folder in FOLDERS {
            let in_test = number >= tests && FOLDERS_OF_TESTS.contains(&folder);
            let made_unique = file.kind == Kind::Shell && line.contains("mktemp");
            if names_folder(line, folder) && !in_test && !made_unique {
                let message = format!("`/{folder}/…` is a path of one machine");
                findings.push(Finding::new(&file.path, number, RULE.name, message));
            }
        }
    }
}

/// Whether an absolute path under `/folder/` stands in `line`; a relative path or URL that merely holds the name does not count.
fn names_folder(line: &str, folder: &str) -> bool {
    let path = format!("/{folder}/");
    line.match_indices(&path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| is_word(c) || matches!(c, '.' | '-' | '/' | '}' | '*' | '~'))
    })
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn absolute_paths_of_one_machine_are_found() {
        for folder in FOLDERS {
            let line = format!("see \"/{folder}/levada\"\n");
            for path in ["a.md", "a.toml", "a.mjs", "a.rs", "a.sh"] {
                assert_eq!(found(&RULE, path, &line).len(), 1, "{path} {folder}");
            }
        }
    }

    #[test]
    fn other_paths_pass() {
        for folder in FOLDERS {
            let text =
                format!("src/{folder}/a.rs ../{folder}/b https://levada.test/{folder}/ $d}}/{folder}/ /{folder}s/\n");
            assert!(found(&RULE, "a.md", &text).is_empty(), "{folder}");
        }
    }

    #[test]
    fn tests_may_name_temporary_files_and_nobodys_checkout() {
        let with = |folder: &str| format!("#[cfg(test)]\nmod tests {{ const A: &str = \"/{folder}/a\"; }}\n");
        assert!(found(&RULE, "a.rs", &with("tmp")).is_empty());
        assert_eq!(found(&RULE, "a.rs", &with("work")).len(), 1);
    }

    #[test]
    fn scripts_go_through_mktemp() {
        let made = format!("d=$(mktemp -d /{}/a.XXXX)\n", "tmp");
        assert!(found(&RULE, "a.sh", &made).is_empty());
        assert_eq!(found(&RULE, "a.mjs", &made).len(), 1);
    }
}
