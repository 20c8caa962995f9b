//! Tensors that own host memory.

use super::element::{Element, Reader};
use super::error::HostError;
use crate::dtype::{self, Shown};
use overt_abi::OvertDType;

/// A tensor in host memory that owns its bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct HostTensor {
    /// Element type.
    pub dtype: OvertDType,
    /// Extents in elements.
    pub shape: Vec<i64>,
    /// Strides in elements, none negative.
    pub strides: Vec<i64>,
    /// The memory that the view reaches, first element at byte 0.
    pub bytes: Vec<u8>,
}

/// What fresh memory holds. As a float of any type it is NaN, so an element that was read before it was written, or never
/// written, shows.
const FRESH: u8 = 0xff;

impl HostTensor {
    /// A tensor of any layout. Its memory holds 0xff in every byte, gaps included: NaN as a float, -1 as a signed integer.
    ///
    /// # Errors
    /// [`HostError::Layout`] for a negative extent or stride, unequal ranks, an unknown type, a block format whose rows are no
    /// whole blocks, or a size beyond the address space. Nothing is allocated before the size is known.
    pub fn with_strides(
        dtype: OvertDType,
        shape: &[i64],
        strides: &[i64],
    ) -> Result<Self, HostError> {
        let fault = |what: String, wanted: &str| HostError::Layout {
            operand: Shown(dtype).to_string(),
            what,
            wanted: wanted.to_owned(),
        };
        if shape.len() != strides.len() {
            let what = format!("{} extents and {} strides", shape.len(), strides.len());
            return Err(fault(what, "a stride for each extent"));
        }
        if shape.iter().chain(strides).any(|&n| n < 0) {
            let what = format!("shape {shape:?} with strides {strides:?}");
            return Err(fault(what, "no negative extent or stride"));
        }
        let reach = reach(shape, strides).ok_or_else(|| {
            fault(
                format!("shape {shape:?} with strides {strides:?} wraps"),
                "a size within 64 bits",
            )
        })?;
        let block = dtype::block(dtype)
            .ok_or_else(|| fault("an unknown element type".to_owned(), "a named one"))?;
        if block.elements > 1 {
            let whole = |n: i64| (n as u64).is_multiple_of(block.elements);
            let rows =
                shape.last().is_none_or(|&n| whole(n)) && strides.last().is_none_or(|&s| s == 1);
            let outer = strides.iter().rev().skip(1).all(|&s| whole(s));
            if !rows || !outer {
                let what = format!("shape {shape:?} with strides {strides:?}");
                return Err(fault(
                    what,
                    &format!("rows of whole blocks of {} elements", block.elements),
                ));
            }
        }
        let size = reach
            .div_ceil(block.elements)
            .checked_mul(block.bytes)
            .filter(|&n| n <= isize::MAX as u64)
            .and_then(|n| usize::try_from(n).ok())
            .ok_or_else(|| {
                fault(
                    format!("{reach} elements are too many bytes"),
                    "a size within the address space",
                )
            })?;
        Ok(HostTensor {
            dtype,
            shape: shape.to_vec(),
            strides: strides.to_vec(),
            bytes: vec![FRESH; size],
        })
    }

    /// A tensor without gaps, the last dimension innermost.
    ///
    /// # Errors
    /// As [`HostTensor::with_strides`].
    pub fn contiguous(dtype: OvertDType, shape: &[i64]) -> Result<Self, HostError> {
        Self::padded(dtype, shape, 0, 0)
    }

    /// A tensor with gaps: every stride but the last has `padding` more elements than what it steps over needs, and the first
    /// stride `outer` more on top.
    ///
    /// # Errors
    /// As [`HostTensor::with_strides`].
    pub fn padded(
        dtype: OvertDType,
        shape: &[i64],
        padding: i64,
        outer: i64,
    ) -> Result<Self, HostError> {
        let mut strides = vec![1i64; shape.len()];
        for dim in (0..shape.len().saturating_sub(1)).rev() {
            let extra = if dim == 0 {
                padding.checked_add(outer)
            } else {
                Some(padding)
            };
            // A dimension of no elements steps as one of a single element, so that strides stay positive.
            strides[dim] = extra
                .and_then(|extra| {
                    strides[dim + 1]
                        .checked_mul(shape[dim + 1].max(1))?
                        .checked_add(extra)
                })
                .ok_or_else(|| HostError::Layout {
                    operand: Shown(dtype).to_string(),
                    what: format!("shape {shape:?} wraps"),
                    wanted: "a size within 64 bits".to_owned(),
                })?;
        }
        Self::with_strides(dtype, shape, &strides)
    }

    /// Number of elements of the logical shape.
    pub fn len(&self) -> u64 {
        self.shape.iter().map(|&n| n.max(0) as u64).product()
    }

    /// Whether some extent is 0.
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// Whether the elements lie without gaps in row-major order; strides of extents 1 do not matter.
    pub fn is_contiguous(&self) -> bool {
        let mut wanted = 1;
        self.is_empty()
            || self
                .shape
                .iter()
                .zip(&self.strides)
                .rev()
                .all(|(&n, &stride)| {
                    let fits = n == 1 || stride == wanted;
                    wanted *= n;
                    fits
                })
    }

    /// Offset in elements of an index.
    ///
    /// # Errors
    /// [`HostError::Index`] for a wrong number of indices or one outside its extent.
    pub fn offset(&self, index: &[i64]) -> Result<i64, HostError> {
        let inside = index.len() == self.shape.len()
            && index
                .iter()
                .zip(&self.shape)
                .all(|(i, n)| (0..*n).contains(i));
        if !inside {
            return Err(HostError::Index {
                index: index.to_vec(),
                shape: self.shape.clone(),
            });
        }
        // No overflow: construction has checked the greatest offset.
        Ok(index.iter().zip(&self.strides).map(|(i, s)| i * s).sum())
    }

