//! One connection: a stream that is written, a stream that is read, and what happens when one of them ends.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use levada_router::{Moment, Protocol};
use libp2p::PeerId;
use libp2p::swarm::handler::{
    ConnectionEvent, DialUpgradeError, FullyNegotiatedInbound, FullyNegotiatedOutbound, StreamUpgradeError,
};
use libp2p::swarm::{ConnectionHandler, ConnectionHandlerEvent, ConnectionId, Stream, SubstreamProtocol};

use super::protocols::Protocols;
use super::queue::Link;
use super::reader::{Ended, Reader};
use super::shared::Shared;
use super::writer::Writer;
use crate::counters;
use crate::peers::Direction;
use crate::relay::PROTOCOL;
use crate::streams::OpenStream;

/// How often a stream that breaks soon is opened before the connection counts as useless.
const OPENINGS_MAX: u8 = 5;
/// A stream that lasted for this long did not break soon.
const GOOD_AFTER: Duration = Duration::from_secs(60);
/// What a stream that does not parse adds to the misbehaviour of the peer.
const MALFORMED_PENALTY: f64 = 1.0;

type Event = ConnectionHandlerEvent<Protocols, (), Infallible>;

/// The stream that is written.
enum Outbound {
    /// To be opened.
    Wanted,
    Opening,
    Open {
        stream: Stream,
        _counted: OpenStream,
    },
    /// The peer has no relay, or the connection is being closed.
    Off,
}

/// The relay's part of a connection.
pub(crate) struct Connection {
    shared: Arc<Shared>,
    peer: PeerId,
    connection: ConnectionId,
    link: Arc<Link>,
    writer: Writer,
    outbound: Outbound,
    /// Streams that were opened since one lasted.
    openings: u8,
    /// Whether an earlier stream was written.
    is_reopening: bool,
    /// When the last one was asked for.
    opening_since: Moment,
    inbound: Option<Reader<Stream>>,
    /// Counts the stream that is read.
    read_stream: Option<OpenStream>,
}

impl Connection {
    pub(crate) fn new(shared: Arc<Shared>, peer: PeerId, connection: ConnectionId, link: Arc<Link>) -> Self {
        let writer = Writer::new(shared.piece_bytes);
        Self {
            shared,
            peer,
            connection,
            link,
            writer,
            outbound: Outbound::Wanted,
            openings: 0,
            is_reopening: false,
            opening_since: Moment::ZERO,
            inbound: None,
            read_stream: None,
        }
    }

    fn agreed(&self, protocol: Protocol) {
        let (mut core, now) = (self.shared.core(), self.shared.now());
        core.agree(self.peer, self.connection, protocol, now);
    }

    fn opened(&mut self, stream: Stream, protocol: Protocol) {
        self.agreed(protocol);
        if self.is_reopening {
            self.shared.core().announce_again(&self.peer);
        }
        self.is_reopening = true;
        self.writer.restart();
        self.outbound = Outbound::Open { stream, _counted: OpenStream::new(PROTOCOL, Direction::Out) };
    }

    /// The peer does not agree to a stream. That is no fault unless it has opened one itself.
    fn refused(&mut self, error: &StreamUpgradeError<Infallible>) {
        match error {
            StreamUpgradeError::NegotiationFailed if self.inbound.is_some() => self.close(),
            StreamUpgradeError::NegotiationFailed => {
                self.outbound = Outbound::Off;
                self.shared.core().events.unsupported(self.peer);
            }
            error => {
                tracing::debug!(peer = %self.peer, %error, "no relay stream");
                self.broken();
            }
        }
    }

    /// Reads another stream from now on, or none.
    fn read_from(&mut self, next: Option<Reader<Stream>>) {
        self.read_stream = next.is_some().then(|| OpenStream::new(PROTOCOL, Direction::In));
        let last = std::mem::replace(&mut self.inbound, next);
        if let Some(parked) = last.and_then(|mut reader| reader.take_parked()) {
            self.shared.adopt(parked);
        }
    }

    fn broken(&mut self) {
        if self.shared.now().since(self.opening_since) >= GOOD_AFTER {
            self.openings = 0;
        }
        if self.openings < OPENINGS_MAX {
            self.outbound = Outbound::Wanted;
        } else {
            self.close();
        }
    }

    fn close(&mut self) {
        self.outbound = Outbound::Off;
        self.shared.core().events.close_one(self.peer, self.connection);
    }

    /// A peer that sends nonsense loses its connection, and stays known for it.
    fn malformed(&mut self) {
        counters::FRAMES_MALFORMED.add(1);
        {
            let mut core = self.shared.core();
            if let Some(index) = core.index_of(&self.peer) {
                core.router.penalise(index, MALFORMED_PENALTY);
            }
        }
        self.close();
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.read_from(None);
    }
}

impl ConnectionHandler for Connection {
    type FromBehaviour = Infallible;
    type ToBehaviour = Infallible;
    type InboundProtocol = Protocols;
    type OutboundProtocol = Protocols;
    type InboundOpenInfo = ();
    type OutboundOpenInfo = ();

    fn listen_protocol(&self) -> SubstreamProtocol<Protocols> {
        SubstreamProtocol::new(Protocols, ())
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        if let Outbound::Open { stream, .. } = &mut self.outbound
            && let Poll::Ready(Err(error)) =
                self.writer.poll(stream, &self.link, || self.shared.now(), |message| self.shared.sent(message), cx)
        {
            tracing::debug!(peer = %self.peer, %error, "the relay stream broke");
            self.broken();
        }
        if let Some(reader) = &mut self.inbound
            && let Poll::Ready(ended) = reader.poll(&self.shared, &self.peer, cx)
        {
            self.read_from(None);
            if ended == Ended::Malformed {
                self.malformed();
            }
        }
        if matches!(self.outbound, Outbound::Wanted) {
            self.openings += 1;
            self.opening_since = self.shared.now();
            self.outbound = Outbound::Opening;
            let protocol = SubstreamProtocol::new(Protocols, ());
            return Poll::Ready(ConnectionHandlerEvent::OutboundSubstreamRequest { protocol });
        }
        Poll::Pending
    }

    fn on_behaviour_event(&mut self, event: Infallible) {
        match event {}
    }

    fn on_connection_event(&mut self, event: ConnectionEvent<'_, Protocols, Protocols>) {
        match event {
            ConnectionEvent::FullyNegotiatedOutbound(FullyNegotiatedOutbound { protocol: (stream, name), .. }) => {
                self.opened(stream, name);
            }
            ConnectionEvent::FullyNegotiatedInbound(FullyNegotiatedInbound { protocol: (stream, name), .. }) => {
                if matches!(self.outbound, Outbound::Off) {
                    return;
                }
                self.agreed(name);
                // A peer that opens another stream has given the old one up.
                let reader = Reader::new(stream, &self.shared);
                self.read_from(Some(reader));
            }
            ConnectionEvent::DialUpgradeError(DialUpgradeError { error, .. }) => self.refused(&error),
            _ => {}
        }
    }
}
