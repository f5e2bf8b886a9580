//! Which crate may know which.

use super::Rule;
use crate::file::{Kind, SourceFile};
use crate::finding::Finding;
use crate::scan::{Token, is_word};

/// A crate of this workspace, where it lives, and the crates of the workspace that it may import.
struct Layer {
    folder: &'static str,
    library: &'static str,
    may_import: &'static [&'static str],
    /// Whether it may depend on tokio and libp2p.
    async_runtime: bool,
}

const ENGINE: &str = "levada_engine";
const WIRE: &str = "levada_wire";
const ARCHIVE: &str = "levada_archive";
const ROUTER: &str = "levada_router";
const CHUNK: &str = "levada_chunk";
const STAGES: &str = "levada_stages";
const NET: &str = "levada_net";
const DISCOVERY: &str = "levada_discovery";
const BENCHES: &str = "levada_benches";
const STOCK: &str = "levada_stock";

/// The layers from the bottom up.
const LAYERS: [Layer; 14] = [
    Layer { folder: "src/engine/", library: ENGINE, may_import: &[], async_runtime: false },
    Layer { folder: "src/wire/", library: WIRE, may_import: &[ENGINE], async_runtime: false },
    // For the client of PostgreSQL, which has a thread of its own.
    Layer { folder: "src/archive/", library: ARCHIVE, may_import: &[ENGINE, WIRE], async_runtime: true },
    Layer { folder: "src/router/", library: ROUTER, may_import: &[ENGINE], async_runtime: false },
    Layer { folder: "src/chunk/", library: CHUNK, may_import: &[ENGINE, WIRE], async_runtime: true },
    Layer { folder: "stages/", library: STAGES, may_import: &[ENGINE, WIRE, ARCHIVE], async_runtime: false },
    Layer { folder: "src/net/", library: NET, may_import: &[ENGINE, WIRE, ROUTER, STOCK], async_runtime: true },
    Layer { folder: "src/discovery/", library: DISCOVERY, may_import: &[], async_runtime: true },
    // The rival of the own relay router. No product depends on it; what compares does.
    Layer { folder: "benches/stock/", library: STOCK, may_import: &[ENGINE, WIRE, NET], async_runtime: true },
    Layer {
        folder: "tools/interop/rust/",
        library: "levada_interop_peer",
        may_import: &[NET, STOCK],
        async_runtime: true,
    },
    // Compares whole nodes too, as a workspace of its own that nothing depends on. Before the folder in which it lies.
    Layer {
        folder: "benches/versus/",
        library: "versus",
        may_import: &[ENGINE, WIRE, ARCHIVE, STAGES, CHUNK, NET, BENCHES, STOCK, "levada"],
        async_runtime: false,
    },
    Layer {
        folder: "benches/",
        library: BENCHES,
        may_import: &[ENGINE, WIRE, ARCHIVE, STAGES, CHUNK],
        async_runtime: false,
    },
    Layer {
        folder: "src/node/",
        library: "levada",
        may_import: &[ENGINE, WIRE, ARCHIVE, ROUTER, CHUNK, STAGES, DISCOVERY, NET, BENCHES],
        async_runtime: true,
    },
    Layer { folder: "tools/tidy/", library: "levada_tidy", may_import: &[], async_runtime: false },
];

/// Beginnings of the names of crates that bring an async runtime.
const ASYNC_CRATES: [&str; 2] = ["tokio", "libp2p"];

pub const DEPENDENCIES: Rule = Rule {
    name: "dependencies",
    about: "Cargo.toml: imports run down the layers only; tokio and libp2p stay out of engine, wire, router, stages and benches",
    check: dependencies,
};

pub const PATHS: Rule =
    Rule { name: "imports", about: "`use` and paths: imports run down the layers only", check: paths };

fn dependencies(file: &SourceFile, findings: &mut Vec<Finding>) {
    let Some(layer) = layer_of(&file.path) else { return };
    if file.path != format!("{}Cargo.toml", layer.folder) {
        return;
    }
    for (line, name) in declared_crates(file) {
        let message = if ASYNC_CRATES.iter().any(|prefix| name.starts_with(prefix)) && !layer.async_runtime {
            format!("`{name}` in {}; async runtimes stay out of engine, wire, router, stages and benches", layer.folder)
        } else if !layer.may_use(&name.replace('-', "_")) {
            format!("{} must not depend on `{name}`; imports run from node down to engine", layer.folder)
        } else {
            continue;
        };
        findings.push(Finding::new(&file.path, line, DEPENDENCIES.name, message));
    }
}

fn paths(file: &SourceFile, findings: &mut Vec<Finding>) {
    let Some(layer) = layer_of(&file.path).filter(|_| file.kind == Kind::Rust) else { return };
    for (index, token) in file.scan.tokens.iter().enumerate() {
        if is_crate_path(&file.scan.tokens, index) && !layer.may_use(&token.text) {
            let message =
                format!("{} must not use `{}`; imports run from node down to engine", layer.folder, token.text);
            findings.push(Finding::new(&file.path, token.line, PATHS.name, message));
        }
    }
}

impl Layer {
    /// Whether this layer may name the library; a library that is none of ours is no matter of this rule.
    fn may_use(&self, library: &str) -> bool {
        let ours = LAYERS.iter().any(|layer| layer.library == library);
        !ours || library == self.library || self.may_import.contains(&library)
    }
}

fn layer_of(path: &str) -> Option<&'static Layer> {
    LAYERS.iter().find(|layer| path.starts_with(layer.folder))
}

