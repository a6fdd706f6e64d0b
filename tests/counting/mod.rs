//! An allocator that counts, and files to count with.
#![expect(unsafe_code, reason = "an allocator that counts has to be one")]
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

/// The system's allocator, which counts for each thread how often it is asked for memory, and for how many bytes.
struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
    static BYTES: Cell<usize> = const { Cell::new(0) };
}

fn count_one(size: usize) {
    // A thread that is ending has no counter any more.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
    let _ = BYTES.try_with(|bytes| bytes.set(bytes.get() + size));
}

// SAFETY: every call is handed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count_one(layout.size());
        // SAFETY: the caller keeps the promises of `GlobalAlloc::alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count_one(size);
        // SAFETY: the caller keeps the promises of `GlobalAlloc::realloc`; all memory is the system allocator's.
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the promises of `GlobalAlloc::dealloc`; all memory is the system allocator's.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often this thread asks for memory while `work` runs.
pub(crate) fn allocations<T>(work: impl FnOnce() -> T) -> (usize, T) {
    let before = COUNT.get();
    let result = work();
    (COUNT.get() - before, result)
}

/// The same, and the bytes that it asks for.
pub(crate) fn allocated<T>(work: impl FnOnce() -> T) -> (usize, usize) {
    let before = BYTES.get();
    let (count, _) = allocations(work);
    (count, BYTES.get() - before)
}

/// A packed-refs file with so many records, every third a tag, and the directory that holds it.
pub(crate) fn packed_refs(header: &str, count: usize) -> (tempfile::TempDir, PathBuf) {
    let mut text = header.to_owned();
    for i in 0..count {
        writeln!(text, "{i:040x} refs/heads/topic/{i:07}").unwrap();
        if i % 3 == 0 {
            writeln!(text, "^{i:040x}").unwrap();
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("packed-refs");
    fs::write(&path, text).unwrap();
    (directory, path)
}

pub(crate) const SORTED: &str = "# pack-refs with: peeled fully-peeled sorted \n";
