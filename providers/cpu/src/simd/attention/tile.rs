//! Shapes of the register tiles.
//!
//! Enough accumulators to cover the latency of a multiply-add, few enough to stay in registers beside the operands: twelve of
//! sixteen registers, twenty-four of thirty-two.

use super::super::lanes::Simd;

/// The height of the next tile for `left` rows that decode in registers: 1 to 4.
pub fn few_height(left: usize) -> usize {
    match left {
        0..=4 => left,
        5 | 6 | 9 => 3,
        _ => 4,
    }
}

/// Makes the shape of a tile that decodes in registers constant: `with_few!(S, height, R, K, V => expression)`, where `K` is
/// the number of keys and `V` that of vectors of a value beside each other.
macro_rules! with_few {
    ($s:ty, $height:expr, $r:ident, $k:ident, $v:ident => $body:expr) => {
        match $height {
            1 => {
                const $r: usize = 1;
                const $k: usize = 4;
                const $v: usize = 8;
                $body
            }
            2 => {
                const $r: usize = 2;
                const $k: usize = 4;
                const $v: usize = 4;
                $body
            }
            3 => {
                const $r: usize = 3;
                const $k: usize = 4;
                const $v: usize = 4;
                $body
            }
            4 if <$s>::ROWS < 6 => {
                const $r: usize = 4;
                const $k: usize = 2;
                const $v: usize = 2;
                $body
            }
            4 => {
                const $r: usize = 4;
                const $k: usize = 4;
                const $v: usize = 4;
                $body
            }
            height => unreachable!("no tile of {height} rows"),
        }
    };
}
pub(super) use with_few;

/// The height of the next tile over a panel, four vectors wide: a single row is left over only where there is no other way.
pub fn panel_height<S: Simd>(left: usize) -> usize {
    match left {
        0..=3 => left,
        4 if S::ROWS == 6 => 4,
        4 => 2,
        5 => 3,
        _ if S::ROWS == 6 && left != 7 => 6,
        7 if S::ROWS == 6 => 4,
        _ => 3,
    }
}

/// Makes the height of a tile over a panel constant.
macro_rules! with_height {
    ($s:ty, $height:expr, $r:ident => $body:expr) => {
        match $height {
            1 => {
                const $r: usize = 1;
                $body
            }
            2 => {
                const $r: usize = 2;
                $body
            }
            3 => {
                const $r: usize = 3;
                $body
            }
            4 if <$s>::ROWS >= 6 => {
                const $r: usize = 4;
                $body
            }
            6 if <$s>::ROWS >= 6 => {
                const $r: usize = 6;
                $body
            }
            height => unreachable!("no tile of {height} rows"),
        }
    };
}
pub(super) use with_height;

/// Makes the width of a strip constant.
macro_rules! with_width {
    ($width:expr, $n:ident => $body:expr) => {
        match $width {
            1 => {
                const $n: usize = 1;
                $body
            }
            2 => {
                const $n: usize = 2;
                $body
            }
            3 => {
                const $n: usize = 3;
                $body
            }
            4 => {
                const $n: usize = 4;
                $body
            }
            width => unreachable!("no strip of {width} vectors"),
        }
    };
}
pub(super) use with_width;
