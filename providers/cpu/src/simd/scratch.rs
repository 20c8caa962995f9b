//! Cutting a worker's scratch memory into parts.

/// Floats of one cache line. Parts start on one, so that no vector crosses two lines.
const LINE: usize = 16;

/// Floats to ask for so that parts of these sizes can be cut, wherever the memory starts.
pub fn len_for(parts: &[usize]) -> usize {
    LINE + parts
        .iter()
        .map(|n| n.next_multiple_of(LINE))
        .sum::<usize>()
}

/// Cuts parts off a slice, in order.
pub struct Cutter<'a> {
    rest: &'a mut [f32],
}

impl<'a> Cutter<'a> {
    /// Starts at the first whole cache line of `scratch`.
    pub fn new(scratch: &'a mut [f32]) -> Self {
        let skip = scratch.as_ptr().align_offset(LINE * size_of::<f32>());
        Cutter {
            rest: scratch.get_mut(skip..).unwrap_or_default(),
        }
    }

    /// The next `n` floats.
    ///
    /// # Panics
    /// If the caller passed less than [`len_for`] asked for.
    pub fn cut(&mut self, n: usize) -> &'a mut [f32] {
        let whole = n.next_multiple_of(LINE);
        let rest = core::mem::take(&mut self.rest);
        assert!(
            whole <= rest.len(),
            "scratch memory is {} floats short",
            whole - rest.len()
        );
        let (part, rest) = rest.split_at_mut(whole);
        self.rest = rest;
        &mut part[..n]
    }
}
