//! The query string of `GET /store/v3/messages`, read into an archive query (13/WAKU2-STORE).

use levada_archive::{Direction, Query};
use levada_net::multiaddr::Protocol;
use levada_net::{Multiaddr, peer_address};

use super::error::Refusal;
use super::text;

const PARAMETERS: &[&str] = &[
    "peerAddr",
    "includeData",
    "pubsubTopic",
    "contentTopics",
    "startTime",
    "endTime",
    "hashes",
    "cursor",
    "ascending",
    "pageSize",
];

/// Reads the decoded name and value pairs of a query string.
///
/// An empty value is the same as none. A parameter that is unknown or there twice is refused: to ignore it would answer
/// another question than the one asked.
/// Gives the query, and the store node to ask.
pub(super) fn parse(pairs: &[(String, String)]) -> Result<(Query, Option<Multiaddr>), Refusal> {
    let mut peer = None;
    let mut query = Query { direction: Direction::Forward, ..Query::default() };
    let mut given: Vec<&str> = Vec::new();
    for (name, value) in pairs {
        let known = PARAMETERS.iter().find(|known| *known == name).ok_or_else(|| unknown(name))?;
        if given.contains(known) {
            let text = format!("query parameter {known} is given twice; lists are separated by commas in one value");
            return Err(Refusal::bad_request(text));
        }
        given.push(known);
        if !value.is_empty() {
            match *known {
                "peerAddr" => peer = Some(address(value)?),
                known => set(&mut query, known, value)?,
            }
        }
    }
    Ok((query, peer))
}

fn set(query: &mut Query, name: &str, value: &str) -> Result<(), Refusal> {
    match name {
        "includeData" => query.include_data = boolean(name, value)?,
        "pubsubTopic" => query.pubsub_topic = Some(value.to_owned()),
        "contentTopics" => query.content_topics = list(value).map(str::to_owned).collect(),
        "startTime" => query.time_start = time(name, value)?,
        "endTime" => query.time_end = time(name, value)?,
        "hashes" => query.hashes = list(value).map(hash).collect::<Result<_, _>>()?,
        "cursor" => query.cursor = Some(hash(value)?),
        "ascending" if boolean(name, value)? => query.direction = Direction::Forward,
        "ascending" => query.direction = Direction::Backward,
        // The only one left is pageSize.
        _ => query.page_size = page_size(value)?,
    }
    Ok(())
}

/// A multiaddress that can be dialled and names its peer.
fn address(value: &str) -> Result<Multiaddr, Refusal> {
    let wrong = |cause: &str| {
        let shown = text::shortened(value);
        Refusal::bad_request(format!("query parameter peerAddr: \"{shown}\" is no address of a peer: {cause}"))
    };
    let address = peer_address(value).map_err(|error| wrong(&error.to_string()))?;
    match address.iter().last() {
        Some(Protocol::P2p(_)) => Ok(address),
        _ => Err(wrong("it does not end in /p2p/ and a peer id")),
    }
}

fn unknown(name: &str) -> Refusal {
    let shown = text::shortened(name);
    Refusal::bad_request(match text::nearest(name, PARAMETERS) {
        Some(near) => format!("query parameter {shown} is unknown, did you mean {near}"),
        None => format!("query parameter {shown} is unknown, the parameters are {}", PARAMETERS.join(", ")),
    })
}

fn list(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(str::trim).filter(|item| !item.is_empty())
}

fn boolean(name: &str, value: &str) -> Result<bool, Refusal> {
    if value.eq_ignore_ascii_case("true") {
        Ok(true)
    } else if value.eq_ignore_ascii_case("false") {
        Ok(false)
    } else {
        Err(wrong(name, value, "true or false"))
    }
}

/// Nanoseconds since the epoch; 0 and less mean no bound.
fn time(name: &str, value: &str) -> Result<Option<i64>, Refusal> {
    let time_ns: i64 =
        value.parse().map_err(|_| wrong(name, value, "a whole number of nanoseconds since the epoch, below 2^63"))?;
    Ok(Some(time_ns).filter(|&time_ns| time_ns > 0))
}

/// Messages per page; 0 means the archive's default.
fn page_size(value: &str) -> Result<Option<u64>, Refusal> {
    let page_size: u64 = value.parse().map_err(|_| wrong("pageSize", value, "a whole number from 0 to 2^64 - 1"))?;
    Ok(Some(page_size).filter(|&page_size| page_size > 0))
}

fn wrong(name: &str, value: &str, expected: &str) -> Refusal {
    Refusal::bad_request(format!("query parameter {name}: \"{}\" is not {expected}", text::shortened(value)))
}

/// A message hash as 64 hex digits, with or without 0x. The two error texts are those clients of this API know.
fn hash(value: &str) -> Result<[u8; 32], Refusal> {
    let digits = value.strip_prefix("0x").or_else(|| value.strip_prefix("0X")).unwrap_or(value);
    let bytes = hex::decode(digits).map_err(|error| {
        let shown = text::shortened(value);
        Refusal::bad_request(format!("Exception converting hex string to bytes: {error} in {shown}"))
    })?;
    let length = bytes.len();
    bytes.try_into().map_err(|_| {
        let text = format!("waku message hash parsing error: invalid hash length: {length}, a hash has 32 bytes");
        Refusal::bad_request(text)
    })
}
