//! Sixteen bytes that are loaded, compared and stored as one.
//!
//! A register where the build has SIMD, else two machine words. Hosts that check each access to
//! memory check one instead of two to four.

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
pub use simd::Wide;
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
pub use words::Wide;

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod simd {
    use core::arch::wasm32::{
        i32x4_shuffle, i64x2_eq, i64x2_shuffle, i8x16, i8x16_lt, i8x16_splat, u32x4_extract_lane,
        u32x4_min, u64x2, u64x2_extract_lane, u8x16_replace_lane, v128, v128_and, v128_load,
        v128_store, v128_xor,
    };

    #[derive(Debug, Clone, Copy)]
    #[repr(transparent)]
    pub struct Wide(v128);

    impl Wide {
        #[inline(always)]
        pub const fn new(low: u64, high: u64) -> Self {
            Self(u64x2(low, high))
        }

        #[inline(always)]
        pub fn load(bytes: &[u8; 16]) -> Self {
            // SAFETY: `bytes` has the 16 bytes that are read; the instruction has no need of
            // alignment.
            Self(unsafe { v128_load(bytes.as_ptr().cast()) })
        }

        #[inline(always)]
        pub fn words(self) -> (u64, u64) {
            (u64x2_extract_lane::<0>(self.0), u64x2_extract_lane::<1>(self.0))
        }

        /// The first `count` bytes, which are not all, and zeros behind them.
        #[inline(always)]
        pub fn first_bytes(self, count: u8) -> Self {
            // Around zero, so that it stays a comparison with a sign: one instruction, not three.
            const PLACES: v128 = i8x16(-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7);
            let count = i8x16_splat(count.wrapping_sub(8) as i8);
            Self(v128_and(self.0, i8x16_lt(PLACES, count)))
        }

        #[inline(always)]
        pub fn xor(self, other: Self) -> Self {
            Self(v128_xor(self.0, other.0))
        }

        #[inline(always)]
        pub fn with_last_byte(self, byte: u8) -> Self {
            Self(u8x16_replace_lane::<15>(self.0, byte))
        }

        /// Itself where `left` and `right` are equal, else zero.
        #[inline(always)]
        pub fn if_equal(self, left: Self, right: Self) -> Self {
            let halves = i64x2_eq(left.0, right.0);
            let swapped = i64x2_shuffle::<1, 0>(halves, halves);
            Self(v128_and(self.0, v128_and(halves, swapped)))
        }

        /// Makes the highest byte of the last lane zero by a store of one byte, without a load.
        #[inline(always)]
        pub fn clear_highest_byte(&mut self) {
            // SAFETY: these are the sixteen bytes of `self`, and any bytes are a value of it.
            let bytes: &mut [u8; 16] = unsafe { &mut *core::ptr::from_mut(self).cast() };
            bytes[15] = 0;
        }

        #[inline(always)]
        pub fn last_lane(self) -> u32 {
            u32x4_extract_lane::<3>(self.0)
        }

        /// The smaller one in each of the four lanes.
        #[inline(always)]
        pub fn min(self, other: Self) -> Self {
            Self(u32x4_min(self.0, other.0))
        }

        /// The smallest of the four lanes.
        #[inline(always)]
        pub fn min_lane(self) -> u32 {
            let half = u32x4_min(self.0, i64x2_shuffle::<1, 0>(self.0, self.0));
            u32x4_extract_lane::<0>(u32x4_min(half, i32x4_shuffle::<1, 0, 3, 2>(half, half)))
        }

        #[inline(always)]
        pub fn load_lanes(lanes: &[u32; 4]) -> Self {
            // SAFETY: `lanes` has the 16 bytes that are read; the instruction has no need of
            // alignment.
            Self(unsafe { v128_load(lanes.as_ptr().cast()) })
        }

        #[inline(always)]
        pub fn store(self, place: &mut [u32; 4]) {
            // SAFETY: `place` has the 16 bytes that are written; the instruction has no need of
            // alignment.
            unsafe { v128_store(place.as_mut_ptr().cast(), self.0) }
        }
    }
}

#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
mod words {
    #[derive(Debug, Clone, Copy)]
    #[repr(C, align(16))]
    pub struct Wide(u64, u64);

    /// Which bits belong to so many bytes. A table, because a shift of 128 bits is a call on hosts
    /// with 64.
    const MASKS: [Wide; 16] = {
        let mut masks = [Wide::new(0, 0); 16];
        let mut count = 1;
        while count < 16 {
            let bits = 8 * count as u32;
            masks[count] = if count <= 8 {
                Wide::new(u64::MAX >> (64 - bits), 0)
            } else {
                Wide::new(u64::MAX, u64::MAX >> (128 - bits))
            };
            count += 1;
        }
        masks
    };

    impl Wide {
        #[inline(always)]
        pub const fn new(low: u64, high: u64) -> Self {
            Self(low, high)
        }

        #[inline(always)]
        pub fn load(bytes: &[u8; 16]) -> Self {
            let [a, b, c, d, e, f, g, h, high @ ..] = *bytes;
            Self(u64::from_le_bytes([a, b, c, d, e, f, g, h]), u64::from_le_bytes(high))
        }

        #[inline(always)]
        pub fn words(self) -> (u64, u64) {
            (self.0, self.1)
        }

        /// The first `count` bytes, which are not all, and zeros behind them.
        #[inline(always)]
        pub fn first_bytes(self, count: u8) -> Self {
            let Self(low, high) = MASKS[usize::from(count & 15)];
            Self(self.0 & low, self.1 & high)
        }

