//! Subscriptions and control messages of a peer, told to the router.

use levada_router::{Moment, PeerIndex, Subscribed};
use levada_wire::Span;
use levada_wire::error::RpcError;
use levada_wire::gossipsub::{RpcItem, RpcLimits, RpcWalk};
use levada_wire::waku::topics::PubsubTopic;

use super::core::Core;

impl Core {
    /// Handles one entry of an RPC. What stands before a fault counts.
    pub(crate) fn hear(
        &mut self,
        from: PeerIndex,
        entry: &[u8],
        limits: RpcLimits,
        now: Moment,
    ) -> Result<(), RpcError> {
        let heard = RpcWalk::new(entry, limits).and_then(|mut items| {
            items.try_for_each(|item| {
                self.hear_item(from, entry, item?, now);
                Ok(())
            })
        });
        self.dispatch(now);
        heard
    }

    fn hear_item(&mut self, from: PeerIndex, entry: &[u8], item: RpcItem, now: Moment) {
        let named =
            |router: &levada_router::Router<_>, topic: Span| name_of(entry, topic).and_then(|name| router.topic(name));
        match item {
            RpcItem::Subscription { subscribe, topic } => {
                self.hear_subscription(from, name_of(entry, topic), subscribe, now)
            }
            RpcItem::IHave { topic, ids } => {
                if let Some(topic) = named(&self.router, topic) {
                    self.router.ihave(from, topic, ids.of(entry), now, &mut self.actions);
                }
            }
            RpcItem::IWant { ids } => self.router.iwant(from, ids.of(entry), &mut self.actions),
            RpcItem::Graft { topic } => {
                if let Some(topic) = named(&self.router, topic) {
                    self.router.graft(from, topic, now, &mut self.actions);
                }
            }
            RpcItem::Prune { topic, backoff_s } => {
                if let Some(topic) = named(&self.router, topic) {
                    self.router.prune(from, topic, backoff_s, now);
                }
            }
            RpcItem::IDontWant { ids } => self.router.idontwant(from, ids.of(entry), &mut self.actions),
            // Published messages are not gathered.
            _ => {}
        }
    }

    /// Topics that are no shards of this node's cluster are passed over: a peer may take part in other clusters as well.
    fn hear_subscription(&mut self, from: PeerIndex, name: Option<&str>, joined: bool, now: Moment) {
        let Some(name) = name else { return };
        if !PubsubTopic::parse(name).is_ok_and(|topic| topic.cluster == self.cluster) {
            return;
        }
        if let Subscribed::Changed(_) = self.router.subscription(from, name, joined, now, &mut self.actions) {
            self.events.subscriptions_changed();
        }
    }
}

fn name_of(entry: &[u8], topic: Span) -> Option<&str> {
    std::str::from_utf8(topic.of(entry)).ok()
}
