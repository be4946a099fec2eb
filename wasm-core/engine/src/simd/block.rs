//! Which of 64 bytes are of some kind, as the bits of one word.
//!
//! One algorithm over four SIMD registers where the build has them, else over eight machine words.

/// As many bytes as are looked at together.
pub const WIDTH: usize = 64;

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
pub use simd::Block;
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
pub use words::Block;

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod simd {
    use super::WIDTH;
    use core::arch::wasm32::{
        i8x16_bitmask, i8x16_lt, i8x16_splat, i8x16_swizzle, u64x2_splat, u8x16, u8x16_eq,
        u8x16_shr, u8x16_splat, u8x16_sub, v128, v128_and, v128_load, v128_or,
    };

    #[derive(Clone, Copy)]
    pub struct Block([v128; 4]);

    impl Block {
        #[inline(always)]
        pub fn load(bytes: &[u8; WIDTH]) -> Self {
            let start = bytes.as_ptr();
            // SAFETY: `bytes` has 64 bytes, so each of the four loads of 16 lies inside; the
            // instruction has no need of alignment.
            let register = |n: usize| unsafe { v128_load(start.add(16 * n).cast()) };
            Self([register(0), register(1), register(2), register(3)])
        }

        #[inline(always)]
        fn mask(self, each: impl Fn(v128) -> v128) -> u64 {
            let [a, b, c, d] = self.0.map(|register| u64::from(i8x16_bitmask(each(register))));
            a | b << 16 | c << 32 | d << 48
        }

        /// The bytes that are, after `| fold`, in `first..=last`.
        #[inline(always)]
        pub fn in_range(self, fold: u8, first: u8, last: u8) -> u64 {
            // The range is moved to the smallest numbers with a sign: processors of x86 compare
            // those in one instruction, and others in three.
            let (fold, smallest) = (u8x16_splat(fold), u8x16_splat(first.wrapping_add(0x80)));
            let behind = i8x16_splat((last - first).wrapping_add(0x81) as i8);
            self.mask(|bytes| i8x16_lt(u8x16_sub(v128_or(bytes, fold), smallest), behind))
        }

        /// The bytes in `first..=last`, of which none is ASCII.
        #[inline(always)]
        pub fn high_in_range(self, first: u8, last: u8) -> u64 {
            self.in_range(0, first, last)
        }

        /// The bytes that are one of these two.
        #[inline(always)]
        pub fn either(self, one: u8, other: u8) -> u64 {
            let (one, other) = (u8x16_splat(one), u8x16_splat(other));
            self.mask(|bytes| v128_or(u8x16_eq(bytes, one), u8x16_eq(bytes, other)))
        }

        #[inline(always)]
        pub fn is_ascii(self) -> bool {
            let [a, b, c, d] = self.0;
            i8x16_bitmask(v128_or(v128_or(a, b), v128_or(c, d))) == 0
        }

        /// The bytes that are this one.
        #[inline(always)]
        pub fn equal(self, byte: u8) -> u64 {
            let byte = u8x16_splat(byte);
            self.mask(|bytes| u8x16_eq(bytes, byte))
        }

        /// The bytes that are no ASCII.
        #[inline(always)]
        pub fn high(self) -> u64 {
            self.mask(|bytes| bytes)
        }

        /// The bytes that go on with a character.
        #[inline(always)]
        pub fn continuing(self) -> u64 {
            let leads = i8x16_splat(0xC0_u8 as i8);
            self.mask(|bytes| i8x16_lt(bytes, leads))
        }

        /// The bytes whose last six bits are in a set: bit n of it stands for the number n.
        #[inline(always)]
        pub fn in_set(self, set: u64) -> u64 {
            let (set, eight) = (u64x2_splat(set), u8x16_splat(7));
            let bits = u8x16(1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128);
            self.mask(|bytes| {
                let byte = i8x16_swizzle(set, v128_and(u8x16_shr(bytes, 3), eight));
                let bit = i8x16_swizzle(bits, v128_and(bytes, eight));
                u8x16_eq(v128_and(byte, bit), bit)
            })
        }
    }
}

#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
mod words {
    use super::WIDTH;

    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * ONES;

    #[derive(Clone, Copy)]
    pub struct Block([u64; 8]);

    impl Block {
        #[inline(always)]
        pub fn load(bytes: &[u8; WIDTH]) -> Self {
            let mut words = [0; 8];
            for (word, chunk) in words.iter_mut().zip(bytes.chunks_exact(8)) {
                *word = chunk.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
            }
            Self(words)
        }

