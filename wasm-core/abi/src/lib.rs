//! The functions that a host sees: integers in, integers out. `docs/abi.md` is their description.
//!
//! ```text
//! lib.rs         the exported functions, one line each
//! calls.rs       what each does, on a session and a tokenizer
//! policies.rs    encoding where not all may become a special token
//! streams.rs     the same for streams and stop decoders
//! sessions.rs    handles of sessions, and who may use them when
//! tokenizers.rs  handles of tokenizers
//! body.rs        what a session owns: buffers, results, the last error
//! input.rs       the input buffer, and how lengths and texts are read from it
//! memory.rs      memory that a host asks for, for the stacks of workers
//! tidy.rs        the allocator: what is freed while a file is read becomes zeros
//! ```
//!
//! Tests run all of it natively, where addresses have 64 bits and handles of sessions are numbers
//! instead of addresses.

mod body;
mod calls;
mod constants;
mod input;
mod policies;
mod sessions;
mod streams;
#[cfg(test)]
mod tests;
mod tidy;
mod tokenizers;
mod worker_memory;

const _: () = assert!(constants::MAX_PANIC_TEXT == panic_text::MAX_PANIC_TEXT);

use constants::{ABI_VERSION, ANSWER_BAD_SESSION, ANSWER_FAILED};
use pywasmtok_engine::error::{Error, Result};
use pywasmtok_panic_text as panic_text;
use sessions::Session;
use tidy::tidily;

/// A call whose answer counts something, or has nothing to count.
fn counting(session: u32, call: impl FnOnce(&mut Session) -> Result<Option<usize>>) -> i32 {
    let answer = sessions::with(session, |session| {
        let answer = call(session).and_then(|count| count.map(countable).transpose());
        session.settle(answer)
    });
    match answer {
        None => ANSWER_BAD_SESSION,
        Some(answer) => answer.flatten().unwrap_or(ANSWER_FAILED),
    }
}

fn countable(count: usize) -> Result<i32> {
    i32::try_from(count)
        .map_err(|_| Error::limit(format!("an answer of {count} is more than one call gives")))
}

/// A call whose answer is an address or a handle: 0 when there is none.
fn placing(session: u32, call: impl FnOnce(&mut Session) -> Result<u32>) -> u32 {
    sessions::with(session, |session| {
        let answer = call(session);
        session.settle(answer)
    })
    .flatten()
    .unwrap_or(0)
}

#[no_mangle]
pub extern "C" fn pwt_abi_version() -> u32 {
    ABI_VERSION
}

#[no_mangle]
pub extern "C" fn pwt_session_new() -> u32 {
    panic_text::install();
    sessions::create().unwrap_or(0)
}

#[no_mangle]
pub extern "C" fn pwt_session_free(session: u32) {
    sessions::destroy(session);
}

#[no_mangle]
pub extern "C" fn pwt_input(session: u32, len: u32) -> u32 {
    placing(session, |session| calls::input(session, len))
}

#[no_mangle]
pub extern "C" fn pwt_load(session: u32, len: u32) -> u32 {
    placing(session, |session| tidily(|| calls::load(session, len)))
}

#[no_mangle]
pub extern "C" fn pwt_load_with(session: u32, len: u32, options_len: u32) -> u32 {
    placing(session, |session| tidily(|| calls::load_with(session, len, options_len)))
}

#[no_mangle]
pub extern "C" fn pwt_tokenizer_free(tokenizer: u32) {
    tokenizers::remove(tokenizer);
}

#[no_mangle]
pub extern "C" fn pwt_encode(session: u32, tokenizer: u32, len: u32, flags: u32) -> i32 {
    counting(session, |session| calls::encode(session, tokenizer, len, flags).map(Some))
}

#[no_mangle]
pub extern "C" fn pwt_encode_pair(
    session: u32,
    tokenizer: u32,
    len_a: u32,
    len_b: u32,
    flags: u32,
) -> i32 {
    counting(session, |session| {
        calls::encode_pair(session, tokenizer, len_a, len_b, flags).map(Some)
    })
}

#[no_mangle]
pub extern "C" fn pwt_encode_batch(session: u32, tokenizer: u32, count: u32, flags: u32) -> i32 {
    counting(session, |session| calls::encode_batch(session, tokenizer, count, flags).map(Some))
}

#[no_mangle]
pub extern "C" fn pwt_encode_with(
    session: u32,
    tokenizer: u32,
    count: u32,
    policy_len: u32,
    flags: u32,
) -> i32 {
    counting(session, |session| {
        policies::encode_with(session, tokenizer, count, policy_len, flags).map(Some)
    })
}

