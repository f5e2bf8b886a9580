//! What the router has done and refused, for metrics.

macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// Totals since the router was made.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Counters {
            $($(#[doc = $doc])+ pub $name: u64,)+
        }

        impl Counters {
            /// Every counter by name.
            pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name),)+].into_iter()
            }
        }
    };
}

counters! {
    /// Messages that came for the first time.
    messages_new,
    /// Messages that came again.
    messages_duplicate,
    /// Messages accepted by the validators.
    messages_accepted,
    /// Messages rejected by the validators.
    messages_rejected,
    /// Messages that the validators ignored or never judged.
    messages_ignored,
    /// Messages that this node published.
    messages_published,
    /// Messages on a topic that is not joined.
    refused_not_joined,
    /// Messages with a sender, sequence number, signature or key.
    refused_not_anonymous,
    /// Messages too large to be passed on.
    refused_too_large,
    /// Messages refused because too many await a verdict.
    refused_pending_full,
    /// Calls for a peer that has left.
    refused_unknown_peer,
    /// Messages and control messages of graylisted peers.
    refused_graylisted,
    /// Subscriptions beyond the limits of a peer or of the table.
    subscriptions_refused,
    /// GRAFTs that were answered with PRUNE.
    grafts_refused,
    /// GRAFTs for topics that are not joined.
    grafts_ignored,
    /// GRAFTs before the backoff was over.
    grafts_in_backoff,
    /// IHAVE messages ignored: beyond the budget, of a low score, or on a topic that is not joined.
    ihave_ignored,
    /// Ids asked for with IWANT.
    iwant_sent,
    /// Messages sent in answer to IWANT.
    iwant_answered,
    /// Ids in IWANT that were not answered: unknown, sent too often, beyond the budget, or of a low score.
    iwant_ignored,
    /// Announcements that were not followed by the message.
    promises_broken,
    /// Ids in IDONTWANT that were not remembered because the peer sent too many.
    idontwant_ignored,
    /// Sends that IDONTWANT saved.
    idontwant_saved,
    /// Ids of control messages that are not 32 bytes long.
    ids_malformed,
    /// Messages that left the message cache early to keep it within its bytes.
    mcache_evicted,
    /// Disconnections asked for.
    disconnects,
}
