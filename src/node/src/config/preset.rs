//! Named networks (`--preset`): what each sets, as nwaku has it (`networks_config.nim`).

use super::key::Table;
use super::source::{Given, Source};

/// A network by its name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Preset {
    /// The name.
    pub name: &'static str,
    /// What it decides, whatever else is given: key and value.
    decides: [(&'static str, &'static str); 3],
    /// Where to enter it, unless other entry nodes are given.
    entry_nodes: &'static [&'static str],
    /// Whether its messages carry rate-limit proofs that every relay must check.
    pub needs_rln: bool,
    /// Whether its nodes also have Kademlia and a mix network.
    pub has_mix: bool,
}

impl Preset {
    /// The network of this name, in any case.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        PRESETS.iter().find(|preset| preset.name.eq_ignore_ascii_case(name))
    }

    /// The one that the first of these layers to speak of it names, if it is known.
    pub(crate) fn of(layers: &[Vec<Given>]) -> Option<&'static Self> {
        let given = layers.iter().flatten().find(|given| given.key.name == "preset")?;
        Self::named(given.texts.first()?)
    }

    /// Every name.
    pub(crate) fn names() -> Vec<&'static str> {
        PRESETS.iter().map(|preset| preset.name).collect()
    }

    /// What it decides: the layer above all others.
    pub(crate) fn decisions(&'static self, table: &Table) -> Vec<Given> {
        self.decides.iter().filter_map(|(key, value)| self.given(table, key, &[value])).collect()
    }

    /// What it proposes: the layer below all others.
    pub(crate) fn proposals(&'static self, table: &Table) -> Vec<Given> {
        self.given(table, "entry-node", self.entry_nodes).into_iter().collect()
    }

    fn given(&'static self, table: &Table, key: &str, texts: &[&str]) -> Option<Given> {
        let texts = texts.iter().map(|text| (*text).to_owned()).collect();
        Some(Given { key: table.find(key)?, texts, source: Source::Preset(self.name) })
    }
}

/// A warning for each value that was given and is not the one that the network decides.
pub(crate) fn overruled(decided: &[Given], layers: &[Vec<Given>]) -> Vec<String> {
    let warning = |decision: &Given| {
        let given = layers.iter().flatten().find(|given| given.key.name == decision.key.name)?;
        let (key, source, value) = (decision.key.name, &given.source, decision.texts.concat());
        let same = given.key.kind.parse(&given.texts.concat()) == given.key.kind.parse(&value);
        (!same).then(|| format!("{key} ({source}) is not used: {} has {value}", decision.source))
    };
    decided.iter().filter_map(warning).collect()
}

const fn decides(
    cluster: &'static str,
    shards: &'static str,
    message: &'static str,
) -> [(&'static str, &'static str); 3] {
    [("cluster-id", cluster), ("num-shards-in-network", shards), ("max-msg-size", message)]
}

