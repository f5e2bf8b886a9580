//! Why a try to resume failed.

use levada_net::store::StoreClientError;

use crate::rest::QueryError;

/// Each names who is at fault: the peer, or this node.
#[derive(Debug, thiserror::Error)]
pub(super) enum ResumeError {
    #[error("no peer that serves store is connected; name one by --storenode")]
    NoPeer,
    #[error("{0}")]
    Ask(#[from] StoreClientError),
    #[error("the store node's page has {rows} messages where at most {rows_max} were asked for")]
    TooManyRows { rows: usize, rows_max: u64 },
    #[error("the store node's page has a message without its content")]
    NoContent,
    #[error("the store node's page has a message of another time than was asked for")]
    OutsideSpan,
    #[error("the store node's messages do not ascend by time and hash")]
    OutOfOrder,
    #[error("the store node's page is empty, and yet it names a next one")]
    EmptyPage,
    #[error("this node's archive cannot be asked for what it has: {0}")]
    Known(QueryError),
    #[error("this node's archive failed on what was fetched")]
    Unstored,
    #[error("this node's archive did not take what was fetched within {seconds} s")]
    NotTaken { seconds: u64 },
    /// Not worth another try.
    #[error("{messages} messages were fetched, which is the most of one start")]
    Enough { messages: u64 },
    /// Not worth a word.
    #[error("the node is stopping")]
    Stopping,
}
