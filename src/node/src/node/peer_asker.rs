//! Asks the node of `--peer-exchange-node` for peers, and makes those of our cluster known.

use std::time::Duration;

use bytes::Bytes;
use levada_discovery::Record;
use levada_net::multiaddr::Protocol;
use levada_net::peer_exchange::ask;
use levada_net::{Multiaddr, NetHandle, Origin, PeerId, peer_address};

/// Between two questions; nwaku asks as often while it has few peers.
const ASK_EVERY: Duration = Duration::from_secs(60);
/// As many as nwaku and js-waku ask for.
const PEERS_WANTED: u64 = 60;

/// The peer to ask, as the address names it.
pub fn peer_of(address: &str) -> Option<PeerId> {
    let address = peer_address(address).ok()?;
    address.iter().find_map(|part| if let Protocol::P2p(id) = part { Some(id) } else { None })
}

/// Asks whenever the peer is connected, until the task is dropped.
pub async fn run(net: NetHandle, peer: PeerId, cluster: u16) {
    let mut changes = net.changes();
    loop {
        if net.exchange().is_connected(&peer) {
            match ask(net.exchange(), &peer, PEERS_WANTED).await {
                Ok(records) => {
                    let found = addresses(&records, cluster);
                    tracing::debug!(%peer, records = records.len(), addresses = found.len(), "peers were told");
                    net.learn(found, Origin::PeerExchange).await;
                }
                Err(error) => tracing::debug!(%peer, %error, "no peers were told"),
            }
            tokio::time::sleep(ASK_EVERY).await;
        } else if changes.changed().await.is_err() {
            return;
        }
    }
}

/// Where the nodes of our cluster among the records can be dialled. Records are signed; one that does not hold is passed over.
fn addresses(records: &[Bytes], cluster: u16) -> Vec<Multiaddr> {
    let records = records.iter().filter_map(|record| Record::from_rlp(record).ok());
    let ours = records.filter(|record| {
        let shards = record.advertised().ok().and_then(|said| said.shards);
        shards.is_none_or(|shards| shards.cluster == cluster)
    });
    ours.filter_map(|record| record.dialable().ok()).flatten().collect()
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use levada_discovery::{Advertised, Shards};
    use levada_net::NodeKey;

    use super::*;

    fn record(cluster: Option<u16>) -> Bytes {
        let said = Advertised {
            ip4: Some(Ipv4Addr::new(192, 0, 2, 1)),
            tcp4: Some(60_000),
            shards: cluster.map(|cluster| Shards { cluster, indices: [0].into_iter().collect() }),
            ..Advertised::default()
        };
        Record::sign(&NodeKey::generate().secp256k1(), 1, &said).unwrap().0.to_rlp().into()
    }

    #[test]
    fn only_sound_records_of_our_cluster_are_taken() {
        let mut forged = record(Some(1)).to_vec();
        forged[20] ^= 1;
        let records = [record(Some(1)), record(Some(2)), record(None), forged.into(), Bytes::from_static(b"no record")];
        let found = addresses(&records, 1);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found.iter().all(|address| address.to_string().starts_with("/ip4/192.0.2.1/tcp/60000/p2p/")));
    }

    #[test]
    fn the_peer_is_named_by_its_address() {
        let id = NodeKey::generate().peer_id();
        assert_eq!(peer_of(&format!("/ip4/192.0.2.1/tcp/1/p2p/{id}")), Some(id));
        assert_eq!(peer_of("/ip4/192.0.2.1/tcp/1"), None);
    }
}
