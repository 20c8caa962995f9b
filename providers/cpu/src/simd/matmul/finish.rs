//! From sums to output elements: the bias is added in f32, then the result is rounded once.

use super::MatmulArgs;

/// Writes up to four neighbouring elements of a row of the output, those with a column below `end`.
///
/// # Safety
/// As for [`super::rows`]: `row` and the columns written belong to the caller's ranges.
#[inline]
pub unsafe fn finish(args: &MatmulArgs, row: usize, column: usize, sums: [f32; 4], end: usize) {
    let size = args.out_type.bytes() as isize;
    let out = args
        .out
        .wrapping_offset((row as isize * args.out_stride as isize + column as isize) * size);
    for (i, sum) in sums
        .into_iter()
        .take(end.saturating_sub(column))
        .enumerate()
    {
        let mut value = sum;
        if !args.bias.is_null() {
            let at =
                (column + i) as isize * args.bias_stride as isize * args.bias_type.bytes() as isize;
            // SAFETY: the column lies below `end`, so its bias is readable.
            value += unsafe { args.bias_type.decode(args.bias.wrapping_offset(at)) };
        }
        // SAFETY: as above for the output.
        unsafe {
            args.out_type
                .encode(out.wrapping_offset(i as isize * size), value)
        };
    }
}
