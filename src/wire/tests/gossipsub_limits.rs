//! RPC frames at and over their limits, malformed ones, and what the encoders write beyond the recorded frames.

use bytes::BytesMut;
use levada_wire::Span;
use levada_wire::error::{EncodeError, RpcError, WireError};
use levada_wire::gossipsub::{
    PUBLISH_HEADER_BYTES_MAX, Publication, PublishHeader, RpcItem, RpcLimits, RpcWalk, graft, idontwant, ihave, iwant,
    prune, publish_topic, subscribe,
};
use levada_wire::varint::decode_frame;

const TOPIC: &str = "/waku/2/rs/1/0";

fn walk(frame: &[u8], limits: RpcLimits) -> Result<Vec<RpcItem>, RpcError> {
    RpcWalk::new(frame, limits)?.collect()
}

fn written(write: impl FnOnce(&mut BytesMut)) -> Vec<u8> {
    let mut out = BytesMut::new();
    write(&mut out);
    out.to_vec()
}

#[test]
fn counts_are_limited_exactly() {
    let limits = RpcLimits {
        subscriptions_max: 2,
        messages_max: 2,
        controls_max: 2,
        message_ids_max: 2,
        ..RpcLimits::default()
    };
    let one = [
        ("subscriptions", written(|out| subscribe(TOPIC, true, out))),
        ("messages", vec![0x12, 0]),
        ("control entries", written(|out| graft(TOPIC, out))),
        ("message ids", written(|out| iwant(&[[7; 32]], out))),
    ];
    for (entries, frame) in &one[..3] {
        assert_eq!(walk(&frame.repeat(2), limits).map(|items| items.len()), Ok(2), "{entries}");
        assert_eq!(walk(&frame.repeat(3), limits), Err(RpcError::TooMany { entries, count_max: 2 }));
    }
    let too_many_ids = Err(RpcError::TooMany { entries: "message ids", count_max: 2 });
    assert_eq!(walk(&one[3].1.repeat(2), limits).map(|items| items.len()), Ok(2));
    assert_eq!(walk(&written(|out| iwant(&[[7; 32]; 3], out)), limits), too_many_ids);
    let more_controls = RpcLimits { controls_max: 3, ..limits };
    assert_eq!(walk(&one[3].1.repeat(3), more_controls), too_many_ids, "ids count over the whole frame");
    assert_eq!(walk(&written(|out| ihave(TOPIC, &[[7; 32]; 3], out)), limits), too_many_ids);
    assert_eq!(walk(&written(|out| idontwant(&[[7; 32]; 3], out)), limits), too_many_ids);
}

#[test]
fn frame_and_topic_lengths_are_limited_exactly() {
    let frame = written(|out| subscribe(TOPIC, true, out));
    let limits =
        |frame_bytes_max, topic_bytes_max| RpcLimits { frame_bytes_max, topic_bytes_max, ..Default::default() };
    assert!(walk(&frame, limits(20, 14)).is_ok());
    assert_eq!(walk(&frame, limits(19, 14)), Err(RpcError::TooLong { bytes: 20, bytes_max: 19 }));
    let refused = |offset| Err(RpcError::TopicTooLong { bytes: 14, offset, bytes_max: 13 });
    assert_eq!(walk(&frame, limits(20, 13)), refused(6));
    let mut topic = written(|out| publish_topic(TOPIC, out));
    topic.splice(0..0, [0x12, 16]);
    assert_eq!(walk(&topic, limits(20, 13)), refused(4));
    assert_eq!(walk(&written(|out| prune(TOPIC, None, out)), limits(20, 13)), refused(6));
}

#[test]
fn a_walk_ends_at_its_first_error() {
    let frame = [&written(|out| graft(TOPIC, out))[..], &[0x0b], &written(|out| graft(TOPIC, out))].concat();
    let mut walk = RpcWalk::new(&frame, RpcLimits::default()).expect("within the limit");
    assert!(matches!(walk.next(), Some(Ok(RpcItem::Graft { .. }))));
    assert_eq!(walk.next(), Some(Err(WireError::Group { offset: 20 }.into())));
    assert_eq!(walk.next(), None);
    assert_eq!(walk.next(), None);
}

#[test]
fn broken_inner_messages_are_errors() {
    for (frame, offset) in [
        (&[0x0a, 2, 0x12, 5][..], 2),
        (&[0x12, 2, 0x12, 5], 2),
        (&[0x1a, 2, 0x0a, 5], 2),
        (&[0x1a, 4, 0x0a, 2, 0x12, 9], 4),
        (&[0x1a, 4, 0x12, 2, 0x0a, 9], 4),
        (&[0x1a, 4, 0x22, 2, 0x18, 0x80], 4),
        (&[0x0a, 9], 0),
    ] {
        assert_eq!(walk(frame, RpcLimits::default()), Err(WireError::Truncated { offset }.into()), "{frame:02x?}");
    }
}

