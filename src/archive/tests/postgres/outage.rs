//! A database that stops, loses its connections, or is slow: messages wait in the local log, and come.

use levada_archive::{ArchiveError, PostgresSchema, Query};

use crate::sample::Node;
use crate::server::{Server, name_of, shared};

#[test]
#[ignore = "needs PostgreSQL; tools/test --part postgres runs it"]
fn what_came_while_the_server_was_down_is_there_after_its_restart() {
    let server = Server::start();
    let mut node = Node::new(&server.create_database());
    node.insert(0..20).unwrap();
    server.stop();
    for first in (20..60).step_by(10) {
        assert_eq!(node.insert(first..first + 10).unwrap().stored, 10);
    }
    assert!(node.waiting() > 0);
    let failed = levada_archive::Archive::reader(node.archive()).unwrap().query(&Query::default());
    assert!(matches!(failed, Err(ArchiveError::Database { .. })), "{failed:?}");
    server.resume();
    node.wait_for(0..60);
    node.wait_until_empty();
    assert_eq!(node.insert(50..70).unwrap().duplicates, 10, "batches go to the database again");
    node.wait_for(0..70);
}

#[test]
#[ignore = "needs PostgreSQL; tools/test --part postgres runs it"]
fn what_waits_outlives_the_node() {
    let server = Server::start();
    let mut node = Node::new(&server.create_database());
    server.stop();
    node.insert(0..25).unwrap();
    let waiting = node.waiting();
    node.archive = None;
    assert!(matches!(node.start(), Err(ArchiveError::Database { .. })), "a node does not start without its database");
    server.resume();
    assert_eq!(node.waiting(), waiting);
    node.start().unwrap();
    node.insert(20..30).unwrap();
    node.wait_for(0..30);
}

#[test]
#[ignore = "needs PostgreSQL; tools/test --part postgres runs it"]
fn cut_connections_cost_nothing() {
    cut_connections(PostgresSchema::Levada);
}

#[test]
#[ignore = "needs PostgreSQL; tools/test --part postgres runs it"]
fn cut_connections_cost_nothing_in_nwakus_tables() {
    cut_connections(PostgresSchema::Nwaku);
}

fn cut_connections(schema: PostgresSchema) {
    let url = shared().create_database();
    let name = name_of(&url);
    let mut node = Node::of_schema(&url, schema).unwrap();
    for first in (0..100).step_by(10) {
        node.insert(first..first + 10).unwrap();
        let cut = format!(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '{name}' AND pid <> pg_backend_pid()"
        );
        shared().sql(&name, &cut);
    }
    node.wait_for(0..100);
}

/// Every batch takes longer on the server than a node waits for.
#[test]
#[ignore = "needs PostgreSQL; tools/test --part postgres runs it"]
fn a_slow_database_does_not_hold_the_node_up() {
    let url = shared().create_database();
    let name = name_of(&url);
    let mut node = Node::new(&url);
    node.insert(0..10).unwrap();
    let slow = "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(8); RETURN NULL; END $$; \
                CREATE TRIGGER wait BEFORE INSERT ON levada_message FOR EACH STATEMENT EXECUTE FUNCTION wait()";
    shared().sql(&name, slow);
    for first in (10..100).step_by(10) {
        assert_eq!(node.insert(first..first + 10).unwrap().stored, 10);
    }
    assert!(node.waiting() > 0, "they wait in the log, and the node for none of them");
    node.wait_for(0..100);
}

#[test]
#[ignore = "needs PostgreSQL; tools/test --part postgres runs it"]
fn a_full_log_refuses_whole_batches_and_says_so() {
    let server = Server::start();
    let mut node = Node::with_backlog(&server.create_database(), 40_000);
    server.stop();
    node.insert(0..10).unwrap();
    let refused = node.insert(1_000..1_100);
    assert!(matches!(refused, Err(ArchiveError::BacklogFull { bytes_max: 40_000, .. })), "{refused:?}");
    node.insert(10..20).unwrap();
    assert!(node.waiting() <= 40_000);
    server.resume();
    node.wait_for(0..20);
    node.wait_until_empty();
    assert_eq!(node.insert(1_000..1_100).unwrap().stored, 100, "there is room again");
}
