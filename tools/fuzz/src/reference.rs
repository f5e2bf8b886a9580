//! The gossipsub RPC message as prost reads it. Topics are bytes, because the walk leaves them as they are.

/// A frame.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Frame {
    #[prost(message, repeated, tag = "1")]
    pub subscriptions: Vec<Subscription>,
    #[prost(message, repeated, tag = "2")]
    pub publish: Vec<Publication>,
    #[prost(message, optional, tag = "3")]
    pub control: Option<Control>,
}

impl Frame {
    /// The frame as the walk can tell it: an absent control message is as good as an empty one, and of the fields that Waku
    /// forbids only the presence counts.
    pub fn with_control(mut self) -> Self {
        self.control.get_or_insert_default();
        for publication in &mut self.publish {
            let Publication { from, seqno, signature, key, .. } = publication;
            [from, seqno, signature, key].into_iter().flatten().for_each(Vec::clear);
        }
        self
    }
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Subscription {
    #[prost(bool, tag = "1")]
    pub subscribe: bool,
    #[prost(bytes = "vec", tag = "2")]
    pub topic: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Publication {
    #[prost(bytes = "vec", optional, tag = "1")]
    pub from: Option<Vec<u8>>,
    #[prost(bytes = "vec", tag = "2")]
    pub data: Vec<u8>,
    #[prost(bytes = "vec", optional, tag = "3")]
    pub seqno: Option<Vec<u8>>,
    #[prost(bytes = "vec", tag = "4")]
    pub topic: Vec<u8>,
    #[prost(bytes = "vec", optional, tag = "5")]
    pub signature: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "6")]
    pub key: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Control {
    #[prost(message, repeated, tag = "1")]
    pub ihave: Vec<TopicIds>,
    #[prost(message, repeated, tag = "2")]
    pub iwant: Vec<Ids>,
    #[prost(message, repeated, tag = "3")]
    pub graft: Vec<Topic>,
    #[prost(message, repeated, tag = "4")]
    pub prune: Vec<Pruned>,
    #[prost(message, repeated, tag = "5")]
    pub idontwant: Vec<Ids>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct TopicIds {
    #[prost(bytes = "vec", tag = "1")]
    pub topic: Vec<u8>,
    #[prost(bytes = "vec", repeated, tag = "2")]
    pub ids: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Ids {
    #[prost(bytes = "vec", repeated, tag = "1")]
    pub ids: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Topic {
    #[prost(bytes = "vec", tag = "1")]
    pub topic: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Pruned {
    #[prost(bytes = "vec", tag = "1")]
    pub topic: Vec<u8>,
    #[prost(uint64, optional, tag = "3")]
    pub backoff_s: Option<u64>,
}