        /// `each` answers in the high bit of every byte.
        #[inline(always)]
        fn mask(self, each: impl Fn(u64) -> u64) -> u64 {
            let mut mask = 0;
            for (n, word) in self.0.into_iter().enumerate() {
                // The multiplication collects the eight bits in the top byte.
                let bits = ((each(word) & HIGH) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
                mask |= bits << (8 * n);
            }
            mask
        }

        /// The bytes that are, after `| fold`, in `first..=last`, which are ASCII.
        #[inline(always)]
        pub fn in_range(self, fold: u8, first: u8, last: u8) -> u64 {
            self.mask(|word| {
                let folded = (word | (u64::from(fold) * ONES)) & !HIGH;
                let from_first = folded + u64::from(0x80 - first) * ONES;
                let behind_last = folded + u64::from(0x7F - last) * ONES;
                from_first & !behind_last & !word
            })
        }

        /// The bytes in `first..=last`, of which none is ASCII.
        #[inline(always)]
        pub fn high_in_range(self, first: u8, last: u8) -> u64 {
            self.mask(|word| {
                let low = word & !HIGH;
                let from_first = low + u64::from(0x80 - (first & 0x7F)) * ONES;
                let behind_last = low + u64::from(0x7F - (last & 0x7F)) * ONES;
                from_first & !behind_last & word
            })
        }

        /// The bytes that are one of these two.
        #[inline(always)]
        pub fn either(self, one: u8, other: u8) -> u64 {
            self.equal(one) | self.equal(other)
        }

        #[inline(always)]
        pub fn is_ascii(self) -> bool {
            self.0.into_iter().fold(0, |all, word| all | word) & HIGH == 0
        }

        /// The bytes that are this one.
        #[inline(always)]
        pub fn equal(self, byte: u8) -> u64 {
            self.mask(|word| {
                let differs = word ^ (u64::from(byte) * ONES);
                let low_bits = (differs & !HIGH) + !HIGH;
                !(low_bits | differs)
            })
        }

        /// The bytes that are no ASCII.
        #[inline(always)]
        pub fn high(self) -> u64 {
            self.mask(|word| word)
        }

        /// The bytes that go on with a character.
        #[inline(always)]
        pub fn continuing(self) -> u64 {
            self.mask(|word| word & !(word << 1))
        }

        /// The bytes whose last six bits are in a set: bit n of it stands for the number n.
        #[inline(always)]
        pub fn in_set(self, set: u64) -> u64 {
            let bytes = self.0.into_iter().flat_map(u64::to_le_bytes).zip(0..);
            bytes.fold(0, |mask, (byte, n)| mask | (set >> (byte & 63) & 1) << n)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::random::Random;

    #[test]
    fn masks_say_what_a_loop_over_bytes_says() {
        let mut random = Random::new(41);
        for _ in 0..500 {
            let mut bytes = [0; WIDTH];
            bytes.iter_mut().for_each(|byte| *byte = random.next() as u8);
            let obvious = |is: &dyn Fn(u8) -> bool| {
                bytes.iter().enumerate().fold(0u64, |mask, (n, &b)| mask | u64::from(is(b)) << n)
            };
            let block = Block::load(&bytes);
            assert_eq!(block.high(), obvious(&|b| b >= 0x80));
            assert_eq!(block.continuing(), obvious(&|b| (0x80..0xC0).contains(&b)));
            assert_eq!(block.is_ascii(), bytes.is_ascii());
            let mut ascii = bytes.map(|byte| byte & 0x7F);
            assert!(Block::load(&ascii).is_ascii());
            ascii[random.below(WIDTH)] |= 0x80;
            assert!(!Block::load(&ascii).is_ascii());
            for set in [0, 1, random.next(), u64::MAX] {
                assert_eq!(block.in_set(set), obvious(&|b| set >> (b % 64) & 1 == 1), "{set:X}");
            }
            for (one, other) in [(b'\n', b'\r'), (bytes[3], bytes[40]), (0, 0xFF), (0x7F, 0x80)] {
                assert_eq!(block.either(one, other), obvious(&|b| b == one || b == other));
            }
            for byte in [0, b'<', 0x7F, 0x80, 0xE2, 0xFF, bytes[17]] {
                assert_eq!(block.equal(byte), obvious(&|b| b == byte), "{byte}");
            }
            for (fold, first, last) in [
                (0x20, b'a', b'z'),
                (0, b'A', b'Z'),
                (0, b'0', b'9'),
                (0, 9, 13),
                (0, 32, 32),
                (0, 0, 0x7F),
            ] {
                let expected = obvious(&|b| b < 0x80 && (first..=last).contains(&(b | fold)));
                assert_eq!(block.in_range(fold, first, last), expected, "{first}..={last}");
            }
            for (first, last) in [(0x80, 0xBE), (0xE5, 0xE8), (0xB8, 0xBF), (0xFF, 0xFF)] {
                let expected = obvious(&|b| (first..=last).contains(&b));
                assert_eq!(block.high_in_range(first, last), expected, "{first}..={last}");
            }
        }
    }
}
