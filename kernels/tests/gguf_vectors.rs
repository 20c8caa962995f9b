//! Block formats against bytes and values of the format's own library; see `gguf_vectors.py`.

#[path = "support/gguf.rs"]
mod gguf;

use gguf::{same, sections};
use overt_kernels::dtype;
use overt_kernels::host::{BlockFormat, HostTensor};

fn format(name: &str) -> BlockFormat {
    BlockFormat::of(dtype::from_name(name).unwrap()).unwrap()
}

#[test]
fn every_block_format_is_in_the_table_with_its_size() {
    for (dtype, name) in dtype::all().filter(|(d, _)| dtype::is_block_format(*d)) {
        let section = sections()
            .into_iter()
            .find(|s| s.format == name && !s.encoded)
            .unwrap_or_else(|| panic!("{name} has no section"));
        let block = dtype::block(dtype).unwrap();
        assert_eq!(section.block_bytes as u64, block.bytes, "{name}");
        assert_eq!(section.block_elements as u64, block.elements, "{name}");
        assert_eq!(BlockFormat::of(dtype).unwrap().block(), block);
        assert!(section.values.len() > 1000);
    }
}

#[test]
fn elements_decode_to_the_librarys_bits() {
    for section in sections().iter().filter(|s| !s.encoded) {
        let format = format(&section.format);
        for (number, (bytes, values)) in section.blocks().enumerate() {
            for (i, &want) in values.iter().enumerate() {
                let got = format.value(bytes, i) as f32;
                assert!(
                    same(got, want),
                    "{} block {number} element {i}: {got:e}, the library has {want:e}",
                    section.format
                );
            }
        }
    }
}

#[test]
fn tensors_read_blocks_by_element_and_in_order() {
    for section in sections().iter().filter(|s| !s.encoded) {
        let dtype = dtype::from_name(&section.format).unwrap();
        let width = section.block_elements as i64;
        // Two rows of two blocks, a block of padding between them.
        let mut tensor = HostTensor::padded(dtype, &[2, 2 * width], 1, 0).unwrap();
        let n = section.block_bytes;
        tensor.bytes[..2 * n].copy_from_slice(&section.bytes[..2 * n]);
        tensor.bytes[3 * n..].copy_from_slice(&section.bytes[2 * n..4 * n]);
        let got: Vec<f32> = tensor.to_f64().unwrap().iter().map(|&v| v as f32).collect();
        let want = &section.values[..4 * width as usize];
        assert!(
            got.iter().zip(want).all(|(a, b)| same(*a, *b)),
            "{}",
            section.format
        );
        let one = tensor.get_f64(&[1, width + 3]).unwrap() as f32;
        assert!(same(one, want[3 * width as usize + 3]));
    }
}

#[test]
fn values_encode_to_the_librarys_bytes() {
    let mut formats = 0;
    for section in sections().iter().filter(|s| s.encoded) {
        let format = format(&section.format);
        formats += 1;
        for (number, (want, values)) in section.blocks().enumerate() {
            let wide: Vec<f64> = values.iter().map(|&v| f64::from(v)).collect();
            let mut got = vec![0xa5; want.len()];
            format.encode(&wide, &mut got);
            assert_eq!(got, want, "{} block {number}: {values:?}", section.format);
        }
    }
    assert_eq!(formats, 6);
}

/// The encoders of the formats that the library does not encode: codes to nearest, so within half a step of each group, and
/// all codes of scales in use.
#[test]
fn groups_with_scales_of_their_own_are_encoded_to_the_nearest_code() {
    for (dtype, levels) in [
        (dtype::Q4_K, 15.0),
        (dtype::Q5_K, 31.0),
        (dtype::Q6_K, 63.0),
    ] {
        let group = if dtype == dtype::Q6_K { 16 } else { 32 };
        let mut state = 1u64;
        let values: Vec<f64> = (0..256 * 40)
            .map(|i| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let unit = (state >> 40) as f64 / 2f64.powi(23) - 1.0;
                unit * (1.0 + (i / group % 61) as f64) / 61.0
            })
            .collect();
        let mut tensor = HostTensor::contiguous(dtype, &[40, 256]).unwrap();
        let mut next = values.iter();
        tensor.fill_with(|| *next.next().unwrap()).unwrap();
        let got = tensor.to_f64().unwrap();
        for (wanted, got) in values.chunks(256).zip(got.chunks(256)) {
            let block_most = wanted.iter().fold(0f64, |m, v| m.max(v.abs()));
            for (wanted, got) in wanted.chunks(group).zip(got.chunks(group)) {
                let most = wanted.iter().fold(0f64, |m, v| m.max(v.abs()));
                // Half a step of the group, and the rounding of its scale and minimum to codes of the block's.
                let limit = most / levels * 1.1 + 2.0 * block_most / 63.0 * 1.05;
                for (w, g) in wanted.iter().zip(got) {
                    assert!(
                        (w - g).abs() <= limit,
                        "{}: {w} became {g}",
                        dtype::Shown(dtype)
                    );
                }
            }
        }
    }
}
