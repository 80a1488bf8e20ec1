//! Memory that a process shares with those it forks.

use std::ffi::c_void;
use std::num::NonZeroUsize;
use std::ops::Deref;
use std::ptr::NonNull;

use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use crate::fault::Fault;

/// What may live there: valid when all its bytes are zero, and changed only by atomic operations.
///
/// # Safety
/// Both have to be true.
pub unsafe trait Shareable: Sync {}

/// A slice of values that began as zero bytes. A child made by `fork` sees the parent's changes, and the other way
/// round.
pub struct Region<T: Shareable> {
    start: NonNull<c_void>,
    bytes: NonZeroUsize,
    values: NonNull<[T]>,
}

// SAFETY: it is no more than a reference to values that threads, and processes, may share.
unsafe impl<T: Shareable> Send for Region<T> {}
// SAFETY: the same.
unsafe impl<T: Shareable> Sync for Region<T> {}

impl<T: Shareable> Region<T> {
    /// Fails when there is no memory.
    pub fn new(length: usize) -> Result<Self, Fault> {
        let bytes = NonZeroUsize::new(length * size_of::<T>()).unwrap_or(NonZeroUsize::MIN);
        // SAFETY: a new mapping touches no memory in use.
        let start =
            unsafe { mmap_anonymous(None, bytes, ProtFlags::PROT_READ | ProtFlags::PROT_WRITE, MapFlags::MAP_SHARED) };
        let start = start.map_err(|e| Fault::Other(format!("shared memory: {e}")))?;
        // Pages are aligned to more than any type here.
        let values = NonNull::slice_from_raw_parts(start.cast(), length);
        Ok(Self { start, bytes, values })
    }
}

impl<T: Shareable> Deref for Region<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: zeroed by the system, valid so by `Shareable`, and unmapped only in `drop`.
        unsafe { self.values.as_ref() }
    }
}

impl<T: Shareable> Drop for Region<T> {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`, and nothing borrows from it any more. It cannot fail with the arguments it had.
        let _unmapped = unsafe { munmap(self.start, self.bytes.get()) };
    }
}
