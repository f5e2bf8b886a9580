//! The choice of a protocol for a new stream.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::Arc;

use libp2p::Stream;
use libp2p::core::upgrade::{InboundUpgrade, OutboundUpgrade, UpgradeInfo};

use super::served::{Served, ServedProtocols};

/// Offers the protocols served.
#[derive(Debug)]
pub(crate) struct Inbound(pub(super) ServedProtocols);

/// A served protocol as libp2p wants to name it.
#[derive(Clone, Debug)]
pub(crate) struct Offered(Arc<Served>);

impl AsRef<str> for Offered {
    fn as_ref(&self) -> &str {
        self.0.protocol()
    }
}

impl UpgradeInfo for Inbound {
    type Info = Offered;
    type InfoIter = std::vec::IntoIter<Offered>;

    fn protocol_info(&self) -> Self::InfoIter {
        self.0.iter().cloned().map(Offered).collect::<Vec<_>>().into_iter()
    }
}

impl InboundUpgrade<Stream> for Inbound {
    type Output = (Stream, Arc<Served>);
    type Error = Infallible;
    type Future = Ready<Result<Self::Output, Infallible>>;

    fn upgrade_inbound(self, stream: Stream, chosen: Offered) -> Self::Future {
        ready(Ok((stream, chosen.0)))
    }
}

/// Asks for one protocol.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outbound(pub(super) &'static str);

impl UpgradeInfo for Outbound {
    type Info = &'static str;
    type InfoIter = std::iter::Once<&'static str>;

    fn protocol_info(&self) -> Self::InfoIter {
        std::iter::once(self.0)
    }
}

impl OutboundUpgrade<Stream> for Outbound {
    type Output = Stream;
    type Error = Infallible;
    type Future = Ready<Result<Stream, Infallible>>;

    fn upgrade_outbound(self, stream: Stream, _: &'static str) -> Self::Future {
        ready(Ok(stream))
    }
}