static PRESETS: &[Preset] = &[
    Preset {
        name: "twn",
        decides: decides("1", "8", "150KiB"),
        needs_rln: true,
        has_mix: false,
        entry_nodes: &[
            "enrtree://AOGYWMBYOUIMOENHXCHILPKY3ZRFEULMFI4DOM442QSZ73TT2A7VI@test.waku.nodes.status.im",
            "/dns4/node-01.ac-cn-hongkong-c.waku.test.status.im/tcp/30303/p2p/16Uiu2HAkzHaTP5JsUwfR9NR8Rj9HC24puS6ocaU8wze4QrXr9iXp",
            "/dns4/node-01.do-ams3.waku.test.status.im/tcp/30303/p2p/16Uiu2HAkykgaECHswi3YKJ5dMLbq2kPVCo89fcyTd38UcQD6ej5W",
            "/dns4/node-01.gc-us-central1-a.waku.test.status.im/tcp/30303/p2p/16Uiu2HAmDCp8XJ9z1ev18zuv8NHekAsjNyezAvmMfFEJkiharitG",
        ],
    },
    Preset {
        name: "logos.dev",
        decides: decides("3", "8", "150KiB"),
        needs_rln: false,
        has_mix: true,
        entry_nodes: &[
            "/dns4/delivery-01.do-ams3.logos.dev.status.im/tcp/30303/p2p/16Uiu2HAmTUbnxLGT9JvV6mu9oPyDjqHK4Phs1VDJNUgESgNSkuby",
            "/dns4/delivery-02.do-ams3.logos.dev.status.im/tcp/30303/p2p/16Uiu2HAmMK7PYygBtKUQ8EHp7EfaD3bCEsJrkFooK8RQ2PVpJprH",
            "/dns4/delivery-01.gc-us-central1-a.logos.dev.status.im/tcp/30303/p2p/16Uiu2HAm4S1JYkuzDKLKQvwgAhZKs9otxXqt8SCGtB4hoJP1S397",
            "/dns4/delivery-02.gc-us-central1-a.logos.dev.status.im/tcp/30303/p2p/16Uiu2HAm8Y9kgBNtjxvCnf1X6gnZJW5EGE4UwwCL3CCm55TwqBiH",
            "/dns4/delivery-01.ac-cn-hongkong-c.logos.dev.status.im/tcp/30303/p2p/16Uiu2HAm8YokiNun9BkeA1ZRmhLbtNUvcwRr64F69tYj9fkGyuEP",
            "/dns4/delivery-02.ac-cn-hongkong-c.logos.dev.status.im/tcp/30303/p2p/16Uiu2HAkvwhGHKNry6LACrB8TmEFoCJKEX29XR5dDUzk3UT3UNSE",
        ],
    },
    Preset {
        name: "logos.test",
        decides: decides("2", "8", "150KiB"),
        needs_rln: false,
        has_mix: true,
        entry_nodes: &[
            "/dns4/node-01.do-ams3.logos.test.status.im/tcp/30303/p2p/16Uiu2HAmQ9X2xDfPG3uL77V9piYDhjq14JhKCtcmNYsTMKNqrKCj",
            "/dns4/node-02.do-ams3.logos.test.status.im/tcp/30303/p2p/16Uiu2HAmB8NYprrfQrgWVzsJtYWkfjsXbmJEGNMG6othXsQ53BwG",
            "/dns4/node-01.gc-us-central1-a.logos.test.status.im/tcp/30303/p2p/16Uiu2HAmF8WtwGPmeGHgYAX2277jHgy5cW9F7zsB8EqUjBZQAZQ3",
            "/dns4/node-02.gc-us-central1-a.logos.test.status.im/tcp/30303/p2p/16Uiu2HAmUuXhUW9bdJpzN1kfDziFiUZo4bszTk66cvr7uuyCHXR7",
            "/dns4/node-01.ac-cn-hongkong-c.logos.test.status.im/tcp/30303/p2p/16Uiu2HAmL3oU95jh1BZHozn3uNhx8HEneirgr8M1jEAapzXGDqRF",
            "/dns4/node-02.ac-cn-hongkong-c.logos.test.status.im/tcp/30303/p2p/16Uiu2HAm28CoBZjpyxsanC8tQpbvZ7bZJnVYuB1EgFzb571qpWsV",
        ],
    },
    Preset {
        name: "status.prod",
        decides: decides("16", "1", "1024KiB"),
        needs_rln: false,
        has_mix: false,
        entry_nodes: &[
            "enrtree://AMOJVZX4V6EXP7NTJPMAYJYST2QP6AJXYW76IU6VGJS7UVSNDYZG4@boot.prod.status.nodes.status.im",
            "/dns4/boot-01.do-ams3.status.prod.status.im/tcp/30303/p2p/16Uiu2HAmAR24Mbb6VuzoyUiGx42UenDkshENVDj4qnmmbabLvo31",
            "/dns4/boot-01.gc-us-central1-a.status.prod.status.im/tcp/30303/p2p/16Uiu2HAm8mUZ18tBWPXDQsaF7PbCKYA35z7WB2xNZH2EVq1qS8LJ",
            "/dns4/boot-01.ac-cn-hongkong-c.status.prod.status.im/tcp/30303/p2p/16Uiu2HAmGwcE8v7gmJNEWFtZtojYpPMTHy2jBLL6xRk33qgDxFWX",
        ],
    },
];
