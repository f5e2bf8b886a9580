//! Protobuf fields of the request and response messages: appended to a vector, and read out of a walk with the field's name in the error.

use crate::Span;
use crate::error::ServiceError;
use crate::hash::Digest;
use crate::varint::{self, VARINT_BYTES_MAX};

const WIRE_TYPE_BYTES: u64 = 2;

/// Appends `value` as a varint.
pub(crate) fn put_number(value: u64, out: &mut Vec<u8>) {
    let mut bytes = [0; VARINT_BYTES_MAX];
    let written = varint::encode(value, &mut bytes).expect("ten bytes hold any varint");
    out.extend_from_slice(&bytes[..written]);
}

/// Appends field `number` with the varint `value`.
pub(crate) fn put_varint(number: u32, value: u64, out: &mut Vec<u8>) {
    put_number(u64::from(number) << 3, out);
    put_number(value, out);
}

/// Appends key and length of field `number`, whose `len` bytes the caller writes behind.
pub(crate) fn put_head(number: u32, len: usize, out: &mut Vec<u8>) {
    put_number(u64::from(number) << 3 | WIRE_TYPE_BYTES, out);
    put_number(len as u64, out);
}

/// Appends field `number` with the bytes `value`.
pub(crate) fn put_bytes(number: u32, value: &[u8], out: &mut Vec<u8>) {
    put_head(number, value.len(), out);
    out.extend_from_slice(value);
}

/// Bytes that [`put_varint`] appends.
pub(crate) fn varint_len(number: u32, value: u64) -> usize {
    varint::len(u64::from(number) << 3) + varint::len(value)
}

/// Bytes that [`put_bytes`] appends for a value of `len` bytes.
pub(crate) fn bytes_len(number: u32, len: usize) -> usize {
    head_len(number, len) + len
}

/// Bytes that [`put_head`] appends.
pub(crate) fn head_len(number: u32, len: usize) -> usize {
    varint::len(u64::from(number) << 3) + varint::len(len as u64)
}

/// The text at `span`.
pub(crate) fn text<'a>(bytes: &'a [u8], span: Span, field: &'static str) -> Result<&'a str, ServiceError> {
    std::str::from_utf8(span.of(bytes)).map_err(|_| ServiceError::NotUtf8 { field })
}

/// The 32 bytes at `span`.
pub(crate) fn digest(bytes: &[u8], span: Span, field: &'static str) -> Result<Digest, ServiceError> {
    let bytes = span.of(bytes);
    bytes.try_into().map_err(|_| ServiceError::HashLength { field, bytes: bytes.len() })
}

/// The number, if 32 bits hold it.
pub(crate) fn narrow(value: u64, field: &'static str) -> Result<u32, ServiceError> {
    u32::try_from(value).map_err(|_| ServiceError::ValueTooLarge { field })
}

/// Adds to a list that has a limit.
pub(crate) fn push<T>(
    list: &mut Vec<T>,
    value: T,
    entries: &'static str,
    count_max: usize,
) -> Result<(), ServiceError> {
    if list.len() >= count_max {
        return Err(ServiceError::TooMany { entries, count_max });
    }
    list.push(value);
    Ok(())
}

/// Refuses bytes that are longer than the limit, before they are walked over.
pub(crate) fn check_len(bytes: &[u8], bytes_max: usize) -> Result<(), ServiceError> {
    let (bytes, bytes_max) = (bytes.len(), bytes_max.min(u32::MAX as usize));
    if bytes > bytes_max { Err(ServiceError::TooLong { bytes, bytes_max }) } else { Ok(()) }
}
