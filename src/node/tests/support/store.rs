//! Asking the archive over REST (13/WAKU2-STORE).

use std::collections::HashMap;
use std::net::SocketAddr;

use super::http::Client;

/// Every hash that the archive holds, and how often, read page by page.
pub fn all_hashes(rest: SocketAddr) -> HashMap<String, usize> {
    let mut client = Client::new(rest);
    let mut found = HashMap::new();
    let mut cursor = String::new();
    loop {
        let page = client.get(&format!("/store/v3/messages?includeData=false&pageSize=100&cursor={cursor}"));
        assert_eq!(page.status, 200, "{}", page.text());
        let page = page.json();
        for hash in hashes(&page) {
            *found.entry(hash).or_default() += 1;
        }
        match page["paginationCursor"].as_str() {
            Some(next) => next.clone_into(&mut cursor),
            None => return found,
        }
    }
}

/// Those of `wanted` that a query by hash finds, in as few queries as their limit allows.
pub fn by_hashes(rest: SocketAddr, wanted: &[String]) -> Vec<String> {
    let mut client = Client::new(rest);
    let mut query = |hashes: &[String]| {
        let page =
            client.get(&format!("/store/v3/messages?includeData=false&pageSize=100&hashes={}", hashes.join(",")));
        assert_eq!(page.status, 200, "{}", page.text());
        hashes_of_whole_page(&page.json())
    };
    wanted.chunks(100).flat_map(&mut query).collect()
}

fn hashes_of_whole_page(page: &serde_json::Value) -> Vec<String> {
    assert_eq!(page["paginationCursor"], serde_json::Value::Null, "one page holds every hash asked for");
    hashes(page)
}

/// The hashes of a page, in its order.
pub fn hashes(page: &serde_json::Value) -> Vec<String> {
    let messages = page["messages"].as_array().expect("a page has messages");
    messages.iter().map(|message| message["messageHash"].as_str().expect("a message has a hash").to_owned()).collect()
}