        #[inline(always)]
        pub fn xor(self, other: Self) -> Self {
            Self(self.0 ^ other.0, self.1 ^ other.1)
        }

        #[inline(always)]
        pub fn with_last_byte(self, byte: u8) -> Self {
            Self(self.0, self.1 & (u64::MAX >> 8) | u64::from(byte) << 56)
        }

        /// Itself where `left` and `right` are equal, else zero.
        #[inline(always)]
        pub fn if_equal(self, left: Self, right: Self) -> Self {
            let mask = u64::from(left.0 == right.0 && left.1 == right.1).wrapping_neg();
            Self(self.0 & mask, self.1 & mask)
        }

        /// Makes the highest byte of the last lane zero by a store of one byte, without a load.
        #[inline(always)]
        pub fn clear_highest_byte(&mut self) {
            // SAFETY: these are the sixteen bytes of `self`, and any bytes are a value of it.
            let bytes: &mut [u8; 16] = unsafe { &mut *core::ptr::from_mut(self).cast() };
            bytes[if cfg!(target_endian = "little") { 15 } else { 8 }] = 0;
        }

        #[inline(always)]
        pub fn last_lane(self) -> u32 {
            (self.1 >> 32) as u32
        }

        /// The smaller one in each of the four lanes.
        #[inline(always)]
        pub fn min(self, other: Self) -> Self {
            let (left, right) = (self.lanes(), other.lanes());
            Self::load_lanes(&std::array::from_fn(|n| left[n].min(right[n])))
        }

        /// The smallest of the four lanes.
        #[inline(always)]
        pub fn min_lane(self) -> u32 {
            let [a, b, c, d] = self.lanes();
            a.min(b).min(c.min(d))
        }

        #[inline(always)]
        pub fn load_lanes(lanes: &[u32; 4]) -> Self {
            let [a, b, c, d] = lanes.map(u64::from);
            Self(a | b << 32, c | d << 32)
        }

        #[inline(always)]
        pub fn store(self, place: &mut [u32; 4]) {
            *place = [self.0 as u32, (self.0 >> 32) as u32, self.1 as u32, (self.1 >> 32) as u32];
        }
    }
}

/// The smallest of some numbers, of which there is a multiple of four.
#[inline(always)]
pub fn lowest<const COUNT: usize>(numbers: &[u32; COUNT]) -> u32 {
    let fours = numbers.as_chunks().0.iter().map(Wide::load_lanes);
    fours.fold(Wide::new(u64::MAX, u64::MAX), Wide::min).min_lane()
}

impl Wide {
    #[inline(always)]
    pub fn lanes(self) -> [u32; 4] {
        let mut lanes = [0; 4];
        self.store(&mut lanes);
        lanes
    }
}

impl Default for Wide {
    fn default() -> Self {
        Self::new(0, 0)
    }
}

impl PartialEq for Wide {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        self.words() == other.words()
    }
}

impl Eq for Wide {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::random::Random;

    #[test]
    fn the_parts_are_where_bytes_have_them() {
        let bytes: [u8; 16] = std::array::from_fn(|n| n as u8 + 1);
        let wide = Wide::load(&bytes);
        assert_eq!(wide.words(), (0x0807_0605_0403_0201, 0x100F_0E0D_0C0B_0A09));
        assert_eq!(wide, Wide::new(0x0807_0605_0403_0201, 0x100F_0E0D_0C0B_0A09));
        assert_eq!(wide.lanes(), [0x0403_0201, 0x0807_0605, 0x0C0B_0A09, 0x100F_0E0D]);
        assert_eq!(Wide::load_lanes(&wide.lanes()), wide);
        assert_eq!(wide.last_lane(), 0x100F_0E0D);
        assert_eq!(wide.with_last_byte(0xFE).last_lane(), 0xFE0F_0E0D);
        assert_eq!(wide.with_last_byte(0xFE).words().0, wide.words().0);
        for count in 0..16u8 {
            let kept = std::array::from_fn(|n| if n < usize::from(count) { bytes[n] } else { 0 });
            assert_eq!(wide.first_bytes(count), Wide::load(&kept));
        }
        assert_eq!(wide.xor(wide), Wide::default());
        assert_eq!(wide.xor(Wide::new(1, 0)).words(), (wide.words().0 ^ 1, wide.words().1));
    }

    #[test]
    fn one_different_bit_is_not_equal() {
        let (wide, answer) = (Wide::new(5, 9), Wide::new(u64::MAX, 7));
        assert_eq!(answer.if_equal(wide, wide), answer);
        for bit in 0..128 {
            let (low, high) = (1u64.checked_shl(bit), 1u64.checked_shl(bit.wrapping_sub(64)));
            let other = Wide::new(5 ^ low.unwrap_or(0), 9 ^ high.unwrap_or(0));
            assert_eq!(answer.if_equal(wide, other), Wide::default());
            assert_ne!(wide, other);
        }
    }

    #[test]
    fn the_lowest_is_found_in_every_lane() {
        let mut random = Random::new(2);
        for _ in 0..200 {
            let numbers: [u32; 16] =
                std::array::from_fn(|_| (random.next() as u32) >> random.below(32));
            assert_eq!(lowest(&numbers), *numbers.iter().min().unwrap());
        }
        assert_eq!(lowest(&[u32::MAX; 4]), u32::MAX);
    }
}