#[test]
fn an_inner_field_cannot_reach_beyond_its_message() {
    // The subscription has two bytes; its topic claims the byte behind it.
    let frame = [0x0a, 2, 0x12, 1, b'x'];
    assert_eq!(walk(&frame, RpcLimits::default()), Err(WireError::Truncated { offset: 2 }.into()));
}

#[test]
fn absent_unknown_and_wrongly_typed_fields() {
    assert_eq!(walk(&[], RpcLimits::default()), Ok(vec![]));
    let nothing = Span::default();
    let items = [
        (&[0x0a, 0][..], RpcItem::Subscription { subscribe: false, topic: nothing }),
        (&[0x12, 0], RpcItem::Publish(Publication::default())),
        (&[0x1a, 2, 0x1a, 0], RpcItem::Graft { topic: nothing }),
        (&[0x1a, 2, 0x22, 0], RpcItem::Prune { topic: nothing, backoff_s: None }),
        // An unknown entry, a control entry and a topic with the wrong wire type are passed over.
        (&[0x20, 1, 0x1a, 8, 0x32, 0, 0x08, 1, 0x1a, 2, 0x08, 1], RpcItem::Graft { topic: nothing }),
    ];
    for (frame, item) in items {
        assert_eq!(walk(frame, RpcLimits::default()), Ok(vec![item]), "{frame:02x?}");
    }
    for field in [0x0a, 0x1a, 0x2a, 0x32] {
        let frame = [0x12, 2, field, 0];
        let items = walk(&frame, RpcLimits::default());
        assert!(matches!(items.as_deref(), Ok([RpcItem::Publish(publication)]) if !publication.is_anonymous()));
    }
}

#[test]
fn control_messages_of_several_entries_and_several_control_messages() {
    let frame = [
        &[0x1a, 40][..],
        &written(|out| graft(TOPIC, out))[2..],
        &written(|out| prune(TOPIC, Some(60), out))[2..],
        &[0x12, 0],
        &written(|out| idontwant(&[[1; 32]], out)),
    ]
    .concat();
    let items = walk(&frame, RpcLimits::default()).expect("a well-formed frame");
    assert!(matches!(items[0], RpcItem::Graft { topic } if topic.of(&frame) == TOPIC.as_bytes()));
    assert!(matches!(items[1], RpcItem::Prune { topic, backoff_s: Some(60) } if topic.of(&frame) == TOPIC.as_bytes()));
    assert!(matches!(items[2], RpcItem::IWant { ids } if ids.count == 0));
    assert!(matches!(items[3], RpcItem::IDontWant { ids } if ids.of(&frame).eq([&[1; 32]])));
    assert_eq!(items.len(), 4);
}

#[test]
fn a_publish_frame_is_written_before_its_data() {
    for data_len in [0, 1, 127, 128, 16_383, 16_384, 150_000] {
        let data = vec![7; data_len];
        let header = PublishHeader::new(TOPIC, data_len).expect("a small frame");
        let topic = written(|out| publish_topic(TOPIC, out));
        let stream = [header.framed(), &topic, header.before_data(), &data].concat();
        let body = decode_frame(&stream, u32::MAX).expect("a frame").expect("complete");
        assert_eq!(body.end(), stream.len());
        assert_eq!(body.of(&stream), [header.bare(), &topic, header.before_data(), &data].concat());
        let items = walk(body.of(&stream), RpcLimits::default()).expect("a well-formed frame");
        let [RpcItem::Publish(publication)] = items[..] else { panic!("one message, not {items:?}") };
        assert_eq!(publication.data.of(body.of(&stream)), data);
        assert_eq!(publication.topic.of(body.of(&stream)), TOPIC.as_bytes());
        assert!(publication.is_anonymous());
    }
}

/// With nwaku's limit of 153 600 bytes per frame, 153 576 bytes of data are the most that travel on this topic.
#[test]
fn a_publish_frame_adds_24_bytes_to_a_large_message() {
    let topic = written(|out| publish_topic(TOPIC, out));
    let frame_bytes = |data_len| {
        let header = PublishHeader::new(TOPIC, data_len).expect("a small frame");
        header.bare().len() + topic.len() + header.before_data().len() + data_len
    };
    assert_eq!(frame_bytes(153_576), 153_600);
    assert_eq!(frame_bytes(153_577), 153_601);
}

#[test]
#[cfg(target_pointer_width = "64")]
fn a_publish_frame_has_at_most_u32_max_bytes() {
    let bytes_max = u32::MAX as usize;
    let added = 3 * 6 - 6 + 16;
    let header = PublishHeader::new(TOPIC, bytes_max - added).expect("the largest frame");
    assert_eq!(header.framed().len() + header.before_data().len(), PUBLISH_HEADER_BYTES_MAX);
    for data_len in [bytes_max - added + 1, bytes_max, usize::MAX] {
        let refused = PublishHeader::new(TOPIC, data_len);
        assert!(matches!(refused, Err(EncodeError::TooLong { .. })), "{data_len}");
    }
}
