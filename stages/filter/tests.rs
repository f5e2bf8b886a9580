//! Each status, text and limit of 12/WAKU2-FILTER as nwaku has them.

use std::time::{Duration, Instant};

use levada_wire::waku::filter::{CONTENT_TOPICS_MAX, FilterSubscribeRequest, FilterSubscribeType};

use super::*;

const TOPIC: &str = "/waku/2/rs/1/0";

fn request<'a>(kind: FilterSubscribeType, content_topics: &[&'a str]) -> FilterSubscribeRequest<'a> {
    let pubsub_topic = (!content_topics.is_empty()).then_some(TOPIC);
    FilterSubscribeRequest { request_id: "r", kind, pubsub_topic, content_topics: content_topics.to_vec() }
}

struct Clients {
    subscriptions: Subscriptions,
    now: Instant,
}

impl Clients {
    fn new(subscribers_max: usize, criteria_max: usize) -> Self {
        let limits = Limits { subscribers_max, criteria_max, ..Limits::default() };
        Self { subscriptions: Subscriptions::new(limits), now: Instant::now() }
    }

    fn ask(&self, client: u8, kind: FilterSubscribeType, content_topics: &[&str]) -> Result<Change, Refusal> {
        self.subscriptions.request(&[client], &request(kind, content_topics), self.now)
    }

    fn subscribe(&self, client: u8, content_topics: &[&str]) -> Result<Change, Refusal> {
        self.ask(client, FilterSubscribeType::Subscribe, content_topics)
    }

    fn unsubscribe(&self, client: u8, content_topics: &[&str]) -> Result<Change, Refusal> {
        self.ask(client, FilterSubscribeType::Unsubscribe, content_topics)
    }

    fn unsubscribe_all(&self, client: u8) -> Result<Change, Refusal> {
        self.ask(client, FilterSubscribeType::UnsubscribeAll, &[])
    }

    fn ping(&self, client: u8) -> Result<Change, Refusal> {
        self.ask(client, FilterSubscribeType::SubscriberPing, &[])
    }

    fn of(&self, content_topic: &str) -> Vec<u32> {
        self.subscriptions.subscribers_of(TOPIC, content_topic).map(|list| list.to_vec()).unwrap_or_default()
    }
}

#[test]
fn status_200_and_exact_matches_only() {
    let clients = Clients::new(10, 10);
    assert_eq!(clients.subscribe(7, &["/a/1/b/proto"]), Ok(Change::Opened(0)));
    assert_eq!(clients.subscribe(7, &["/a/1/b/proto"]), Ok(Change::None));
    assert_eq!(clients.subscribe(8, &["/a/1/b/proto", "/a/1/c/proto", "/a/1/c/proto"]), Ok(Change::Opened(1)));
    assert_eq!((clients.of("/a/1/b/proto"), clients.of("/a/1/c/proto")), (vec![0, 1], vec![1]));
    assert_eq!((clients.of("/a/1/B/proto"), clients.of("/a/1/b")), (vec![], vec![]));
    assert_eq!(clients.subscriptions.matches("/waku/2/rs/1/1", "/a/1/b/proto"), 0);
    assert_eq!((clients.subscriptions.count(), clients.subscriptions.subscribers()), (3, 2));
    assert_eq!(clients.ping(7), Ok(Change::None));
    assert_eq!(clients.unsubscribe(8, &["/a/1/c/proto"]), Ok(Change::None));
    assert_eq!(clients.unsubscribe(7, &["/a/1/b/proto"]), Ok(Change::Closed(0)), "the last criterion");
    assert_eq!(clients.unsubscribe_all(8), Ok(Change::Closed(1)));
    assert_eq!((clients.subscriptions.count(), clients.subscriptions.subscribers()), (0, 0));
}

