//! The engine in the process that loads this library: what `pywasmtok bench --only native` and
//! `python -m tools.bench.sandbox_tax` time beside the WebAssembly builds. Never shipped.
//!
//! A session is one tokenizer, one scratch and the ids of the last text, for one thread at a time.

use pywasmtok_engine::tokenizer::{Scratch, Tokenizer, Wanted};

/// What `pwn_encode` answers where there are no ids.
const FAILED: usize = usize::MAX;

pub struct Session {
    tokenizer: Tokenizer,
    scratch: Scratch,
    ids: Vec<u32>,
}

/// A session of the file in these bytes; null where the engine does not take it.
///
/// # Safety
/// `data` has `len` bytes.
#[no_mangle]
pub unsafe extern "C" fn pwn_open(data: *const u8, len: usize) -> *mut Session {
    // SAFETY: the caller says so.
    let data = unsafe { bytes(data, len) };
    let Ok(tokenizer) = Tokenizer::load(data) else { return std::ptr::null_mut() };
    Box::into_raw(Box::new(Session { tokenizer, scratch: Scratch::new(), ids: Vec::new() }))
}

/// # Safety
/// `session` is of [`pwn_open`], and is not in use.
#[no_mangle]
pub unsafe extern "C" fn pwn_close(session: *mut Session) {
    if !session.is_null() {
        // SAFETY: the caller says so.
        drop(unsafe { Box::from_raw(session) });
    }
}

/// How many ids the text has, without what a post-processor adds; `usize::MAX` for an error. The
/// text is checked, as it is in the sandbox.
///
/// # Safety
/// `session` is of [`pwn_open`], no other call uses it meanwhile, and `text` has `len` bytes.
#[no_mangle]
pub unsafe extern "C" fn pwn_encode(session: *mut Session, text: *const u8, len: usize) -> usize {
    // SAFETY: the caller says so.
    let (session, text) = unsafe { (session.as_mut(), bytes(text, len)) };
    let (Some(session), Ok(text)) = (session, simdutf8::basic::from_utf8(text)) else {
        return FAILED;
    };
    session.ids.clear();
    let Session { tokenizer, scratch, ids } = session;
    match tokenizer.encode_ids(scratch, text, Wanted::new(false), ids) {
        Ok(()) => ids.len(),
        Err(_) => FAILED,
    }
}

/// Where the ids of the last text are, until the next.
///
/// # Safety
/// `session` is of [`pwn_open`].
#[no_mangle]
pub unsafe extern "C" fn pwn_ids(session: *const Session) -> *const u32 {
    // SAFETY: the caller says so.
    unsafe { session.as_ref() }.map_or(std::ptr::null(), |session| session.ids.as_ptr())
}

/// # Safety
/// `data` has `len` bytes, or there are none.
unsafe fn bytes<'a>(data: *const u8, len: usize) -> &'a [u8] {
    if len == 0 {
        return &[];
    }
    // SAFETY: the caller says so.
    unsafe { std::slice::from_raw_parts(data, len) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": null, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null,
        "decoder": null, "model": {"type": "WordLevel", "unk_token": "[UNK]",
        "vocab": {"[UNK]": 0, "Hello": 1, "world": 2}}}"#;

    #[test]
    fn what_is_no_tokenizer_opens_no_session() {
        let data = b"{}";
        // SAFETY: these are the bytes and their number.
        assert!(unsafe { pwn_open(data.as_ptr(), data.len()) }.is_null());
        // SAFETY: there is no session, which is allowed here.
        unsafe {
            assert_eq!(pwn_encode(std::ptr::null_mut(), data.as_ptr(), data.len()), FAILED);
            assert!(pwn_ids(std::ptr::null()).is_null());
            pwn_close(std::ptr::null_mut());
        }
    }

    #[test]
    fn a_text_has_its_ids_until_the_next() {
        let (text, broken) = ("Hello, world", [0xFF_u8]);
        // SAFETY: each pointer comes with its length, and the session is used here alone.
        unsafe {
            let session = pwn_open(FILE.as_ptr(), FILE.len());
            let count = pwn_encode(session, text.as_ptr(), text.len());
            assert_eq!(std::slice::from_raw_parts(pwn_ids(session), count), [1, 0, 2]);
            assert_eq!(pwn_encode(session, broken.as_ptr(), 1), FAILED);
            assert_eq!(pwn_encode(session, broken.as_ptr(), 0), 0);
            pwn_close(session);
        }
    }
}
