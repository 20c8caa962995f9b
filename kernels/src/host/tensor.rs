//! Tensors that own host memory.

use super::element::Element;
use super::error::HostError;
use super::offsets::{for_each_offset, for_each_row, reach};
use super::reader::{Reader, Storage};
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

/// What fresh memory holds. As a float it is NaN, and so are all elements of a block but of `mxfp4` and of the 8-bit floats
/// without negative zero (which no op writes), so an element that was read before it was written, or never written, shows.
const FRESH: u8 = 0xff;

impl HostTensor {
    /// A tensor of any layout. Its memory holds 0xff in every byte, gaps included: NaN as a float (see the formats for the few
    /// exceptions), -1 as a signed integer.
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
                shape.last().is_some_and(|&n| whole(n)) && strides.last().is_some_and(|&s| s == 1);
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
    /// stride `outer` more on top; both rounded up to whole blocks of a block format.
    ///
    /// # Errors
    /// As [`HostTensor::with_strides`].
    pub fn padded(
        dtype: OvertDType,
        shape: &[i64],
        padding: i64,
        outer: i64,
    ) -> Result<Self, HostError> {
        let unit = dtype::block(dtype).map_or(1, |b| b.elements as i64);
        let whole = |n: i64| Some(n.checked_add(unit - 1)? / unit * unit);
        let mut strides = vec![1i64; shape.len()];
        for dim in (0..shape.len().saturating_sub(1)).rev() {
            let extra = if dim == 0 {
                padding.checked_add(outer).and_then(whole)
            } else {
                whole(padding)
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
    /// [`HostError::Index`] outside the shape, [`HostError::Element`] for block formats.
    pub fn byte_of(&self, index: &[i64]) -> Result<usize, HostError> {
        let element = self.element()?;
        Ok(self.offset(index)? as usize * element.bytes())
    }

    /// How a single element is stored.
    ///
    /// # Errors
    /// [`HostError::Element`] for block formats.
    pub fn element(&self) -> Result<Element, HostError> {
        match self.storage()? {
            Storage::Plain(element) => Ok(element),
            Storage::Blocks(_) => Err(HostError::Element {
                dtype: Shown(self.dtype).to_string(),
                why: "they share blocks, which are read by `Reader` and written by `set_row` or `fill_with`",
            }),
        }
    }

    /// How elements are stored, be they in blocks.
    ///
    /// # Errors
    /// [`HostError::Element`] for a type that is not known.
    pub fn storage(&self) -> Result<Storage, HostError> {
        Storage::of(self.dtype)
    }

    /// An element as f64.
    ///
    /// # Errors
    /// [`HostError::Index`] outside the shape.
    pub fn get_f64(&self, index: &[i64]) -> Result<f64, HostError> {
        Ok(self.reader()?.at(self.offset(index)?))
    }

    /// An element as an integer; see [`Reader::integer`].
    ///
    /// # Errors
    /// [`HostError::Index`] outside the shape.
    pub fn get_i64(&self, index: &[i64]) -> Result<i64, HostError> {
        Ok(self.reader()?.integer(self.offset(index)?))
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
    /// [`HostError::Element`] for a type that is not known.
    pub fn reader(&self) -> Result<Reader<'_>, HostError> {
        Reader::of(self.dtype, &self.bytes)
    }

    /// All elements in row-major order of the logical shape.
    ///
    /// # Errors
    /// [`HostError::Element`] for a type that is not known.
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
    /// [`HostError::Element`] for a type that is not known.
    pub fn to_i64(&self) -> Result<Vec<i64>, HostError> {
        let reader = self.reader()?;
        let mut out = Vec::with_capacity(self.len() as usize);
        for_each_offset(&self.shape, &self.strides, |offset| {
            out.push(reader.integer(offset))
        });
        Ok(out)
    }

    /// Stores a number in every element, asked for in row-major order; a block format is encoded block by block. Bytes in gaps
    /// stay.
    ///
    /// # Errors
    /// [`HostError::Element`] for a type that is not known.
    pub fn fill_with(&mut self, mut value: impl FnMut() -> f64) -> Result<(), HostError> {
        let storage = self.storage()?;
        let Some((&width, outer)) = self.shape.split_last() else {
            write_row(storage, &mut self.bytes, 0, 1, &[value()]);
            return Ok(());
        };
        if width == 0 {
            return Ok(());
        }
        let stride = self.strides[outer.len()];
        let mut row = vec![0.0; width as usize];
        let bytes = &mut self.bytes;
        for_each_row(outer, &self.strides, |base| {
            row.fill_with(&mut value);
            write_row(storage, bytes, base, stride, &row);
        });
        Ok(())
    }

    /// Stores a row of the last dimension, at an index of all the others.
    ///
    /// # Errors
    /// [`HostError::Index`] for an index that is none of the other dimensions', or a number of values other than the row's.
    pub fn set_row(&mut self, index: &[i64], values: &[f64]) -> Result<(), HostError> {
        let storage = self.storage()?;
        let fits = self
            .shape
            .split_last()
            .is_some_and(|(&width, _)| width as usize == values.len());
        if !fits {
            return Err(HostError::Index {
                index: [index, &[values.len() as i64]].concat(),
                shape: self.shape.clone(),
            });
        }
        if values.is_empty() {
            return Ok(());
        }
        let base = self.offset(&[index, &[0]].concat())?;
        let stride = self.strides[index.len()];
        write_row(storage, &mut self.bytes, base, stride, values);
        Ok(())
    }

    /// Elements of the memory that the view reaches, gaps included: one more than the greatest offset, 0 when empty.
    pub fn reach(&self) -> u64 {
        reach(&self.shape, &self.strides).unwrap_or(0)
    }
}

/// Stores values at `base`, `base + stride`, … elements. Rows of a block format are whole blocks without gaps, which
/// construction has checked.
fn write_row(storage: Storage, bytes: &mut [u8], base: i64, stride: i64, values: &[f64]) {
    let (elements, size) = storage.unit();
    match storage {
        Storage::Plain(element) => {
            for (i, &value) in values.iter().enumerate() {
                let at = (base + i as i64 * stride) as usize * size;
                element.write_f64(&mut bytes[at..], value);
            }
        }
        Storage::Blocks(format) => {
            let first = base as usize / elements * size;
            let blocks = bytes[first..].chunks_exact_mut(size);
            for (values, block) in values.chunks_exact(elements).zip(blocks) {
                format.encode(values, block);
            }
        }
    }
}