#[no_mangle]
pub extern "C" fn pwt_count(session: u32, tokenizer: u32, len: u32, flags: u32, limit: u32) -> i32 {
    counting(session, |session| calls::count(session, tokenizer, len, flags, limit).map(Some))
}

#[no_mangle]
pub extern "C" fn pwt_truncate(
    session: u32,
    tokenizer: u32,
    len: u32,
    flags: u32,
    limit: u32,
) -> i32 {
    counting(session, |session| calls::truncate(session, tokenizer, len, flags, limit).map(Some))
}

#[no_mangle]
pub extern "C" fn pwt_last_cut(session: u32, tokenizer: u32, len: u32, at_most: u32) -> i32 {
    counting(session, |session| calls::last_cut(session, tokenizer, len, at_most).map(Some))
}

#[no_mangle]
pub extern "C" fn pwt_decode(session: u32, tokenizer: u32, count: u32, flags: u32) -> i32 {
    counting(session, |session| calls::decode(session, tokenizer, count, flags).map(Some))
}

#[no_mangle]
pub extern "C" fn pwt_decode_batch(session: u32, tokenizer: u32, count: u32, flags: u32) -> i32 {
    counting(session, |session| calls::decode_batch(session, tokenizer, count, flags).map(Some))
}

#[no_mangle]
pub extern "C" fn pwt_stream_new(session: u32, tokenizer: u32, count: u32, flags: u32) -> i32 {
    counting(session, |session| streams::stream_new(session, tokenizer, count, flags).map(Some))
}

#[no_mangle]
pub extern "C" fn pwt_stream_step(
    session: u32,
    tokenizer: u32,
    count: u32,
    state_len: u32,
    flags: u32,
) -> i32 {
    counting(session, |session| {
        streams::stream_step(session, tokenizer, count, state_len, flags).map(Some)
    })
}

#[no_mangle]
pub extern "C" fn pwt_stop_new(
    session: u32,
    tokenizer: u32,
    count: u32,
    config_len: u32,
    flags: u32,
) -> i32 {
    counting(session, |session| {
        streams::stop_new(session, tokenizer, count, config_len, flags).map(Some)
    })
}

#[no_mangle]
pub extern "C" fn pwt_stop_step(
    session: u32,
    tokenizer: u32,
    count: u32,
    config_len: u32,
    state_len: u32,
    flags: u32,
) -> i32 {
    counting(session, |session| {
        streams::stop_step(session, tokenizer, count, config_len, state_len, flags).map(Some)
    })
}

#[no_mangle]
pub extern "C" fn pwt_token_to_id(session: u32, tokenizer: u32, len: u32) -> i32 {
    counting(session, |session| calls::token_to_id(session, tokenizer, len))
}

#[no_mangle]
pub extern "C" fn pwt_id_to_token(session: u32, tokenizer: u32, id: u32) -> i32 {
    counting(session, |session| calls::id_to_token(session, tokenizer, id))
}

#[no_mangle]
pub extern "C" fn pwt_vocab(session: u32, tokenizer: u32, flags: u32) -> i32 {
    counting(session, |session| calls::vocab(session, tokenizer, flags).map(Some))
}

#[no_mangle]
pub extern "C" fn pwt_info(session: u32, tokenizer: u32) -> i32 {
    counting(session, |session| calls::info(session, tokenizer).map(Some))
}

#[no_mangle]
pub extern "C" fn pwt_detect(session: u32, len: u32) -> i32 {
    counting(session, |session| calls::detect(session, len).map(Some))
}

#[no_mangle]
pub extern "C" fn pwt_convert(session: u32, len: u32, options_len: u32) -> i32 {
    counting(session, |session| calls::convert(session, len, options_len).map(Some))
}

#[no_mangle]
pub extern "C" fn pwt_extent(session: u32, len: u32) -> i32 {
    counting(session, |session| calls::extent(session, len).map(Some))
}

#[no_mangle]
pub extern "C" fn pwt_fingerprint(session: u32, len: u32, options_len: u32) -> i32 {
    counting(session, |session| calls::fingerprint(session, len, options_len).map(Some))
}

#[no_mangle]
pub extern "C" fn pwt_panic_ptr() -> u32 {
    panic_text::address()
}

#[no_mangle]
pub extern "C" fn pwt_panic_len() -> u32 {
    panic_text::len()
}

#[no_mangle]
pub extern "C" fn pwt_memory_new(len: u32) -> u32 {
    worker_memory::reserve(len).unwrap_or(0)
}

#[no_mangle]
pub extern "C" fn pwt_memory_free(address: u32) {
    worker_memory::release(address);
}