    /// The index of a flat row-major number.
    ///
    /// # Errors
    /// [`HostError::Index`] when there are not so many elements.
    pub fn index_of(&self, flat: u64) -> Result<Vec<i64>, HostError> {
        if flat >= self.len() {
            return Err(HostError::Index {
                index: vec![flat as i64],
                shape: self.shape.clone(),
            });
        }
        let mut rest = flat;
        let mut index = vec![0; self.shape.len()];
        for (i, &n) in index.iter_mut().zip(&self.shape).rev() {
            *i = (rest % n as u64) as i64;
            rest /= n as u64;
        }
        Ok(index)
    }

    /// Byte at which the element begins.
    ///
    /// # Errors
    /// [`HostError::Index`] outside the shape, [`HostError::Element`] for types without bytes of their own.
    pub fn byte_of(&self, index: &[i64]) -> Result<usize, HostError> {
        let element = self.element()?;
        Ok(self.offset(index)? as usize * element.bytes())
    }

    /// How an element is stored.
    ///
    /// # Errors
    /// [`HostError::Element`] for block formats and 8-bit floats.
    pub fn element(&self) -> Result<Element, HostError> {
        Element::of(self.dtype).ok_or_else(|| HostError::Element {
            dtype: Shown(self.dtype).to_string(),
        })
    }

    /// An element as f64.
    ///
    /// # Errors
    /// As [`HostTensor::byte_of`].
    pub fn get_f64(&self, index: &[i64]) -> Result<f64, HostError> {
        let at = self.byte_of(index)?;
        Ok(self.element()?.read_f64(&self.bytes[at..]))
    }

    /// An element as an integer; see [`Element::read_i64`].
    ///
    /// # Errors
    /// As [`HostTensor::byte_of`].
    pub fn get_i64(&self, index: &[i64]) -> Result<i64, HostError> {
        let at = self.byte_of(index)?;
        Ok(self.element()?.read_i64(&self.bytes[at..]))
    }

    /// Stores a number, rounded to nearest even; see [`Element::write_f64`].
    ///
    /// # Errors
    /// As [`HostTensor::byte_of`].
    pub fn set_f64(&mut self, index: &[i64], value: f64) -> Result<(), HostError> {
        let at = self.byte_of(index)?;
        self.element()?.write_f64(&mut self.bytes[at..], value);
        Ok(())
    }

    /// Stores an integer; see [`Element::write_i64`].
    ///
    /// # Errors
    /// As [`HostTensor::byte_of`].
    pub fn set_i64(&mut self, index: &[i64], value: i64) -> Result<(), HostError> {
        let at = self.byte_of(index)?;
        self.element()?.write_i64(&mut self.bytes[at..], value);
        Ok(())
    }

    /// A reader by element offset, for loops.
    ///
    /// # Errors
    /// [`HostError::Element`] for block formats and 8-bit floats.
    pub fn reader(&self) -> Result<Reader<'_>, HostError> {
        Ok(Reader::new(self.element()?, &self.bytes))
    }

    /// All elements in row-major order of the logical shape.
    ///
    /// # Errors
    /// [`HostError::Element`] for block formats and 8-bit floats.
    pub fn to_f64(&self) -> Result<Vec<f64>, HostError> {
        let reader = self.reader()?;
        let mut out = Vec::with_capacity(self.len() as usize);
        for_each_offset(&self.shape, &self.strides, |offset| {
            out.push(reader.at(offset))
        });
        Ok(out)
    }

    /// All elements as integers in row-major order of the logical shape.
    ///
    /// # Errors
    /// [`HostError::Element`] for block formats and 8-bit floats.
    pub fn to_i64(&self) -> Result<Vec<i64>, HostError> {
        let reader = self.reader()?;
        let mut out = Vec::with_capacity(self.len() as usize);
        for_each_offset(&self.shape, &self.strides, |offset| {
            out.push(reader.integer(offset))
        });
        Ok(out)
    }

    /// Stores a number in every element, asked for in row-major order. Bytes in gaps stay.
    ///
    /// # Errors
    /// [`HostError::Element`] for block formats and 8-bit floats.
    pub fn fill_with(&mut self, mut value: impl FnMut() -> f64) -> Result<(), HostError> {
        let element = self.element()?;
        let (n, bytes) = (element.bytes(), &mut self.bytes);
        for_each_offset(&self.shape, &self.strides, |offset| {
            element.write_f64(&mut bytes[offset as usize * n..], value());
        });
        Ok(())
    }

    /// Elements of the memory that the view reaches, gaps included: one more than the greatest offset, 0 when empty.
    pub fn reach(&self) -> u64 {
        reach(&self.shape, &self.strides).unwrap_or(0)
    }
}

/// One more than the greatest reachable offset, `None` when it does not fit i64.
fn reach(shape: &[i64], strides: &[i64]) -> Option<u64> {
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
fn for_each_offset(shape: &[i64], strides: &[i64], mut each: impl FnMut(i64)) {
    let Some((&row, outer)) = shape.split_last() else {
        return each(0);
    };
    if shape.contains(&0) {
        return;
    }
    let row_stride = strides[outer.len()];
    let mut index = vec![0i64; outer.len()];
    let mut base = 0i64;
    loop {
        for i in 0..row {
            each(base + i * row_stride);
        }
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
