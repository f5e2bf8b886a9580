//! Printed configurations read back to what was printed, explain themselves, and keep secrets.

use super::*;

#[test]
fn the_documented_default_reads_back_to_the_default() {
    let (_, result) = load_file(&render_default());
    let loaded = result.unwrap();
    assert_eq!(loaded.config, config(&[]));
    assert!(!loaded.warnings.iter().any(|warning| warning.contains("no effect")), "{:?}", loaded.warnings);
}

#[test]
fn the_documented_default_has_every_key_below_its_help() {
    let text = render_default();
    for key in NODE.keys().filter(|key| key.is_effective() && key.name != "config-file") {
        let line = text.lines().position(|line| line.trim_start_matches("# ").starts_with(&format!("{} = ", key.name)));
        let line = line.unwrap_or_else(|| panic!("{} is missing", key.name));
        assert!(text.lines().nth(line - 1).unwrap().starts_with("# "), "{} has no help", key.name);
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100));
}

#[test]
fn the_resolved_configuration_names_each_source_and_reads_back() {
    let (_keep, file_flag) = file("\nrest-port = 9\nstaticnode = [\"/dns4/a/tcp/1\", \"/dns4/b/tcp/2\"]\n");
    let flags =
        [file_flag.as_str(), "--ports-shift=10", "--relay=OFF", "--max-msg-size=1 MiB", "--workers=3", "--shard=007"];
    let loaded = load(&flags, &[("LEVADA_WAIT", "ECO"), ("WAKUNODE2_FILTER", "true")]).unwrap();
    let text = loaded.render();
    for line in [
        "ports-shift = 10  # flag --ports-shift",
        "wait = \"ECO\"  # environment variable LEVADA_WAIT",
        "tcp-port = 60000  # default",
        "filter = true  # environment variable WAKUNODE2_FILTER",
        "# nodekey is not set",
        "# Subscribed at start: /waku/2/rs/0/7",
    ] {
        assert!(text.lines().any(|printed| printed == line), "{line} is not in:\n{text}");
    }
    assert!(text.lines().any(|line| line.starts_with("rest-port = 9  # /") && line.ends_with(":2")), "{text}");
    assert_eq!(load_file(&text).1.unwrap().config, loaded.config);
}

#[test]
fn the_resolved_configuration_shows_no_secret() {
    let flags = [format!("--nodekey={}", secret()), "--rln-relay-cred-password=hush5ec".to_owned()];
    let text = load(&[&flags[0], &flags[1]], &[]).unwrap().render();
    assert!(!text.contains("5ec2e7") && !text.contains("hush5ec"), "{text}");
    assert!(text.contains("# nodekey is set but not shown  # flag --nodekey"), "{text}");
    assert!(text.contains("# rln-relay-cred-password is set but not shown"), "{text}");
}
