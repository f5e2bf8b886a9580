//! Trees made here and that of the specification, asked of a map and of a real name server on loopback.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use data_encoding::{BASE32_NOPAD, BASE64URL_NOPAD};
use hickory_resolver::proto::op::Message;
use hickory_resolver::proto::rr::rdata::TXT;
use hickory_resolver::proto::rr::{RData, Record as DnsRecord};
use k256::ecdsa::SigningKey;
use libp2p_identity::secp256k1::{Keypair, SecretKey};
use tokio::net::UdpSocket;

use super::entry::{Entry, Root, keccak};
use super::*;
use crate::record::{Advertised, Record};

/// The example of EIP-1459: name and text of every entry below the root.
const EXAMPLE: [(&str, &str); 5] = [
    (
        "C7HRFPF3BLGF3YR4DY5KX3SMBE",
        "enrtree://AM5FCQLWIZX2QFPNJAP7VUERCCRNGRHWZG3YYHIUV7BVDQ5FDPRT2@morenodes.example.org",
    ),
    (
        "JWXYDBPXYWG6FX3GMDIBFA6CJ4",
        "enrtree-branch:2XS2367YHAXJFGLZHVAWLQD4ZY,H4FHT4B454P6UXFD7JCYQ5PWDY,MHTDO6TMUBRIA2XWG5LUDACK24",
    ),
    (
        "2XS2367YHAXJFGLZHVAWLQD4ZY",
        "enr:-HW4QOFzoVLaFJnNhbgMoDXPnOvcdVuj7pDpqRvh6BRDO68aVi5ZcjB3vzQRZH2IcLBGHzo8uUN3snqmgTiE56CH3AMBgmlkgnY0iXNlY3AyNTZr\
         MaECC2_24YYkYHEgdzxlSNKQEnHhuNAbNlMlWJxrJxbAFvA",
    ),
    (
        "H4FHT4B454P6UXFD7JCYQ5PWDY",
        "enr:-HW4QAggRauloj2SDLtIHN1XBkvhFZ1vtf1raYQp9TBW2RD5EEawDzbtSmlXUfnaHcvwOizhVYLtr7e6vw7NAf6mTuoCgmlkgnY0iXNlY3AyNTZr\
         MaECjrXI8TLNXU0f8cthpAMxEshUyQlK-AM0PW2wfrnacNI",
    ),
    (
        "MHTDO6TMUBRIA2XWG5LUDACK24",
        "enr:-HW4QLAYqmrwllBEnzWWs7I5Ev2IAs7x_dZlbYdRdMUx5EyKHDXp7AV5CkuPGUPdvbv1_Ms1CPfhcGCvSElSosZmyoqAgmlkgnY0iXNlY3AyNTZr\
         MaECriawHKWdDRk2xeZkrOXBQ0dfMFLHY4eENZwdufn1S1o",
    ),
];

#[derive(Debug, Clone, Default)]
struct Zone(HashMap<String, Vec<String>>);

impl Resolver for Zone {
    async fn texts(&self, name: &str) -> Result<Vec<String>, LookupError> {
        let found = self.0.get(&name.to_ascii_lowercase()).cloned();
        found.ok_or_else(|| LookupError { name: name.to_owned(), reason: "no such name".into() })
    }
}

impl Zone {
    fn put(&mut self, name: &str, text: String) {
        self.0.insert(name.to_ascii_lowercase(), vec!["v=spf1 -all".into(), text]);
    }

    /// Puts an entry below `tree`; returns the label it is named by.
    fn entry(&mut self, tree: &str, text: String) -> String {
        let label = BASE32_NOPAD.encode(&keccak(&text)[..16]);
        self.put(&format!("{label}.{tree}"), text);
        label
    }

    /// A tree of `records` with a link to `other`; returns the link to it.
    fn tree(&mut self, tree: &str, signer: &SigningKey, records: &[Record], other: Option<&Link>) -> Link {
        let labels: Vec<String> = records.iter().map(|record| self.entry(tree, record.to_string())).collect();
        let branches: Vec<String> =
            labels.chunks(3).map(|labels| self.entry(tree, format!("enrtree-branch:{}", labels.join(",")))).collect();
        let top = self.entry(tree, format!("enrtree-branch:{}", branches.join(",")));
        let links: Vec<String> = other.into_iter().map(|link| self.entry(tree, link.to_string())).collect();
        let links = self.entry(tree, format!("enrtree-branch:{}", links.join(",")));
        let signed = format!("enrtree-root:v1 e={top} l={links} seq=7");
        let (signature, recovery) = signer.sign_prehash_recoverable(&keccak(&signed));
        let bytes = [&signature.to_bytes()[..], &[recovery.to_byte()]].concat();
        self.put(tree, format!("{signed} sig={}", BASE64URL_NOPAD.encode(&bytes)));
        Link { key: *signer.verifying_key(), name: tree.to_owned() }
    }
}

fn signer(number: u8) -> SigningKey {
    SigningKey::from_slice(&[number; 32]).expect("any small number is a secret key")
}

fn record(number: u8) -> Record {
    let key = Keypair::from(SecretKey::try_from_bytes([number; 32]).expect("any small number is a secret key"));
    let advertised = Advertised { ip4: Some([10, 0, 0, number].into()), tcp4: Some(60_000), ..Advertised::default() };
    Record::sign(&key, 1, &advertised).expect("it is short").0
}

fn records(numbers: std::ops::Range<u8>) -> Vec<Record> {
    numbers.map(record).collect()
}

/// Whose they are, in order: a record that is signed anew has another signature.
fn peers<'a>(records: impl IntoIterator<Item = &'a Record>) -> Vec<String> {
    let mut peers: Vec<String> = records.into_iter().map(|record| record.peer().to_string()).collect();
    peers.sort();
    peers
}

