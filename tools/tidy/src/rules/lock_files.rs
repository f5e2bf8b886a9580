//! npm lock files pin what is installed, not where it comes from.

use super::Rule;
use crate::file::{Kind, SourceFile};
use crate::finding::Finding;

pub const RULE: Rule =
    Rule { name: "lock-files", about: "package-lock.json has integrity hashes and no \"resolved\" address", check };

fn check(file: &SourceFile, findings: &mut Vec<Finding>) {
    if file.kind != Kind::PackageLock {
        return;
    }
    for (number, line) in file.lines() {
        if line.contains("\"resolved\"") {
            let message = "a \"resolved\" address; npm config set omit-lockfile-registry-resolved true";
            findings.push(Finding::new(&file.path, number, RULE.name, message));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn addresses_are_refused() {
        let with = "{\n  \"resolved\": \"https://levada.test/a.tgz\",\n  \"integrity\": \"sha512-x\"\n}\n";
        assert_eq!(found(&RULE, "tools/interop/plain/package-lock.json", with).len(), 1);
        assert!(
            found(&RULE, "tools/interop/plain/package-lock.json", "{\n  \"integrity\": \"sha512-x\"\n}\n").is_empty()
        );
        assert!(found(&RULE, "other.json", with).is_empty());
    }
}
