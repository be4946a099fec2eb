//! An allocator that leaves no garbage behind: what is freed while a file is read becomes zeros.
//!
//! Hosts keep the memory of an instance that has loaded a file, on disk too. Pages of zeros cost
//! nothing there. Without this, half of what is kept is what building the tables has left.

#[cfg(any(target_family = "wasm", test))]
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

#[cfg(target_family = "wasm")]
#[global_allocator]
static ALLOCATOR: Tidy = Tidy;

/// Smaller blocks are filled again soon, or lie between others that stay.
#[cfg(any(target_family = "wasm", test))]
const SMALLEST: usize = 512;

/// How many loads are running.
static LOADS: AtomicUsize = AtomicUsize::new(0);

/// Reads a file, tidily.
pub fn tidily<T>(load: impl FnOnce() -> T) -> T {
    LOADS.fetch_add(1, Ordering::Relaxed);
    let answer = load();
    LOADS.fetch_sub(1, Ordering::Relaxed);
    answer
}

/// Programs that are no sandbox keep their own allocator.
#[cfg(any(target_family = "wasm", test))]
struct Tidy;

#[cfg(any(target_family = "wasm", test))]
impl Tidy {
    fn wipes(size: usize) -> bool {
        size >= SMALLEST && LOADS.load(Ordering::Relaxed) > 0
    }
}

#[cfg(any(target_family = "wasm", test))]
// SAFETY: all blocks come from `System` and go back to it with the layouts that they came with; a
// block is written to before it goes back, while it is still the caller's to give.
unsafe impl GlobalAlloc for Tidy {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as our caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as our caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as our caller promises; the block has `layout.size()` bytes.
        unsafe {
            if Self::wipes(layout.size()) {
                block.write_bytes(0, layout.size());
            }
            System.dealloc(block, layout);
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as our caller promises. A block that moves is copied here and not by `System`,
        // which would leave the old one as it is.
        unsafe {
            if !Self::wipes(layout.size()) {
                return System.realloc(block, layout, size);
            }
            let moved = System.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !moved.is_null() {
                moved.copy_from_nonoverlapping(block, size.min(layout.size()));
                self.dealloc(block, layout);
            }
            moved
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_keep_their_content_when_they_move() {
        for loading in [false, true] {
            let check = || {
                for size in [1usize, 511, 512, 5000] {
                    let layout = Layout::from_size_align(size, 16).unwrap();
                    let grown = Layout::from_size_align(size * 2, 16).unwrap();
                    // SAFETY: each block is used within its layout and freed with it.
                    unsafe {
                        let block = Tidy.alloc(layout);
                        block.write_bytes(7, size);
                        let block = Tidy.realloc(block, layout, size * 2);
                        let content = std::slice::from_raw_parts(block, size);
                        assert!(content.iter().all(|&byte| byte == 7));
                        let block = Tidy.realloc(block, grown, size);
                        let content = std::slice::from_raw_parts(block, size);
                        assert!(content.iter().all(|&byte| byte == 7));
                        Tidy.dealloc(block, layout);
                        let block = Tidy.alloc_zeroed(layout);
                        assert_eq!(*block, 0);
                        Tidy.dealloc(block, layout);
                    }
                }
            };
            match loading {
                true => tidily(check),
                false => check(),
            }
        }
    }
}
