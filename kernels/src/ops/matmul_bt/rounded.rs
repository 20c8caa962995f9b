//! Activations as products use them.

/// Columns that share one scale.
const BLOCK: usize = 32;

/// Replaces a row of activations by the values of their 8-bit rounding, as the op defines it in f32.
pub(crate) fn activations(row: &mut [f64]) {
    for block in row.chunks_mut(BLOCK) {
        // Activations are of types that f32 holds exactly.
        let greatest = block.iter().fold(0f32, |most, x| most.max(x.abs() as f32));
        let inverse = if greatest == 0.0 {
            0.0
        } else {
            127.0 / greatest
        };
        let step = f64::from(greatest / 127.0);
        for x in block {
            let code = (*x as f32 * inverse).round_ties_even();
            *x = f64::from(code) * step;
        }
    }
}
