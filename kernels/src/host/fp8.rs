//! The four 8-bit floats: a sign, `e` exponent bits and `m` fraction bits.
//!
//! | Format | Bias | Largest | Infinity | NaN | Negative zero |
//! |---|---|---|---|---|---|
//! | `e4m3fn` | 7 | 448 | none | `0x7f`, `0xff` | yes |
//! | `e4m3fnuz` | 8 | 240 | none | `0x80` alone | no |
//! | `e5m2` | 15 | 57344 | yes | exponent all ones, fraction not 0 | yes |
//! | `e5m2fnuz` | 16 | 57344 | none | `0x80` alone | no |
//!
//! Overflow: a finite number beyond the largest becomes the largest of its sign, in every format. That is what engines do when
//! they write caches and weights, since one infinity would spoil a whole row. An infinity stays one where the format has it
//! (`e5m2`) and becomes NaN where it has none. A NaN stays a NaN.

/// One of the formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fp8 {
    exponent_bits: u32,
    bias: i32,
    kind: Kind,
}

/// What the extreme patterns mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// As IEEE 754: exponents of all ones are infinities and NaNs.
    Ieee,
    /// Only the pattern of all ones below the sign is NaN.
    Finite,
    /// Only negative zero's pattern is NaN.
    FiniteUnsignedZero,
}

pub(super) const E4M3FN: Fp8 = Fp8 {
    exponent_bits: 4,
    bias: 7,
    kind: Kind::Finite,
};
pub(super) const E4M3FNUZ: Fp8 = Fp8 {
    exponent_bits: 4,
    bias: 8,
    kind: Kind::FiniteUnsignedZero,
};
pub(super) const E5M2: Fp8 = Fp8 {
    exponent_bits: 5,
    bias: 15,
    kind: Kind::Ieee,
};
pub(super) const E5M2FNUZ: Fp8 = Fp8 {
    exponent_bits: 5,
    bias: 16,
    kind: Kind::FiniteUnsignedZero,
};

impl Fp8 {
    fn fraction_bits(self) -> u32 {
        7 - self.exponent_bits
    }

    /// The pattern of the largest finite number, without sign.
    fn largest(self) -> u8 {
        match self.kind {
            Kind::Ieee => (((1 << self.exponent_bits) - 1) << self.fraction_bits()) - 1,
            Kind::Finite => 0x7e,
            Kind::FiniteUnsignedZero => 0x7f,
        }
    }

    /// The number of a pattern, exactly.
    pub(super) fn decode(self, bits: u8) -> f64 {
        let sign = if bits & 0x80 == 0 { 1.0 } else { -1.0 };
        let magnitude = bits & 0x7f;
        if self.kind == Kind::FiniteUnsignedZero && bits == 0x80 {
            return f64::NAN;
        }
        if magnitude > self.largest() {
            let infinite = self.kind == Kind::Ieee && magnitude == self.largest() + 1;
            return if infinite {
                sign * f64::INFINITY
            } else {
                f64::NAN.copysign(sign)
            };
        }
        sign * self.finite(magnitude)
    }

    /// The number of a finite pattern without sign.
    fn finite(self, magnitude: u8) -> f64 {
        let exponent = i32::from(magnitude >> self.fraction_bits());
        let fraction = i32::from(magnitude) & ((1 << self.fraction_bits()) - 1);
        let (significand, power) = if exponent == 0 {
            (fraction, 1 - self.bias)
        } else {
            (fraction | 1 << self.fraction_bits(), exponent - self.bias)
        };
        f64::from(significand) * 2f64.powi(power - self.fraction_bits() as i32)
    }

    /// The pattern of the nearest number, ties to the even pattern. See the module's words on what is too large.
    ///
    /// Finite patterns without sign ascend with their numbers, so the two neighbours are found by halving.
    pub(super) fn encode(self, value: f64) -> u8 {
        let sign = u8::from(value.is_sign_negative()) << 7;
        if value.is_nan() || value.is_infinite() && self.kind != Kind::Ieee {
            return match self.kind {
                Kind::Ieee => sign | 0x7e,
                Kind::Finite => sign | 0x7f,
                Kind::FiniteUnsignedZero => 0x80,
            };
        }
        if value.is_infinite() {
            return sign | (self.largest() + 1);
        }
        let wanted = value.abs();
        let (mut low, mut high) = (0, self.largest());
        if wanted >= self.finite(high) {
            return sign | high;
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.finite(middle) <= wanted {
                low = middle;
            } else {
                high = middle;
            }
        }
        // Both neighbours have few bits, so their mean is exact.
        let tie = (self.finite(low) + self.finite(high)) / 2.0;
        let nearest = if wanted > tie || wanted == tie && low & 1 == 1 {
            high
        } else {
            low
        };
        if nearest == 0 && self.kind == Kind::FiniteUnsignedZero {
            return 0;
        }
        sign | nearest
    }
}
