//! The general allocator: dlmalloc, on a linear memory whose size never changes.
//!
//! Where a host checks addresses in the code, a memory that can grow costs a load of its size at each
//! access. So this one has its largest size from the beginning. Pages that were not touched take no room
//! in a machine, and how much may be taken is a number that the host sets.

use dlmalloc::{Allocator, Dlmalloc};
use std::alloc::{GlobalAlloc, Layout};
use std::cell::{Cell, UnsafeCell};
use std::ptr;

const PAGE: usize = 64 * 1024;

extern "C" {
    /// Behind it the linker has put nothing.
    static __heap_base: u8;
}

pub struct Heap {
    blocks: UnsafeCell<Dlmalloc<Pages>>,
}

// SAFETY: WebAssembly without threads, and nothing in here calls back.
unsafe impl Sync for Heap {}

impl Heap {
    pub const fn new() -> Self {
        Self { blocks: UnsafeCell::new(Dlmalloc::new_with_allocator(Pages)) }
    }
}

// SAFETY: dlmalloc keeps the promises of an allocator; it is entered by one caller at a time.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: no other reference to it exists.
        unsafe { (*self.blocks.get()).malloc(layout.size(), layout.align()) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: no other reference to it exists.
        unsafe { (*self.blocks.get()).calloc(layout.size(), layout.align()) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: no other reference to it exists; the block is one of its own.
        unsafe { (*self.blocks.get()).free(block, layout.size(), layout.align()) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: no other reference to it exists; the block is one of its own.
        unsafe { (*self.blocks.get()).realloc(block, layout.size(), layout.align(), size) }
    }
}

/// Where the memory ends that was taken, and where it must end; one number each for the module.
struct Bounds {
    /// 0 before the first page was taken.
    end: Cell<usize>,
    most: Cell<usize>,
}

// SAFETY: WebAssembly without threads.
unsafe impl Sync for Bounds {}

static BOUNDS: Bounds = Bounds { end: Cell::new(0), most: Cell::new(usize::MAX) };

/// From now on the memory ends there at the latest; what was taken stays taken.
pub fn limit(most: usize) {
    BOUNDS.most.set(most);
}

/// How much of the memory was taken, what the module itself needs included.
pub fn taken() -> usize {
    match BOUNDS.end.get() {
        0 => ptr::addr_of!(__heap_base).addr().next_multiple_of(PAGE),
        end => end,
    }
}

struct Pages;

// SAFETY: each page is handed out once, and lies where neither the stack nor data do.
unsafe impl Allocator for Pages {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        let whole = core::arch::wasm32::memory_size::<0>().saturating_mul(PAGE);
        let start = taken();
        let end = size.checked_next_multiple_of(PAGE).and_then(|size| start.checked_add(size));
        match end {
            Some(end) if end <= whole.min(BOUNDS.most.get()) => {
                BOUNDS.end.set(end);
                (ptr::with_exposed_provenance_mut(start), end - start, 0)
            }
            _ => (ptr::null_mut(), 0, 0),
        }
    }

    fn remap(&self, _: *mut u8, _: usize, _: usize, _: bool) -> *mut u8 {
        ptr::null_mut()
    }

    fn free_part(&self, _: *mut u8, _: usize, _: usize) -> bool {
        false
    }

    fn free(&self, _: *mut u8, _: usize) -> bool {
        false
    }

    fn can_release_part(&self, _: u32) -> bool {
        false
    }

    fn allocates_zeros(&self) -> bool {
        true
    }

    fn page_size(&self) -> usize {
        PAGE
    }
}
