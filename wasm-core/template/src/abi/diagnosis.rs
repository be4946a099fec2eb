//! An allocator that remembers a failure: to a host an exhausted memory and a defect look the same,
//! since both end in the trap `unreachable`.

use super::blocks::Blocks;
use super::heap::Heap;
use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicBool, Ordering};

#[global_allocator]
static ALLOCATOR: Noting = Noting(Blocks::new(Heap::new()));

static FAILED: AtomicBool = AtomicBool::new(false);

/// Forgets the failures of earlier calls, which were answered.
pub fn begin() {
    FAILED.store(false, Ordering::Relaxed);
}

pub fn out_of_memory() -> bool {
    FAILED.load(Ordering::Relaxed)
}

struct Noting(Blocks<Heap>);

fn noted(block: *mut u8) -> *mut u8 {
    if block.is_null() {
        FAILED.store(true, Ordering::Relaxed);
    }
    block
}

// SAFETY: all blocks come from `Blocks` and go back to it with the layouts that they came with.
unsafe impl GlobalAlloc for Noting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as our caller promises.
        noted(unsafe { self.0.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as our caller promises.
        noted(unsafe { self.0.alloc_zeroed(layout) })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as our caller promises.
        unsafe { self.0.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as our caller promises.
        noted(unsafe { self.0.realloc(block, layout, size) })
    }
}
