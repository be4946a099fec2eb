//! Memory that a host asks for: the stack and the thread-local block of a worker.
//!
//! Kept in a table by address, so that giving back what was never given does nothing.

use std::sync::{Mutex, PoisonError};

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; LINE]);

const LINE: usize = 64;

static RESERVED: Mutex<Vec<Vec<Line>>> = Mutex::new(Vec::new());

fn address(lines: &[Line]) -> u32 {
    lines.as_ptr() as usize as u32
}

pub fn reserve(len: u32) -> Option<u32> {
    let count = (len as usize).div_ceil(LINE).max(1);
    let mut lines = Vec::new();
    lines.try_reserve_exact(count).ok()?;
    lines.resize(count, Line([0; LINE]));
    let address = address(&lines);
    let mut reserved = RESERVED.lock().unwrap_or_else(PoisonError::into_inner);
    reserved.try_reserve(1).ok()?;
    reserved.push(lines);
    Some(address)
}

pub fn release(wanted: u32) {
    let mut reserved = RESERVED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(index) = reserved.iter().position(|lines| address(lines) == wanted) {
        reserved.swap_remove(index);
    }
}
