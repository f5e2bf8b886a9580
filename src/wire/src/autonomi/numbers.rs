//! The variants' numbers on the wire, once for both directions.

/// Kinds of message.
pub(super) mod body {
    pub const PUT_REQUEST: u32 = 0;
    pub const PUT_RESPONSE: u32 = 1;
    pub const GET_REQUEST: u32 = 2;
    pub const GET_RESPONSE: u32 = 3;
    pub const QUOTE_REQUEST: u32 = 4;
    pub const QUOTE_RESPONSE: u32 = 5;
    pub const MERKLE_CANDIDATE_QUOTE_REQUEST: u32 = 6;
    pub const MERKLE_CANDIDATE_QUOTE_RESPONSE: u32 = 7;
    pub const QUOTE_REQUEST_V2: u32 = 8;
    pub const MERKLE_CANDIDATE_QUOTE_REQUEST_V2: u32 = 9;
    pub const POINTER_PUT_REQUEST: u32 = 10;
    pub const POINTER_PUT_RESPONSE: u32 = 11;
    pub const POINTER_GET_REQUEST: u32 = 12;
    pub const POINTER_GET_RESPONSE: u32 = 13;
}

/// Answers to a request to store a chunk.
pub(super) mod put {
    pub const SUCCESS: u32 = 0;
    pub const ALREADY_EXISTS: u32 = 1;
    pub const PAYMENT_REQUIRED: u32 = 2;
    pub const ERROR: u32 = 3;
}

/// Answers to a request to fetch a chunk or a pointer.
pub(super) mod get {
    pub const SUCCESS: u32 = 0;
    pub const NOT_FOUND: u32 = 1;
    pub const ERROR: u32 = 2;
}

/// Answers to a request for a price, of either kind.
pub(super) mod quote {
    pub const SUCCESS: u32 = 0;
    pub const ERROR: u32 = 1;
}

/// Answers to a request to store a pointer.
pub(super) mod pointer_put {
    pub const SUCCESS: u32 = 0;
    pub const UNCHANGED: u32 = 1;
    pub const STALE: u32 = 2;
    pub const PAYMENT_REQUIRED: u32 = 3;
    pub const ERROR: u32 = 4;
}

/// Errors within an answer.
pub(super) mod error {
    pub const SERIALIZATION_FAILED: u32 = 0;
    pub const DESERIALIZATION_FAILED: u32 = 1;
    pub const MESSAGE_TOO_LARGE: u32 = 2;
    pub const CHUNK_TOO_LARGE: u32 = 3;
    pub const ADDRESS_MISMATCH: u32 = 4;
    pub const STORAGE_FAILED: u32 = 5;
    pub const PAYMENT_FAILED: u32 = 6;
    pub const QUOTE_FAILED: u32 = 7;
    pub const INTERNAL: u32 = 8;
    pub const CLIENT_UPDATE_REQUIRED: u32 = 9;
    pub const STORER_UPDATE_REQUIRED: u32 = 10;
}
