//! What belongs to one render and not to the environment: its bounds and its clock.

use std::cell::Cell;
use std::rc::Rc;

use crate::limits::Limits;
use crate::prepare::Profile;
use crate::trace::Tracing;

/// A moment as `strftime_now` sees it: fields of a local time, given by the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clock {
    pub year: i32,
    pub month: u32,
    pub day: u32,
    pub hour: u32,
    pub minute: u32,
    pub second: u32,
    pub microsecond: u32,
    /// Seconds east of UTC and the zone's name; None for a time without a zone.
    pub zone: Option<(i32, String)>,
}

#[derive(Default)]
pub struct Session {
    pub profile: Profile,
    pub limits: Limits,
    /// None: `strftime_now` is refused.
    pub clock: Option<Clock>,
    /// Of renders in which every text carries whose it is.
    pub tracing: Option<Rc<Tracing>>,
}

thread_local! {
    // Operators ask for it all the time, and finding the session takes a walk through all scopes.
    static OUTPUT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Bytes that any one value of the render in this thread may grow to.
#[must_use]
pub fn output_cap() -> usize {
    OUTPUT.get().unwrap_or_else(|| Limits::default().output)
}

/// What `work` renders is bound by `cap`.
pub fn bound<T>(cap: usize, work: impl FnOnce() -> T) -> T {
    let before = OUTPUT.replace(Some(cap));
    let done = work();
    OUTPUT.set(before);
    done
}
