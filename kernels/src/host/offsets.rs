//! Offsets that shapes and strides reach.

/// One more than the greatest reachable offset, `None` when it does not fit i64.
pub(super) fn reach(shape: &[i64], strides: &[i64]) -> Option<u64> {
    if shape.contains(&0) {
        // The product of the other extents must fit too, since a length is computed from it.
        shape
            .iter()
            .filter(|&&n| n != 0)
            .try_fold(1i64, |a, &n| a.checked_mul(n))?;
        return Some(0);
    }
    shape.iter().try_fold(1i64, |a, &n| a.checked_mul(n))?;
    let last = shape.iter().zip(strides).try_fold(0i64, |sum, (&n, &s)| {
        sum.checked_add((n - 1).checked_mul(s)?)
    })?;
    Some(last.checked_add(1)? as u64)
}

/// Calls `each` with every element's offset in row-major order.
pub(super) fn for_each_offset(shape: &[i64], strides: &[i64], mut each: impl FnMut(i64)) {
    let Some((&row, outer)) = shape.split_last() else {
        return each(0);
    };
    if row == 0 {
        return;
    }
    let row_stride = strides[outer.len()];
    for_each_row(outer, strides, |base| {
        for i in 0..row {
            each(base + i * row_stride);
        }
    });
}

/// Calls `each` with every offset of the outer dimensions, whose strides come first, in row-major order.
pub(super) fn for_each_row(outer: &[i64], strides: &[i64], mut each: impl FnMut(i64)) {
    if outer.contains(&0) {
        return;
    }
    let mut index = vec![0i64; outer.len()];
    let mut base = 0i64;
    loop {
        each(base);
        let mut dim = outer.len();
        loop {
            if dim == 0 {
                return;
            }
            dim -= 1;
            index[dim] += 1;
            base += strides[dim];
            if index[dim] < outer[dim] {
                break;
            }
            base -= index[dim] * strides[dim];
            index[dim] = 0;
        }
    }
}
