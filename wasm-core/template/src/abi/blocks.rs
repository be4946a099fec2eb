//! Small blocks that were given back, in lists by size. A render makes and drops thousands of values,
//! and the general allocator, which joins and splits blocks, takes several times as long over each.
//!
//! For WebAssembly, where there is one thread.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::ptr;

const STEP: usize = 16;
const LISTS: usize = 16;
/// What the general allocator aligns to anyway.
const ALIGN: usize = 8;

pub struct Blocks<A> {
    free: [Cell<*mut Free>; LISTS],
    /// Where blocks come from, and where large ones go back to.
    general: A,
}

/// What stands in a block that is not in use.
struct Free {
    next: *mut Free,
}

// SAFETY: lists are touched in WebAssembly without threads alone.
unsafe impl<A: Sync> Sync for Blocks<A> {}

impl<A> Blocks<A> {
    pub const fn new(general: A) -> Self {
        Self { free: [const { Cell::new(ptr::null_mut()) }; LISTS], general }
    }

    fn list(&self, layout: Layout) -> Option<(&Cell<*mut Free>, Layout)> {
        if layout.align() > ALIGN {
            return None;
        }
        let steps = layout.size().checked_sub(1)? / STEP;
        let list = self.free.get(steps)?;
        Some((list, Layout::from_size_align((steps + 1) * STEP, ALIGN).ok()?))
    }
}

// SAFETY: a block of a list has the size and the alignment that all of its list have; it is in the
// list or with a caller, never both. All others are `general`'s from first to last.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Blocks<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some((list, whole)) = self.list(layout) else {
            // SAFETY: as our caller promises.
            return unsafe { self.general.alloc(layout) };
        };
        let first = list.get();
        if first.is_null() {
            // SAFETY: the size is not zero.
            return unsafe { self.general.alloc(whole) };
        }
        // SAFETY: blocks of a list are large enough for a `Free`, which `dealloc` wrote.
        list.set(unsafe { (*first).next });
        first.cast()
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let Some((list, _)) = self.list(layout) else {
            // SAFETY: as our caller promises.
            return unsafe { self.general.dealloc(block, layout) };
        };
        let first = block.cast::<Free>();
        // SAFETY: the block is ours again, aligned, and large enough.
        unsafe { first.write(Free { next: list.get() }) };
        list.set(first);
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if self.list(layout).is_none() {
            // SAFETY: as our caller promises.
            return unsafe { self.general.alloc_zeroed(layout) };
        }
        // SAFETY: as our caller promises.
        let block = unsafe { self.alloc(layout) };
        if !block.is_null() {
            // SAFETY: so many bytes were asked for.
            unsafe { block.write_bytes(0, layout.size()) };
        }
        block
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let Ok(wanted) = Layout::from_size_align(size, layout.align()) else {
            return ptr::null_mut();
        };
        match (self.list(layout), self.list(wanted)) {
            // SAFETY: as our caller promises.
            (None, None) => unsafe { self.general.realloc(block, layout, size) },
            (Some((old, _)), Some((new, _))) if ptr::eq(old, new) => block,
            _ => {
                // SAFETY: as our caller promises.
                let other = unsafe { self.alloc(wanted) };
                if !other.is_null() {
                    // SAFETY: both blocks hold so many bytes, and one is new.
                    unsafe {
                        ptr::copy_nonoverlapping(block, other, layout.size().min(size));
                        self.dealloc(block, layout);
                    }
                }
                other
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::alloc::System;

    /// Every block keeps what was written into it, whatever happens to the others.
    #[test]
    fn blocks_do_not_overlap() {
        let blocks = Blocks::new(System);
        let mut held: Vec<(*mut u8, Layout, u8)> = Vec::new();
        let mut state = 1_u32;
        for turn in 0..20_000_u32 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let size = 1 + (state >> 16) as usize % 300;
            let mark = turn as u8;
            // SAFETY: each block is filled, compared, and given back with its layout.
            unsafe {
                match (state >> 8) % 4 {
                    0 | 1 => {
                        let layout = Layout::from_size_align(size, 8).unwrap();
                        let block = blocks.alloc(layout);
                        assert!(block.align_offset(8) == 0);
                        block.write_bytes(mark, size);
                        held.push((block, layout, mark));
                    }
                    step => {
                        let Some((block, layout, mark)) = held.pop() else { continue };
                        let bytes = std::slice::from_raw_parts(block, layout.size());
                        assert!(bytes.iter().all(|byte| *byte == mark));
                        if step == 2 {
                            blocks.dealloc(block, layout);
                            continue;
                        }
                        let kept = layout.size().min(size);
                        let block = blocks.realloc(block, layout, size);
                        let bytes = std::slice::from_raw_parts(block, kept);
                        assert!(bytes.iter().all(|byte| *byte == mark));
                        block.write_bytes(mark, size);
                        held.insert(0, (block, Layout::from_size_align(size, 8).unwrap(), mark));
                    }
                }
            }
        }
        for (block, layout, _) in held {
            // SAFETY: as above.
            unsafe { blocks.dealloc(block, layout) };
        }
    }
}
