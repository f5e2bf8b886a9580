//! The peer itself.

use std::time::Duration;

use levada_net::{NetConfig, NodeKey};
use levada_stock::{Gossipsub, gossipsub};
use libp2p::core::muxing::StreamMuxerBox;
use libp2p::core::transport::{Boxed, OrTransport};
use libp2p::core::upgrade::Version;
use libp2p::gossipsub::{Event, IdentTopic, MessageAcceptance};
use libp2p::identity::Keypair;
use libp2p::identity::secp256k1::{Keypair as Secp256k1, SecretKey};
use libp2p::swarm::{Config, NetworkBehaviour, SwarmEvent};
use libp2p::{Multiaddr, PeerId, Swarm, Transport, identify, noise, ping, tcp, websocket, yamux};
use serde_json::{Value, json};

use crate::Failure;
use crate::orders::{Order, say};

const TOPIC: &str = "/waku/2/rs/1/0";
const CLUSTER: u16 = 1;
const USAGE: &str = "usage: levada-interop-peer tcp|ws yamux|mplex KEY [LISTEN]";

/// What the peer speaks.
#[derive(NetworkBehaviour)]
pub struct Protocols {
    identify: identify::Behaviour,
    ping: ping::Behaviour,
    relay: Gossipsub,
}

/// A peer that has joined the topic.
pub struct Peer {
    /// To be polled.
    pub swarm: Swarm<Protocols>,
}

impl Peer {
    /// A peer as the command line wants it.
    pub fn new(arguments: &[String]) -> Result<Self, Failure> {
        let [_transport, muxer, key, listen @ ..] = arguments else { return Err(USAGE.into()) };
        let secret = SecretKey::try_from_bytes(hex::decode(key)?)?;
        let key = Keypair::from(Secp256k1::from(secret));
        let config = NetConfig { cluster_id: CLUSTER, ..NetConfig::new(NodeKey::generate()) };
        let identify = identify::Config::new("ipfs/0.1.0".to_owned(), key.public());
        let mut relay = gossipsub(&config)?;
        relay.subscribe(&IdentTopic::new(TOPIC))?;
        let protocols =
            Protocols { identify: identify::Behaviour::new(identify), ping: ping::Behaviour::default(), relay };
        let swarm = Config::with_tokio_executor().with_idle_connection_timeout(Duration::from_secs(3_600));
        let mut swarm = Swarm::new(transport(&key, muxer)?, protocols, key.public().to_peer_id(), swarm);
        for address in listen {
            swarm.listen_on(address.parse()?)?;
        }
        Ok(Self { swarm })
    }

    /// Follows an order.
    pub fn obey(&mut self, order: Order) -> Result<Value, Failure> {
        let relay = &mut self.swarm.behaviour_mut().relay;
        let topic = IdentTopic::new(TOPIC);
        Ok(match order {
            Order::Dial(address) => {
                self.swarm.dial(address.parse::<Multiaddr>()?)?;
                json!(true)
            }
            Order::Mesh(()) => relay.mesh_peers(&topic.hash()).map(PeerId::to_string).collect(),
            Order::Peers(()) => self.swarm.connected_peers().map(PeerId::to_string).collect(),
            Order::Publish(data) => json!(relay.publish(topic, hex::decode(data)?)?.to_string()),
            Order::Subscribe(true) => json!(relay.subscribe(&topic)?),
            Order::Subscribe(false) => json!(relay.unsubscribe(&topic)),
            Order::HangUp(peer) => {
                let peer = peer.parse::<PeerId>()?;
                self.swarm.disconnect_peer_id(peer).map_err(|()| "not connected")?;
                json!(true)
            }
        })
    }

    /// Tells of messages, each of which is relayed further.
    pub fn on_event(&mut self, event: SwarmEvent<ProtocolsEvent>) {
        match event {
            SwarmEvent::NewListenAddr { address, .. } => {
                say("listening", format!("{address}/p2p/{}", self.swarm.local_peer_id()));
            }
            SwarmEvent::Behaviour(ProtocolsEvent::Relay(Event::Message {
                propagation_source,
                message_id,
                message,
            })) => {
                let relay = &mut self.swarm.behaviour_mut().relay;
                relay.report_message_validation_result(&message_id, &propagation_source, MessageAcceptance::Accept);
                say("message", hex::encode(message.data));
            }
            _ => {}
        }
    }
}

fn transport(key: &Keypair, muxer: &str) -> Result<Boxed<(PeerId, StreamMuxerBox)>, Failure> {
    let plain = || tcp::tokio::Transport::new(tcp::Config::new().nodelay(true));
    let secure = OrTransport::new(websocket::Config::new(plain()), plain())
        .upgrade(Version::V1Lazy)
        .authenticate(noise::Config::new(key)?);
    Ok(match muxer {
        "yamux" => secure
            .multiplex(yamux::Config::default())
            .map(|(peer, muxer), _| (peer, StreamMuxerBox::new(muxer)))
            .boxed(),
        "mplex" => secure
            .multiplex(libp2p_mplex::Config::default())
            .map(|(peer, muxer), _| (peer, StreamMuxerBox::new(muxer)))
            .boxed(),
        _ => return Err(USAGE.into()),
    })
}