/// The crates that a manifest depends on in any way, with their lines.
fn declared_crates(file: &SourceFile) -> Vec<(usize, String)> {
    let mut crates = Vec::new();
    let mut listing = false;
    for (number, line) in file.lines() {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            let parts: Vec<&str> = header.trim_end_matches(']').split('.').collect();
            let table = parts.iter().position(|part| part.ends_with("dependencies"));
            listing = table.is_some_and(|index| index + 1 == parts.len());
            // `[dependencies.name]` declares a crate by its header.
            if let Some(name) = table.and_then(|index| parts.get(index + 1)) {
                crates.push((number, (*name).to_owned()));
            }
        } else if listing && !line.starts_with('#') && line.contains('=') {
            crates.push((number, declared_name(line)));
        }
    }
    crates
}

/// The crate that one line of a dependency table names: the renamed package where there is one, else the key.
fn declared_name(line: &str) -> String {
    let renamed = line.split_once("package").and_then(|(_, rest)| rest.split('"').nth(1));
    let key = line.split(['=', '.', ' ']).next().unwrap_or("");
    renamed.unwrap_or(key).trim_matches('"').to_owned()
}

/// Whether the word at `index` names a library: it leads a path, or stands alone after `use` or `extern crate`.
fn is_crate_path(tokens: &[Token], index: usize) -> bool {
    let text = |index: usize| tokens.get(index).map_or("", |token| token.text.as_str());
    let before = |distance: usize| index.checked_sub(distance).map_or("", &text);
    let leads = text(index + 1) == ":" && text(index + 2) == ":";
    // In `use ::name::…` the colons open the path, they do not continue one.
    let continues = before(1) == ":" && before(2) == ":" && before(3).starts_with(is_word) && before(3) != "use";
    (leads && !continues) || matches!(before(1), "use" | "crate")
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn manifests_depend_downwards() {
        let manifest = "[dependencies]\nlevada-wire.workspace = true\nbytes = \"1\"\n\n[dev-dependencies]\n\
            levada-engine = { path = \"x\" }\n";
        assert!(found(&DEPENDENCIES, "stages/Cargo.toml", manifest).is_empty());
        let wrong = found(&DEPENDENCIES, "src/engine/Cargo.toml", manifest);
        assert_eq!(wrong.len(), 1, "{wrong:?}");
        assert!(wrong[0].starts_with("src/engine/Cargo.toml:2: dependencies: "), "{wrong:?}");
    }

    #[test]
    fn every_way_to_declare_a_dependency_is_seen() {
        for text in [
            "[dev-dependencies]\nlevada-net.workspace = true\n",
            "[build-dependencies]\nlevada-net = { path = \"x\" }\n",
            "[target.'cfg(loom)'.dependencies]\nlevada-net.workspace = true\n",
            "[dependencies.levada-net]\nworkspace = true\n",
            "[dependencies]\nother = { package = \"levada-net\", path = \"x\" }\n",
            "[dependencies]\nlevada = { path = \"x\" }\n",
        ] {
            assert_eq!(found(&DEPENDENCIES, "stages/Cargo.toml", text).len(), 1, "{text}");
        }
        assert!(found(&DEPENDENCIES, "stages/Cargo.toml", "[package]\nlevada-net = \"x\"\n").is_empty());
        assert!(found(&DEPENDENCIES, "Cargo.toml", "[workspace.dependencies]\nlevada-net = \"x\"\n").is_empty());
    }

    #[test]
    fn async_runtimes_stay_at_the_edge() {
        for name in ["tokio", "tokio-util", "libp2p", "libp2p-mplex"] {
            let manifest = format!("[dependencies]\n{name}.workspace = true\n");
            for folder in ["src/archive", "src/net", "src/chunk", "src/node"] {
                assert!(found(&DEPENDENCIES, &format!("{folder}/Cargo.toml"), &manifest).is_empty());
            }
            for folder in ["src/engine", "src/wire", "src/router", "stages", "benches", "tools/tidy"] {
                assert_eq!(found(&DEPENDENCIES, &format!("{folder}/Cargo.toml"), &manifest).len(), 1, "{folder}");
            }
        }
    }

    #[test]
    fn paths_lead_downwards() {
        let text = "use levada_wire::topic;\nfn a() { levada_engine::Counter::new(); }\n";
        assert!(found(&PATHS, "stages/seen.rs", text).is_empty());
        assert!(found(&PATHS, "src/wire/src/lib.rs", text).is_empty());
        assert_eq!(found(&PATHS, "src/engine/src/lib.rs", text).len(), 1);
        assert_eq!(found(&PATHS, "src/net/src/lib.rs", "use levada_archive as store;\n").len(), 1);
        assert_eq!(found(&PATHS, "stages/lib.rs", "extern crate levada;\nuse ::levada::rest;\n").len(), 2);
    }

    #[test]
    fn the_router_knows_the_engine_alone() {
        let text = "use levada_engine::Counter;\nuse levada_wire::topic;\nuse levada_archive::Archive;\nuse levada_net::relay;\n";
        let wrong = found(&PATHS, "src/router/src/lib.rs", text);
        assert_eq!(wrong.len(), 3, "{wrong:?}");
        let uses_router = "use levada_router::Router;\n";
        for folder in ["src/net", "src/node"] {
            assert!(found(&PATHS, &format!("{folder}/src/lib.rs"), uses_router).is_empty(), "{folder}");
        }
        for folder in ["src/engine", "src/wire", "src/archive", "stages", "benches"] {
            assert_eq!(found(&PATHS, &format!("{folder}/src/lib.rs"), uses_router).len(), 1, "{folder}");
        }
    }

    #[test]
    fn words_that_are_no_paths_pass() {
        let text = "//! See `levada_net::x`.\nlet levada = \"levada_net::x\"; levada.go(); self::a::levada::b();\n";
        assert!(found(&PATHS, "stages/lib.rs", text).is_empty());
    }
}
