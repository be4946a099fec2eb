//! Handles of templates: numbers, never addresses, so that a wrong one is an error and no more.

use super::constants::MAX_TEMPLATES;
use crate::error::{Error, Kind, Result};

pub struct Slots<T> {
    slots: Vec<Option<T>>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { slots: Vec::new() }
    }
}

impl<T> Slots<T> {
    /// The handle of `item`: from 1.
    pub fn keep(&mut self, item: T) -> Result<u32> {
        let free = self.slots.iter().position(Option::is_none);
        let index = free.unwrap_or(self.slots.len());
        if index >= MAX_TEMPLATES {
            let message = format!("there are already {MAX_TEMPLATES} templates");
            return Err(Error::new(Kind::BadArgument, message));
        }
        match self.slots.get_mut(index) {
            Some(slot) => *slot = Some(item),
            None => self.slots.push(Some(item)),
        }
        Ok(index as u32 + 1)
    }

    pub fn get(&self, handle: u32) -> Result<&T> {
        let index = (handle as usize).wrapping_sub(1);
        self.slots
            .get(index)
            .and_then(Option::as_ref)
            .ok_or_else(|| Error::new(Kind::BadArgument, format!("there is no template {handle}")))
    }

    pub fn drop(&mut self, handle: u32) {
        if let Some(slot) = self.slots.get_mut((handle as usize).wrapping_sub(1)) {
            *slot = None;
        }
    }
}