#[test]
fn the_entries_of_the_specification_are_what_their_names_promise() {
    for (name, text) in EXAMPLE {
        let entry = Entry::verify(text, name).expect(name);
        match entry {
            Entry::Branch(children) => assert!(children.iter().eq(EXAMPLE[2..].iter().map(|(name, _)| name))),
            Entry::Link(link) => assert_eq!(link.to_string(), text),
            Entry::Record(record) => assert_eq!(record.to_string(), text),
        }
        assert_eq!(Entry::verify(&format!("{text} "), name), Err(EntryError::Hash));
        assert_eq!(Entry::verify(text, &name[..8]), Err(EntryError::Hash), "a short hash promises little");
    }
}

#[tokio::test]
async fn every_record_of_a_tree_and_of_those_it_links_to_is_found_once() {
    let mut zone = Zone::default();
    let other = zone.tree("more.example.org", &signer(9), &records(20..23), None);
    let link = zone.tree("nodes.example.org", &signer(8), &records(1..12), Some(&other));
    // A link back is no way to walk in circles.
    zone.tree("more.example.org", &signer(9), &records(20..23), Some(&link));
    let tree = walk(&link.to_string().parse().expect("our own link"), &zone, 100).await.expect("the tree is sound");
    assert_eq!(peers(&tree.records), peers(records(1..12).iter().chain(&records(20..23))));
    assert_eq!((tree.entries_bad, tree.is_cut), (0, false));
    let few = walk(&link, &zone, 4).await.expect("the tree is sound");
    assert_eq!((few.records.len(), few.is_cut), (4, true));
}

#[tokio::test]
async fn a_bad_entry_takes_no_good_one_with_it() {
    let (mut zone, records) = (Zone::default(), records(1..6));
    let link = zone.tree("nodes.example.org", &signer(8), &records, None);
    let [gone, changed] = [0, 1].map(|number: usize| {
        let hash = keccak(&records[number].to_string());
        format!("{}.nodes.example.org", BASE32_NOPAD.encode(&hash[..16])).to_ascii_lowercase()
    });
    assert!(zone.0.remove(&gone).is_some());
    zone.put(&changed, records[3].to_string());
    let tree = walk(&link, &zone, 100).await.expect("the root is sound");
    assert_eq!(peers(&tree.records), peers(&records[2..]));
    assert_eq!(tree.entries_bad, 2);
}

#[tokio::test]
async fn a_root_of_somebody_else_is_refused() {
    let mut zone = Zone::default();
    let link = zone.tree("nodes.example.org", &signer(8), &records(1..3), None);
    let other = Link { key: *signer(9).verifying_key(), ..link.clone() };
    let refused = |result: Result<Tree, TreeError>| match result {
        Err(TreeError::Entry { source, .. }) => source,
        other => panic!("not refused: {other:?}"),
    };
    assert_eq!(refused(walk(&other, &zone, 9).await), EntryError::Signature);
    let text = zone.0["nodes.example.org"][1].replace("seq=7", "seq=8");
    assert_eq!(Root::verify(&text, &link), Err(EntryError::Signature));
    zone.put("nodes.example.org", "hello".into());
    assert_eq!(refused(walk(&link, &zone, 9).await), EntryError::NotARoot);
    assert!(matches!(walk(&Link { name: "x".into(), ..link }, &zone, 9).await, Err(TreeError::Lookup(_))));
    for text in ["", "enrtree://", "enrtree://AA@x", "https://x", &format!("{}@", &other.to_string()[..63])] {
        assert_eq!(text.parse::<Link>(), Err(LinkError(text.to_owned())));
    }
}

/// The system's way of asking, of a server that speaks DNS.
#[tokio::test]
async fn a_tree_is_read_over_the_wire() {
    let mut zone = Zone::default();
    let link = zone.tree("nodes.example.org", &signer(8), &records(1..12), None);
    let server = serve(zone).await;
    let resolver = SystemResolver::new(&[server]).expect("an address is enough");
    let tree = walk(&link, &resolver, 100).await.expect("the tree is sound");
    assert_eq!(peers(&tree.records), peers(&records(1..12)));
    let missing = Link { name: "missing.example.org".into(), ..link };
    assert!(matches!(walk(&missing, &resolver, 100).await, Err(TreeError::Lookup(_))));
}

async fn serve(zone: Zone) -> SocketAddr {
    let socket = Arc::new(UdpSocket::bind("127.0.0.1:0").await.expect("a free port"));
    let address = socket.local_addr().expect("it is bound");
    tokio::spawn(async move {
        let mut packet = [0; 4_096];
        while let Ok((length, from)) = socket.recv_from(&mut packet).await {
            let question = Message::from_vec(&packet[..length]).expect("the resolver speaks DNS");
            let answer = answer(&zone, question).to_vec().expect("the answer is short");
            socket.send_to(&answer, from).await.expect("loopback takes it");
        }
    });
    address
}

fn answer(zone: &Zone, question: Message) -> Message {
    let asked = question.queries[0].clone();
    let mut answer = Message::response(question.metadata.id, question.metadata.op_code);
    let name = asked.name().to_utf8().trim_end_matches('.').to_ascii_lowercase();
    // A text of more than 255 bytes comes in parts.
    let text = |text: &String| {
        let parts = text.as_bytes().chunks(200).map(|part| String::from_utf8_lossy(part).into_owned()).collect();
        DnsRecord::from_rdata(asked.name().clone(), 60, RData::TXT(TXT::new(parts)))
    };
    for found in zone.0.get(&name).into_iter().flatten() {
        answer.add_answer(text(found));
    }
    answer.add_query(asked.clone());
    answer
}
