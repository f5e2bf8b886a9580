//! The walk over a gossipsub frame beside prost: the same items, in the same order among those of a kind, or a departure that
//! is known.
#![no_main]

mod reference;

use fuzz::mutate::mutate;
use fuzz::shapes::FRAME;
use levada_wire::error::{RpcError, WireError};
use levada_wire::gossipsub::{MessageIds, RpcItem, RpcLimits, RpcWalk};
use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use prost::Message;
use reference::{Control, Frame, Ids, Pruned, Publication, Subscription, Topic, TopicIds};

/// Small, so that the fuzzer comes to exceed each of them.
const LIMITS: RpcLimits = RpcLimits {
    frame_bytes_max: 400,
    subscriptions_max: 8,
    messages_max: 8,
    controls_max: 8,
    message_ids_max: 16,
    topic_bytes_max: 32,
};

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| { mutate(data, size, max_size, seed, FRAME) });

fuzz_target!(|data: &[u8]| {
    let walked: Result<Vec<RpcItem>, RpcError> = RpcWalk::new(data, LIMITS).and_then(Iterator::collect);
    match (walked, Frame::decode(data)) {
        (Ok(items), Ok(frame)) => assert_eq!(collected(&items, data), frame.with_control()),
        (Ok(items), Err(error)) => {
            // A known field of another wire type is passed over like an unknown one.
            assert!(error.to_string().contains("invalid wire type: "), "{items:?}, and prost says: {error}");
        }
        (Err(error), Ok(frame)) => {
            let is_stricter = matches!(
                error,
                RpcError::TooLong { .. }
                    | RpcError::TooMany { .. }
                    | RpcError::TopicTooLong { .. }
                    | RpcError::Wire(WireError::Group { .. })
            );
            assert!(is_stricter, "{error:?}, and prost reads {frame:?}");
        }
        (Err(_), Err(_)) => {}
    }
});

/// The items of a walk as prost reads them.
fn collected(items: &[RpcItem], data: &[u8]) -> Frame {
    let all = |ids: MessageIds| {
        let all: Vec<Vec<u8>> = ids.of(data).map(<[u8]>::to_vec).collect();
        assert_eq!(all.len(), ids.count as usize);
        all
    };
    let (mut frame, mut control) = (Frame::default(), Control::default());
    for item in items {
        match *item {
            RpcItem::Subscription { subscribe, topic } => {
                frame.subscriptions.push(Subscription { subscribe, topic: topic.of(data).to_vec() });
            }
            RpcItem::Publish(publication) => frame.publish.push(published(publication, data)),
            RpcItem::IHave { topic, ids } => {
                control.ihave.push(TopicIds { topic: topic.of(data).to_vec(), ids: all(ids) });
            }
            RpcItem::IWant { ids } => control.iwant.push(Ids { ids: all(ids) }),
            RpcItem::Graft { topic } => control.graft.push(Topic { topic: topic.of(data).to_vec() }),
            RpcItem::Prune { topic, backoff_s } => {
                control.prune.push(Pruned { topic: topic.of(data).to_vec(), backoff_s });
            }
            RpcItem::IDontWant { ids } => control.idontwant.push(Ids { ids: all(ids) }),
            _ => panic!("an item that the reference does not know: {item:?}"),
        }
    }
    frame.control = Some(control);
    frame
}

/// Of the fields that Waku forbids only their presence is compared.
fn published(publication: levada_wire::gossipsub::Publication, data: &[u8]) -> Publication {
    let present = |is_present: bool| is_present.then(Vec::new);
    Publication {
        from: present(publication.from),
        data: publication.data.of(data).to_vec(),
        seqno: present(publication.seqno),
        topic: publication.topic.of(data).to_vec(),
        signature: present(publication.signature),
        key: present(publication.key),
    }
}
