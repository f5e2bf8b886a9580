//! Another program that holds the archive, as somebody's `sqlite3` shell with an open transaction does.

use std::path::Path;

use rusqlite::Connection;

/// A write lock on the database, until dropped. Readers are not hindered.
pub struct Held(#[expect(dead_code, reason = "kept open for the lock it holds")] Connection);

impl Held {
    /// Takes the lock of the archive in `folder`.
    pub fn take(folder: &Path) -> Self {
        let connection = Connection::open(folder.join("levada.sqlite3")).expect("the node has created the file");
        connection.execute_batch("BEGIN IMMEDIATE").expect("nobody else writes");
        Self(connection)
    }
}
