//! `float ** float`. The reference's C library is at most 0.54 units of the last place off, and no
//! library for WebAssembly is better: so the power is computed to twice the digits, and answered
//! where every such library must round to the same number.

/// Exponents beyond it would lose digits.
const MOST: f64 = 1024.0;

/// How near to the middle between two numbers libraries may disagree, in units of the last place.
const UNSURE: f64 = 0.05;

/// A number as the sum of two, the second below half a unit of the first.
#[derive(Debug, Clone, Copy)]
struct Double(f64, f64);

impl Double {
    fn sum(high: f64, low: f64) -> Self {
        let sum = high + low;
        Self(sum, low - (sum - high))
    }

    fn times(self, other: Self) -> Self {
        let (high, low) = product(self.0, other.0);
        Self::sum(high, low + (self.0 * other.1 + self.1 * other.0))
    }

    fn inverse(self) -> Self {
        let first = 1.0 / self.0;
        let (high, low) = product(first, self.0);
        let rest = ((1.0 - high) - low) - first * self.1;
        Self::sum(first, rest / self.0)
    }

    fn root(of: f64) -> Self {
        let first = of.sqrt();
        let (high, low) = product(first, first);
        Self::sum(first, ((of - high) - low) / (2.0 * first))
    }

    fn to_the(self, times: u32) -> Self {
        let (mut power, mut square, mut left) = (Self(1.0, 0.0), self, times);
        while left > 0 {
            if left & 1 == 1 {
                power = power.times(square);
            }
            square = square.times(square);
            left >>= 1;
        }
        power
    }
}

/// The product, and what rounding took from it (Dekker).
fn product(a: f64, b: f64) -> (f64, f64) {
    let halves = |value: f64| {
        let big = 134_217_729.0 * value;
        let high = big - (big - value);
        (high, value - high)
    };
    let (whole, (a, below_a), (b, below_b)) = (a * b, halves(a), halves(b));
    (whole, ((a * b - whole) + a * below_b + below_a * b) + below_a * below_b)
}

/// A normal number as one in `1.0..2.0` and an exponent.
#[allow(clippy::cast_possible_wrap)]
fn parts(value: f64) -> (f64, i64) {
    let bits = value.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i64 - 1023;
    (f64::from_bits(bits & !(0x7ff << 52) | 1023 << 52), exponent)
}

/// None where it is not sure. An answer that is infinite is none for Python.
#[must_use]
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub fn power(base: f64, exponent: f64) -> Option<f64> {
    let is_special = |value: f64| value == 0.0 || !value.is_finite();
    if is_special(base) || is_special(exponent) || base == 1.0 {
        return Some(base.powf(exponent));
    }
    let halves = exponent * 2.0;
    if halves.fract() != 0.0 || exponent.abs() > MOST || !base.is_normal() {
        let result = base.powf(exponent);
        return result.is_infinite().then_some(result);
    }
    let (size, scale) = parts(base.abs());
    let is_whole = exponent.fract() == 0.0;
    let times = if is_whole { exponent } else { halves } as i64;
    let (number, scale) = match (is_whole, scale % 2 == 0) {
        (true, _) => (Double(size, 0.0), scale),
        (false, true) => (Double::root(size), scale / 2),
        (false, false) => (Double::root(size * 2.0), (scale - 1) / 2),
    };
    let mut result = number.to_the(times.unsigned_abs() as u32);
    if times < 0 {
        result = result.inverse();
    }
    let (size, own) = parts(result.0);
    let scale = scale.checked_mul(times)?.checked_add(own)?;
    if scale > 1023 {
        return Some(f64::INFINITY);
    }
    // In units of the last place.
    let rest = result.1.abs() / f64::EPSILON / (result.0 / size);
    let is_unsure = rest != 0.0 && ((rest - 0.5).abs() < UNSURE || size == 1.0);
    if is_unsure || scale < -1022 {
        return None;
    }
    let biased = u64::try_from(scale.checked_add(1023)?).ok()?;
    let size = f64::from_bits(size.to_bits() & !(0x7ff << 52) | biased << 52);
    let is_negative = base < 0.0 && is_whole && times % 2 != 0;
    Some(if is_negative { -size } else { size })
}

#[cfg(test)]
mod tests {
    use super::power;

    #[test]
    fn sure_powers_are_those_of_the_c_library() {
        // Of CPython on Linux.
        for (base, exponent, expected) in [
            (2.0, 0.5, std::f64::consts::SQRT_2),
            (10.0, -2.0, 0.01),
            (10.0, 22.0, 1e22),
            (-1.5, 3.0, -3.375),
            (-2.0, -1.0, -0.5),
            (7.0, 100.0, 3.234_476_509_624_758e84),
        ] {
            assert_eq!(power(base, exponent), Some(expected), "{base} ** {exponent}");
        }
        assert_eq!(power(2.0, 1024.0), Some(f64::INFINITY));
        assert_eq!(power(0.0, 2.5), Some(0.0));
        assert_eq!(power(2.0, 0.3), None);
        // Nearly in the middle of two numbers: the libraries of Linux and WebAssembly disagree.
        assert_eq!(power(2.5, 2.5), None);
    }
}
