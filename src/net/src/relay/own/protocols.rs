//! The names under which relay is offered, and the upgrade that tells which one was agreed on.

use std::convert::Infallible;
use std::future::{Ready, ready};

use levada_router::Protocol;
use libp2p::StreamProtocol;
use libp2p::core::upgrade::{InboundUpgrade, OutboundUpgrade, UpgradeInfo};
use libp2p::swarm::Stream;

use crate::relay::PROTOCOL;

/// In the order of preference.
const NAMES: [(StreamProtocol, Protocol); 4] = [
    (StreamProtocol::new(PROTOCOL), Protocol::Waku),
    (StreamProtocol::new("/meshsub/1.2.0"), Protocol::Gossipsub12),
    (StreamProtocol::new("/meshsub/1.1.0"), Protocol::Gossipsub11),
    (StreamProtocol::new("/meshsub/1.0.0"), Protocol::Gossipsub10),
];

/// Agrees on a name and gives the stream as it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Protocols;

impl UpgradeInfo for Protocols {
    type Info = StreamProtocol;
    type InfoIter = std::array::IntoIter<StreamProtocol, 4>;

    fn protocol_info(&self) -> Self::InfoIter {
        NAMES.map(|(name, _)| name).into_iter()
    }
}

fn agreed(stream: Stream, name: &StreamProtocol) -> Ready<Result<(Stream, Protocol), Infallible>> {
    let protocol = NAMES.iter().find(|(known, _)| known == name).map_or(Protocol::Waku, |(_, protocol)| *protocol);
    ready(Ok((stream, protocol)))
}

impl InboundUpgrade<Stream> for Protocols {
    type Output = (Stream, Protocol);
    type Error = Infallible;
    type Future = Ready<Result<Self::Output, Infallible>>;

    fn upgrade_inbound(self, stream: Stream, name: StreamProtocol) -> Self::Future {
        agreed(stream, &name)
    }
}

impl OutboundUpgrade<Stream> for Protocols {
    type Output = (Stream, Protocol);
    type Error = Infallible;
    type Future = Ready<Result<Self::Output, Infallible>>;

    fn upgrade_outbound(self, stream: Stream, name: StreamProtocol) -> Self::Future {
        agreed(stream, &name)
    }
}
