//! Tables that start as zeros. Large ones come from the system as such, and are resident only where they were touched.

/// Types of which a value may be made of zero bytes.
///
/// # Safety
/// Zero bytes are a valid value of the type, and equal to its default one.
pub(super) unsafe trait Zero: Default {}

/// A table of `len` values, all zero.
#[cfg(not(any(loom, shuttle)))]
pub(super) fn slice<T: Zero>(len: usize) -> Box<[T]> {
    use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};

    let layout = Layout::array::<T>(len).expect("the callers bound what they ask for");
    assert!(layout.size() > 0, "a table has entries");
    // SAFETY: the layout is not empty.
    let table = unsafe { alloc_zeroed(layout) }.cast::<T>();
    if table.is_null() {
        handle_alloc_error(layout);
    }
    // SAFETY: the global allocator gave the memory for just this layout, nobody else has it, and zeros are values of `T`.
    unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(table, len)) }
}

/// The atomics of models are more than their value.
#[cfg(any(loom, shuttle))]
pub(super) fn slice<T: Zero>(len: usize) -> Box<[T]> {
    std::iter::repeat_with(T::default).take(len).collect()
}
