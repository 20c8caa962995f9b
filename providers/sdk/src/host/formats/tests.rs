//! Against the format's own library, and the oracles' code.

#[path = "../../../../../kernels/tests/support/gguf.rs"]
mod gguf;

use super::{Blocks, Fp8};
use gguf::{same, sections};
use overt_kernels::dtype;
use overt_kernels::host::Element;

#[test]
fn blocks_unpack_to_the_bits_of_the_formats_own_library() {
    let mut formats = 0;
    for section in sections().iter().filter(|s| !s.encoded) {
        formats += 1;
        let blocks = Blocks::of(dtype::from_name(&section.format).unwrap()).unwrap();
        assert_eq!(blocks.size(), (section.block_elements, section.block_bytes));
        for (number, (bytes, values)) in section.blocks().enumerate() {
            let mut got = vec![0.0; values.len()];
            blocks.unpack(bytes, &mut got);
            for (i, (got, &want)) in got.iter().zip(values).enumerate() {
                assert!(
                    same(*got as f32, want),
                    "{} block {number} element {i}: {got:e}, the library has {want:e}",
                    section.format
                );
            }
        }
    }
    assert_eq!(formats, 9);
}

#[test]
fn values_pack_to_the_bytes_of_the_formats_own_library() {
    let mut formats = 0;
    for section in sections().iter().filter(|s| s.encoded) {
        let blocks = Blocks::of(dtype::from_name(&section.format).unwrap()).unwrap();
        let mut got = vec![0xa5; section.block_bytes];
        for (number, (want, values)) in section.blocks().enumerate() {
            if !blocks.pack(values, &mut got) {
                assert_eq!(section.format, "mxfp4", "has no quantiser");
                continue;
            }
            formats += usize::from(number == 0);
            assert_eq!(got, want, "{} block {number}: {values:?}", section.format);
        }
    }
    assert_eq!(formats, 5);
}

/// The other side's code works otherwise (by halving among decoded neighbours), so agreement is evidence for both.
#[test]
fn eight_bit_floats_agree_with_the_oracles_on_every_pattern_and_between_them() {
    for (dtype, _) in dtype::all() {
        let Some(format) = Fp8::of(dtype) else {
            continue;
        };
        let element = Element::of(dtype).unwrap();
        let encoded = |value: f64| {
            let mut byte = [0];
            element.write_f64(&mut byte, value);
            byte[0]
        };
        for bits in 0..=u8::MAX {
            let (ours, theirs) = (format.decode(bits), element.read_f64(&[bits]));
            assert!(
                ours.to_bits() == theirs.to_bits() || ours.is_nan() && theirs.is_nan(),
                "{format:?} {bits:#04x}: {ours} and {theirs}"
            );
            let next = element.read_f64(&[bits.wrapping_add(1)]);
            let tie = (theirs + next) / 2.0;
            for value in [theirs, tie, tie.next_up(), tie.next_down(), 1e-300, 1e300] {
                for value in [value, -value] {
                    // A NaN's sign is nobody's promise.
                    let same = format.encode(value) == encoded(value)
                        || value.is_nan() && format.decode(format.encode(value)).is_nan();
                    assert!(same, "{format:?} {value:e}");
                }
            }
        }
    }
}
