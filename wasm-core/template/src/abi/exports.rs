//! The exported functions. The one input and the one answer are in a cell that a trap leaves
//! borrowed: a later call traps again, instead of meeting what was left half done.

use super::constants::ABI_VERSION;
use super::service::Service;
use super::{diagnosis, heap};
use pywasmtok_panic_text as panic_text;
use std::cell::RefCell;

thread_local! {
    static SERVICE: RefCell<Service> = {
        panic_text::install();
        RefCell::default()
    };
}

fn service<T>(call: impl FnOnce(&mut Service) -> T) -> T {
    diagnosis::begin();
    SERVICE.with_borrow_mut(call)
}

#[no_mangle]
pub extern "C" fn tpl_abi_version() -> u32 {
    ABI_VERSION
}

#[no_mangle]
pub extern "C" fn tpl_limit_memory(most: u32) {
    heap::limit(most as usize);
}

#[no_mangle]
pub extern "C" fn tpl_memory_taken() -> u32 {
    heap::taken() as u32
}

#[no_mangle]
pub extern "C" fn tpl_answer() -> u32 {
    service(|service| service.answer.address())
}

#[no_mangle]
pub extern "C" fn tpl_input(len: u32) -> u32 {
    service(|service| service.input(len as usize))
}

#[no_mangle]
pub extern "C" fn tpl_compile(len: u32) -> u32 {
    service(|service| service.compile(len as usize))
}

#[no_mangle]
pub extern "C" fn tpl_drop(template: u32) {
    service(|service| service.drop(template));
}

#[no_mangle]
pub extern "C" fn tpl_render(template: u32, len: u32) -> i64 {
    service(|service| service.render(template, len as usize))
}

#[no_mangle]
pub extern "C" fn tpl_out_of_memory() -> u32 {
    u32::from(diagnosis::out_of_memory())
}

#[no_mangle]
pub extern "C" fn tpl_panic_ptr() -> u32 {
    panic_text::address()
}

#[no_mangle]
pub extern "C" fn tpl_panic_len() -> u32 {
    panic_text::len()
}