#[test]
fn status_400_pubsub_topic_and_content_topics_must_be_specified() {
    let clients = Clients::new(10, 10);
    for kind in [FilterSubscribeType::Subscribe, FilterSubscribeType::Unsubscribe] {
        for (pubsub_topic, content_topics) in [(None, vec!["a"]), (Some(TOPIC), vec![]), (None, vec![])] {
            let request = FilterSubscribeRequest { request_id: "r", kind, pubsub_topic, content_topics };
            let refusal = clients.subscriptions.request(&[1], &request, clients.now).unwrap_err();
            assert_eq!(refusal.status(), 400);
            assert_eq!(refusal.to_string(), "BAD_REQUEST: pubsubTopic and contentTopics must be specified");
        }
    }
}

#[test]
fn status_400_exceeds_maximum_content_topics_100() {
    let clients = Clients::new(10, 1_000);
    let names: Vec<String> = (0..=CONTENT_TOPICS_MAX).map(|number| format!("/a/1/{number}/proto")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(clients.subscribe(1, &names[1..]), Ok(Change::Opened(0)), "100 are granted");
    for refusal in [clients.subscribe(1, &names), clients.unsubscribe(1, &names)].map(Result::unwrap_err) {
        assert_eq!(
            (refusal.status(), &*refusal.to_string()),
            (400, "BAD_REQUEST: exceeds maximum content topics: 100")
        );
    }
}

#[test]
fn status_400_exceeds_maximum_topic_length() {
    let (clients, long) = (Clients::new(10, 10), "x".repeat(TOPIC_BYTES_MAX + 1));
    assert_eq!(clients.subscribe(1, &[&long[1..]]), Ok(Change::Opened(0)));
    let refusal = clients.subscribe(1, &["/a/1/b/proto", &long]).unwrap_err();
    assert_eq!((refusal.status(), &*refusal.to_string()), (400, "BAD_REQUEST: exceeds maximum topic length: 1024"));
    assert_eq!(clients.subscriptions.count(), 1, "a request is granted whole or not at all");
}

#[test]
fn status_404_peer_has_no_subscriptions() {
    let clients = Clients::new(10, 10);
    clients.subscribe(1, &["held", "by both"]).unwrap();
    clients.subscribe(2, &["by both", "other"]).unwrap();
    for outcome in [clients.ping(3), clients.unsubscribe(3, &["held"]), clients.unsubscribe_all(3)] {
        let refusal = outcome.unwrap_err();
        assert_eq!((refusal.status(), &*refusal.to_string()), (404, "NOT_FOUND: peer has no subscriptions"));
    }
    // Of somebody who is subscribed: a criterion that others have is let pass, one that nobody has is not.
    assert_eq!(clients.unsubscribe(1, &["other"]), Ok(Change::None));
    assert_eq!(clients.unsubscribe(1, &["by both", "nobody's", "held"]), Err(Refusal::NoSubscription));
    assert_eq!((clients.of("by both"), clients.of("held"), clients.of("other")), (vec![1], vec![0], vec![1]));
    // Refused though it took the last criterion: that subscriber is gone all the same.
    assert_eq!(clients.unsubscribe(1, &["held", "nobody's"]), Err(Refusal::NoSubscription));
    assert_eq!((clients.subscriptions.expire(clients.now), clients.ping(1)), (vec![0], Err(Refusal::NoSubscription)));
}

#[test]
fn status_503_peer_has_reached_maximum_number_of_filter_criteria() {
    let clients = Clients::new(10, 2);
    clients.subscribe(1, &["a", "b"]).unwrap();
    assert_eq!(clients.subscribe(1, &["b", "a"]), Ok(Change::None), "what it has already does not count again");
    for refusal in [clients.subscribe(1, &["c"]), clients.subscribe(2, &["a", "b", "c"])].map(Result::unwrap_err) {
        let text = "SERVICE_UNAVAILABLE: peer has reached maximum number of filter criteria";
        assert_eq!((refusal.status(), &*refusal.to_string()), (503, text));
    }
    assert_eq!((clients.subscriptions.subscribers(), clients.subscriptions.count()), (1, 2));
}

#[test]
fn status_503_node_has_reached_maximum_number_of_subscriptions() {
    let mut clients = Clients::new(2, 10);
    clients.subscribe(1, &["a"]).unwrap();
    clients.subscribe(2, &["a"]).unwrap();
    let refusal = clients.subscribe(3, &["a"]).unwrap_err();
    let text = "SERVICE_UNAVAILABLE: node has reached maximum number of subscriptions: 2";
    assert_eq!((refusal.status(), &*refusal.to_string()), (503, text));
    assert_eq!(clients.subscribe(2, &["b"]), Ok(Change::None), "who is served goes on");
    clients.unsubscribe_all(1).unwrap();
    assert_eq!(clients.subscribe(3, &["a"]), Ok(Change::Opened(2)));
    clients.now += Duration::from_secs(301);
    assert_eq!(clients.subscribe(4, &["a"]), Ok(Change::Opened(3)), "those who fell silent make room");
    assert_eq!(clients.subscriptions.expire(clients.now).len(), 2);
}

#[test]
fn status_503_node_has_reached_maximum_number_of_filter_criteria() {
    let clients = Clients::new(usize::MAX, usize::MAX);
    let long = "x".repeat(TOPIC_BYTES_MAX - 8);
    let refusal = (0..1_000).find_map(|round| {
        let names: Vec<String> = (0..CONTENT_TOPICS_MAX).map(|number| format!("{long}{round:04}{number:04}")).collect();
        clients.subscribe(1, &names.iter().map(String::as_str).collect::<Vec<_>>()).err()
    });
    let refusal = refusal.expect("64 MiB are full");
    let text = "SERVICE_UNAVAILABLE: node has reached maximum number of filter criteria";
    assert_eq!((refusal.status(), &*refusal.to_string()), (503, text));
    assert!(clients.subscriptions.count() > 50_000);
    clients.unsubscribe_all(1).unwrap();
    assert_eq!(clients.subscribe(1, &["a"]), Ok(Change::Opened(1)));
}

#[test]
fn a_subscription_lives_300_s_after_the_last_request() {
    let mut clients = Clients::new(10, 10);
    clients.subscribe(1, &["a"]).unwrap();
    for kind in [FilterSubscribeType::SubscriberPing, FilterSubscribeType::Subscribe, FilterSubscribeType::Unsubscribe]
    {
        clients.now += Duration::from_secs(300);
        assert_eq!(clients.subscriptions.expire(clients.now), [0; 0]);
        let content_topics: &[&str] = if kind == FilterSubscribeType::Unsubscribe { &["b"] } else { &["a", "b"] };
        assert_eq!(clients.ask(1, kind, content_topics), Ok(Change::None), "{kind:?}");
    }
    clients.now += Duration::from_secs(301);
    assert_eq!(clients.subscriptions.matches(TOPIC, "a"), 1, "a match, and so a push, does not keep it alive");
    assert_eq!(clients.ping(1), Err(Refusal::NoSubscription), "whether it was swept or not");
    assert_eq!(clients.of("a"), [0; 0]);
    assert_eq!(clients.subscriptions.expire(clients.now), [0]);
    assert_eq!(clients.subscriptions.expire(clients.now), [0; 0]);
    assert_eq!(clients.subscribe(1, &["a"]), Ok(Change::Opened(1)));
}

#[test]
fn ten_thousand_subscribers_each_with_their_own_topic_and_one_in_common() {
    let clients = Clients::new(10_000, 10);
    for number in 0..10_000_u32 {
        let own = format!("/a/1/{number}/proto");
        let request = request(FilterSubscribeType::Subscribe, &[&own, "common"]);
        let change = clients.subscriptions.request(&number.to_le_bytes(), &request, clients.now);
        assert_eq!(change, Ok(Change::Opened(number)));
    }
    assert_eq!((clients.of("/a/1/9999/proto"), clients.of("common").len()), (vec![9_999], 10_000));
}
