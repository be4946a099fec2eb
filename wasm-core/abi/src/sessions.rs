//! The handles of sessions: addresses of blocks in one static array, so that telling a good handle
//! from a bad one is arithmetic, and using it is one atomic step.

use crate::body::Body;
use crate::constants::{FIELD_STATUS, MAX_SESSIONS, SESSION_WORDS};
use pywasmtok_engine::error::{Error, Result};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

pub type Block = [u32; SESSION_WORDS];

const FREE: u32 = 0;
const IDLE: u32 = 1;
const BUSY: u32 = 2;

/// One place for a session. The call that turned `state` into `BUSY` owns the cells until it is turned
/// back; a trap leaves it `BUSY`, so that a session that was cut off is never entered again.
#[repr(C, align(128))]
struct Slot {
    /// First, so that its address is the slot's.
    block: UnsafeCell<Block>,
    state: AtomicU32,
    body: UnsafeCell<Option<Box<Body>>>,
}

// SAFETY: the cells are reached only through `Claim`, which exists once a slot at a time.
unsafe impl Sync for Slot {}

impl Slot {
    const fn new() -> Self {
        Self {
            block: UnsafeCell::new([0; SESSION_WORDS]),
            state: AtomicU32::new(FREE),
            body: UnsafeCell::new(None),
        }
    }

    fn claim(&'static self, from: u32) -> Option<Claim> {
        self.state
            .compare_exchange(from, BUSY, Ordering::Acquire, Ordering::Relaxed)
            .ok()
            .map(|_| Claim(self))
    }
}

/// The right to a slot's cells.
struct Claim(&'static Slot);

impl Claim {
    fn cells(&mut self) -> (&mut Block, &mut Option<Box<Body>>) {
        // SAFETY: `claim` made this the only `Claim` of the slot, and the references live no longer
        // than the borrow of it. The host writes into the block at no time and reads it only
        // between calls.
        unsafe { (&mut *self.0.block.get(), &mut *self.0.body.get()) }
    }

    fn release(self, to: u32) {
        self.0.state.store(to, Ordering::Release);
    }
}

static SLOTS: [Slot; MAX_SESSIONS] = [const { Slot::new() }; MAX_SESSIONS];

/// Where the search for a free slot starts: behind the one given last, so that the handle of a
/// session that was freed stays wrong for as long as possible.
static NEXT: AtomicUsize = AtomicUsize::new(0);

const STRIDE: u32 = size_of::<Slot>() as u32;

/// The handle of slot 0: its address, where that is a handle.
fn base() -> u32 {
    if cfg!(target_family = "wasm") {
        SLOTS.as_ptr() as usize as u32
    } else {
        STRIDE
    }
}

fn slot_of(handle: u32) -> Option<&'static Slot> {
    let distance = handle.checked_sub(base())?;
    if distance % STRIDE != 0 {
        return None;
    }
    SLOTS.get((distance / STRIDE) as usize)
}

/// A session during one call.
pub struct Session<'a> {
    pub block: &'a mut Block,
    pub body: &'a mut Body,
}

impl Session<'_> {
    /// Writes the outcome's status, and what there is to say about an error.
    pub fn settle<T>(&mut self, outcome: Result<T>) -> Option<T> {
        match outcome {
            Ok(value) => {
                self.block[FIELD_STATUS] = 0;
                Some(value)
            }
            Err(error) => {
                self.fail(error);
                None
            }
        }
    }

    #[cold]
    fn fail(&mut self, error: Error) {
        self.block[FIELD_STATUS] = error.kind as u32;
        self.body.keep_error(self.block, error);
    }
}

/// A new session; `None` when all are taken.
pub fn create() -> Option<u32> {
    let start = NEXT.load(Ordering::Relaxed);
    (0..MAX_SESSIONS).map(|step| (start + step) % MAX_SESSIONS).find_map(|index| {
        let mut claim = SLOTS.get(index)?.claim(FREE)?;
        let (block, body) = claim.cells();
        *block = [0; SESSION_WORDS];
        *body = Some(Box::new(Body::new()));
        claim.release(IDLE);
        NEXT.store((index + 1) % MAX_SESSIONS, Ordering::Relaxed);
        Some(base() + STRIDE * index as u32)
    })
}

/// Ends a session. A wrong handle, or one in use, is left alone.
pub fn destroy(handle: u32) {
    let Some(mut claim) = slot_of(handle).and_then(|slot| slot.claim(IDLE)) else { return };
    let (block, body) = claim.cells();
    *block = [0; SESSION_WORDS];
    if let Some(mut body) = body.take() {
        body.wipe();
    }
    claim.release(FREE);
}

/// Runs a call on a session; `None` when the handle is wrong or another call is running on it.
pub fn with<T>(handle: u32, call: impl FnOnce(&mut Session) -> T) -> Option<T> {
    let mut claim = slot_of(handle)?.claim(IDLE)?;
    let (block, body) = claim.cells();
    let answer = body.as_deref_mut().map(|body| call(&mut Session { block, body }));
    claim.release(IDLE);
    answer
}
