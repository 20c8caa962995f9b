//! Elements of a strided tensor in row-major order.

use overt_kernels::host::HostTensor;

/// Calls `each` with the element offset of every element, in row-major order of the logical shape.
pub(super) fn for_each_offset(shape: &[i64], strides: &[i64], mut each: impl FnMut(usize)) {
    if shape.contains(&0) {
        return;
    }
    let rank = shape.len();
    let mut index = vec![0i64; rank];
    let mut offset = 0i64;
    loop {
        each(offset as usize);
        let mut dim = rank;
        loop {
            if dim == 0 {
                return;
            }
            dim -= 1;
            index[dim] += 1;
            offset += strides[dim];
            if index[dim] < shape[dim] {
                break;
            }
            offset -= index[dim] * strides[dim];
            index[dim] = 0;
        }
    }
}

/// The bytes of all elements in row-major order, gaps left out. `size`: bytes of one element.
pub(super) fn gathered(layout: &HostTensor, bytes: &[u8], size: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(layout.len() as usize * size);
    for_each_offset(&layout.shape, &layout.strides, |offset| {
        out.extend_from_slice(&bytes[offset * size..(offset + 1) * size]);
    });
    out
}

/// A tensor made of some rows (indices of dimension 0) of another, with the same strides.
pub(super) fn rows_of(
    tensor: &HostTensor,
    rows: &[i64],
) -> Result<HostTensor, overt_kernels::host::HostError> {
    let mut shape = tensor.shape.clone();
    shape[0] = rows.len() as i64;
    let mut out = HostTensor::with_strides(tensor.dtype, &shape, &tensor.strides)?;
    let size = tensor.element()?.bytes();
    let stride = tensor.strides[0] as usize;
    for (to, from) in rows.iter().enumerate() {
        for_each_offset(&tensor.shape[1..], &tensor.strides[1..], |inner| {
            let (to, from) = (
                (to * stride + inner) * size,
                (*from as usize * stride + inner) * size,
            );
            out.bytes[to..to + size].copy_from_slice(&tensor.bytes[from..from + size]);
        });
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use overt_kernels::dtype::F32;

    #[test]
    fn offsets_come_in_row_major_order_and_a_scalar_has_one() {
        let mut seen = Vec::new();
        for_each_offset(&[2, 3], &[10, 2], |o| seen.push(o));
        assert_eq!(seen, [0, 2, 4, 10, 12, 14]);
        seen.clear();
        for_each_offset(&[], &[], |o| seen.push(o));
        assert_eq!(seen, [0]);
        for_each_offset(&[2, 0], &[1, 1], |_| {
            panic!("an empty tensor has no element")
        });
    }

    #[test]
    fn rows_keep_their_values_and_strides() {
        let mut tensor = HostTensor::padded(F32, &[4, 3], 2, 1).unwrap();
        let mut n = 0.0;
        tensor
            .fill_with(|| {
                n += 1.0;
                n
            })
            .unwrap();
        let part = rows_of(&tensor, &[1, 3]).unwrap();
        assert_eq!(part.strides, tensor.strides);
        assert_eq!(part.to_f64().unwrap(), [4.0, 5.0, 6.0, 10.0, 11.0, 12.0]);
    }
}
