//! A node resumes from store nodes that serve well, ill, or no longer.

mod rig;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use levada_engine::Drained;
use levada_net::NetHandle;
use levada_net::exchange::Reply;
use levada_net::store::{StoreFailure, StorePage, StoreRow};
use levada_stages::unix_ns;
use levada_wire::hash::Digest;

use super::ResumeCounters;
use crate::node::last_online::LastOnline;
use rig::{MESSAGE_BYTES_MAX, Rig, Server, hour_ago, page, row, row_at, rows, until};

const SECOND: i64 = 1_000_000_000;

fn hashes(rows: &[StoreRow]) -> Vec<Digest> {
    rows.iter().map(|row| row.hash).collect()
}

fn time(row: &StoreRow) -> i64 {
    row.body.as_ref().unwrap().timestamp
}

/// Where a node of this test keeps when it was online.
fn last_online() -> (tempfile::TempDir, LastOnline) {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}/a", folder.path().display()).parse().unwrap();
    (folder, LastOnline::of(&url).unwrap())
}

fn sent(rows: Vec<StoreRow>, cursor: Option<Digest>) -> StorePage {
    StorePage { rows, cursor, hold: Box::new(()) }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_that_was_missed_is_fetched_once_and_a_page_only_when_the_last_is_archived() {
    let (_folder, last_online) = last_online();
    let (all, archived) = (rows(250), Arc::new(OnceLock::<Arc<ResumeCounters>>::new()));
    let (served, seen) = (all.clone(), archived.clone());
    let server = Server::answering(move |number, asked| {
        assert_eq!(seen.get().unwrap().archived.value(), 100 * (number as u64 - 1), "at request {number}");
        Ok(page(&served, asked))
    })
    .await;
    let rig = Rig::new(&[&server], Some(last_online.clone())).await;
    archived.set(rig.counters.clone()).unwrap();
    let before = unix_ns();
    let resume = rig.start();
    until(async || resume.is_complete() && last_online.read().unwrap().is_some_and(|time| time >= before)).await;
    assert_eq!(rig.hashes().await, hashes(&all));
    let counters = &rig.counters;
    assert_eq!((counters.pages.value(), counters.archived.value(), counters.missing_seconds()), (3, 250, 0));
    assert_eq!((counters.known.value(), counters.refused.value(), counters.failures.value()), (0, 0, 0));
    let asked = server.asked();
    assert_eq!(asked.len(), 3);
    let hours = (asked[0].time_end.unwrap() - asked[0].time_start.unwrap()) / SECOND;
    assert_eq!(hours, 6 * 3_600 + 20, "nobody knows when it was online");
    assert_eq!(rig.stop(resume, before + 7).await, Drained::Complete);
    assert_eq!(last_online.read().unwrap(), Some(before + 7), "it was online until it was stopped");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_there_already_and_what_is_of_no_interest_is_not_fetched_into_the_archive() {
    let mut all = rows(120);
    all[7].body.as_mut().unwrap().pubsub_topic = "/waku/2/rs/0/7".to_owned();
    let server = Server::with(all.clone()).await;
    let rig = Rig::new(&[&server], None).await;
    for round in 1..3 {
        rig.work().try_once(true).await.unwrap();
        let counters = &rig.counters;
        assert_eq!((counters.archived.value(), counters.known.value()), (119, 119 * (round - 1)));
        assert_eq!((counters.unknown_topic.value(), counters.refused.value()), (round, 0));
    }
    all.remove(7);
    assert_eq!(rig.hashes().await, hashes(&all));
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_larger_than_the_arena_together_are_fetched_and_one_that_is_too_large_is_refused() {
    let mut all: Vec<StoreRow> = (0..99).map(|number| row(number, vec![number as u8; 149 << 10])).collect();
    let too_large = row(99, vec![7; MESSAGE_BYTES_MAX]);
    all.push(too_large);
    let server = Server::with(all.clone()).await;
    let rig = Rig::new(&[&server], None).await;
    rig.work().try_once(true).await.unwrap();
    assert_eq!((rig.counters.archived.value(), rig.counters.refused.value()), (99, 1));
    assert_eq!(rig.hashes().await, hashes(&all[..99]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_node_that_refuses_is_tried_three_times_and_then_the_node_goes_on() {
    let (_folder, last_online) = last_online();
    let server = Server::answering(|_, _| Err(StoreFailure::Unavailable)).await;
    let rig = Rig::new(&[&server], Some(last_online.clone())).await;
    let resume = rig.start();
    assert!(rig.counters.is_running());
    until(async || resume.task.is_finished()).await;
    assert!(!rig.counters.is_running());
    assert_eq!((rig.counters.failures.value(), server.asked().len()), (3, 3));
    assert!(rig.counters.missing_seconds() >= 6 * 3_600 && !resume.is_complete());
    assert_eq!(rig.stop(resume, unix_ns()).await, Drained::Complete);
    assert_eq!(last_online.read().unwrap(), None, "the next start asks again");
}

/// A store node with rows that is gone when it is asked for the second page.
async fn goes_away(all: &[StoreRow]) -> Server {
    let (served, own) = (all.to_vec(), Arc::new(OnceLock::<NetHandle>::new()));
    let handle = own.clone();
    let server = Server::answering(move |number, asked| {
        if number > 1 {
            handle.get().unwrap().shutdown();
            return Err(StoreFailure::Unavailable);
        }
        Ok(page(&served, asked))
    })
    .await;
    assert!(own.set(server.handle()).is_ok());
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn when_a_store_node_goes_away_another_one_goes_on_where_it_was() {
    let all = rows(250);
    let (first, second) = (goes_away(&all).await, Server::with(all.clone()).await);
    let rig = Rig::new(&[&first, &second], None).await;
    let resume = rig.start();
    until(async || resume.is_complete()).await;
    assert_eq!(rig.hashes().await, hashes(&all));
    assert_eq!((rig.counters.archived.value(), rig.counters.failures.value()), (250, 1));
    let asked = second.asked();
    assert_eq!(asked[0].time_start, Some(time(&all[99]) - 20 * SECOND));
    rig.stop(resume, unix_ns()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_resumed_to_the_end_is_taken_up_by_the_next_start() {
    let (_folder, last_online) = last_online();
    let all = rows(250);
    let first = goes_away(&all).await;
    let rig = Rig::new(&[&first], Some(last_online.clone())).await;
    let resume = rig.start();
    until(async || resume.task.is_finished()).await;
    assert_eq!(rig.hashes().await, hashes(&all[..100]));
    // The page was news, so three more tries in vain end it.
    assert_eq!(rig.counters.failures.value(), 3);
    assert_eq!(last_online.read().unwrap(), Some(time(&all[99])), "no further than what is in the archive");
    drop(resume);

    let second = Server::with(all.clone()).await;
    let rig = rig.among(&[&second]).await;
    let resume = rig.start();
    until(async || resume.is_complete()).await;
    assert_eq!(second.asked()[0].time_start, Some(time(&all[99]) - 20 * SECOND));
    assert_eq!(rig.hashes().await, hashes(&all));
    assert_eq!(rig.counters.archived.value(), 250);
    rig.stop(resume, unix_ns()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_time_that_says_nothing_is_not_gone_by() {
    let (_folder, last_online) = last_online();
    let server = Server::with(rows(3)).await;
    // Of now, beside an archive that has nothing; no time at all; and one that is still to come, beside an archive with messages.
    for (written, archived) in [(unix_ns().to_string(), 0), ("yesterday".to_owned(), 0), (i64::MAX.to_string(), 3)] {
        let mut rig = Rig::new(&[&server], None).await;
        if archived > 0 {
            rig.work().try_once(true).await.unwrap();
        }
        assert_eq!(rig.hashes().await.len(), archived);
        std::fs::write(last_online.path(), &written).unwrap();
        rig.last_online = Some(last_online.clone());
        let resume = rig.start();
        until(async || resume.is_complete()).await;
        let asked = *server.asked().last().unwrap();
        assert_eq!((asked.time_end.unwrap() - asked.time_start.unwrap()) / SECOND, 6 * 3_600 + 20, "{written}");
        assert_eq!(rig.hashes().await.len(), 3);
        rig.stop(resume, unix_ns()).await;
        assert!(last_online.read().unwrap().is_some_and(|time| time <= unix_ns()), "and is replaced");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_that_fails_for_a_while_loses_nothing_of_it() {
    let (_folder, last_online) = last_online();
    let (all, fails) = (rows(150), Arc::new(OnceLock::<Arc<AtomicBool>>::new()));
    let (served, switch) = (all.clone(), fails.clone());
    let server = Server::answering(move |number, asked| {
        // It works for the first page, fails for the second one, and works again.
        switch.get().unwrap().store(number == 2, Relaxed);
        Ok(page(&served, asked))
    })
    .await;
    let rig = Rig::new(&[&server], Some(last_online.clone())).await;
    fails.set(rig.fails.clone()).unwrap();
    let mut work = rig.work();
    let error = work.try_once(true).await.unwrap_err();
    assert_eq!(error.to_string(), "this node's archive failed on what was fetched");
    assert_eq!((rig.counters.archived.value(), last_online.read().unwrap()), (100, Some(time(&all[99]))));
    work.try_once(true).await.unwrap();
    assert_eq!((rig.hashes().await, rig.counters.archived.value()), (hashes(&all), 150));
}

/// What a try says of a store node that answers like this, and how many pages of it are in the archive.
async fn told(answer: impl Fn(usize, rig::Asked) -> StorePage + Send + Sync + 'static) -> (String, u64, usize) {
    let server = Server::answering(move |number, asked| Ok(answer(number, asked))).await;
    let rig = Rig::new(&[&server], None).await;
    let error = rig.work().try_once(true).await.unwrap_err();
    (error.to_string(), rig.counters.pages.value(), server.asked().len())
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_that_were_not_asked_for_are_named_and_end_the_try() {
    let cursor = Some([7; 32]);
    let name = |text: &str| format!("the store node's {text}");
    let never_ending = told(move |_, _| sent(rows(100), cursor)).await;
    assert_eq!(never_ending, (name("messages do not ascend by time and hash"), 1, 2));
    let descending = told(|_, _| sent(rows(2).into_iter().rev().collect(), None)).await;
    assert_eq!(descending, (name("messages do not ascend by time and hash"), 0, 1));
    let empty = told(move |_, _| sent(Vec::new(), cursor)).await;
    assert_eq!(empty, (name("page is empty, and yet it names a next one"), 0, 1));
    let many = told(|_, _| sent(rows(101), None)).await;
    assert_eq!(many, (name("page has 101 messages where at most 100 were asked for"), 0, 1));
    let bare = told(|_, _| sent(vec![StoreRow { hash: [1; 32], body: None }], None)).await;
    assert_eq!(bare, (name("page has a message without its content"), 0, 1));
    for time in [hour_ago() - 6 * 3_600 * SECOND, unix_ns() + 60 * SECOND, i64::MIN, i64::MAX] {
        let elsewhere = told(move |_, _| sent(vec![row_at(time, b"p".to_vec())], None)).await;
        assert_eq!(elsewhere, (name("page has a message of another time than was asked for"), 0, 1), "{time}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_are_none_are_named_and_end_the_try() {
    type Garbage = fn(Bytes) -> Reply;
    let cases: [(Garbage, &str); 5] = [
        (|_| Reply::None, "the peer ended the stream before its answer was complete"),
        (|_| Reply::body(Bytes::from_static(&[0xff; 9])), "the store node's answer cannot be read"),
        (|request| Reply::body(request), "the store node's answer cannot be read"),
        (|_| Reply::body(Bytes::from_static(&[0x0a, 1, b'x', 0x50, 200, 1])), "the store node answers another query"),
        (|_| Reply::body(vec![0; 20 << 20]), "the peer's answer is no frame within the limit"),
    ];
    for (answer, expected) in cases {
        let server = Server::raw(answer).await;
        let rig = Rig::new(&[&server], None).await;
        let error = rig.work().try_once(true).await.unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
        assert_eq!((rig.hashes().await.len(), rig.arena.slots_in_use()), (0, 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_in_the_middle_leaves_the_time_at_what_is_archived() {
    let (_folder, last_online) = last_online();
    let (all, asked_for) = (rows(250), Arc::new(AtomicU64::new(0)));
    let (served, number_of) = (all.clone(), asked_for.clone());
    // From the second page on it has nothing to say for as long as the test lasts.
    let server = Server::answering(move |number, asked| {
        number_of.store(number as u64, Relaxed);
        if number > 1 {
            return Err(StoreFailure::Unavailable);
        }
        Ok(page(&served, asked))
    })
    .await;
    let rig = Rig::new(&[&server], Some(last_online.clone())).await;
    let resume = rig.start();
    until(async || asked_for.load(Relaxed) > 1).await;
    assert_eq!(rig.stop(resume, unix_ns()).await, Drained::Complete);
    assert_eq!(last_online.read().unwrap(), Some(time(&all[99])));
}
