//! Elements of a strided tensor in row-major order.

use overt_kernels::host::{HostError, HostTensor};
use std::ops::Range;

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

/// Calls `each` with the bytes of every element, or of every block where elements share one, in row-major order.
pub(super) fn for_each_unit(
    layout: &HostTensor,
    mut each: impl FnMut(Range<usize>),
) -> Result<(), HostError> {
    let (elements, size) = layout.storage()?.unit();
    let (mut shape, mut strides) = (layout.shape.clone(), layout.strides.clone());
    if elements > 1
        && let (Some(width), Some(stride)) = (shape.last_mut(), strides.last_mut())
    {
        // Rows are whole blocks side by side, and the other strides step over whole blocks.
        *width /= elements as i64;
        *stride = elements as i64;
    }
    for_each_offset(&shape, &strides, |offset| {
        let start = offset / elements * size;
        each(start..start + size);
    });
    Ok(())
}

/// The bytes of all elements in row-major order, gaps left out.
pub(super) fn gathered(layout: &HostTensor, bytes: &[u8]) -> Result<Vec<u8>, HostError> {
    let mut out = Vec::with_capacity(bytes.len());
    for_each_unit(layout, |unit| out.extend_from_slice(&bytes[unit]))?;
    Ok(out)
}

/// A tensor made of some rows (indices of dimension 0) of another, with the same strides.
pub(super) fn rows_of(tensor: &HostTensor, rows: &[i64]) -> Result<HostTensor, HostError> {
    let of_rows = |rows: usize| {
        let mut shape = tensor.shape.clone();
        shape[0] = rows as i64;
        HostTensor::with_strides(tensor.dtype, &shape, &tensor.strides)
    };
    let mut out = of_rows(rows.len())?;
    let one = of_rows(1)?;
    let (elements, size) = tensor.storage()?.unit();
    // In bytes: the first stride steps over whole blocks.
    let stride = tensor.strides[0] as usize / elements * size;
    for (to, from) in rows.iter().enumerate() {
        let (to, from) = (to * stride, *from as usize * stride);
        for_each_unit(&one, |unit| {
            let source = &tensor.bytes[from + unit.start..from + unit.end];
            out.bytes[to + unit.start..to + unit.end].copy_from_slice(source);
        })?;
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
