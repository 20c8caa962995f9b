//! What all kernels of the op read of a call.

use super::rounded;
use crate::kernel::{Dispatch, Problem, dtype_code, offsets};
use crate::ops::weights::{self, long, optional_code, scale_extent};
use overt_sdk::{CallView, Result, TensorView};

pub const A: usize = 0;
pub const B: usize = 1;
pub const B_SCALE: usize = 2;
pub const BIAS: usize = 3;
pub const OUT: usize = 4;

const SCALE_ROWS: usize = 0;
const SCALE_DEPTH: usize = 1;
const ROUNDED: usize = 2;

/// A call with work to do.
pub struct Product<'a> {
    pub a: TensorView<'a>,
    pub b: TensorView<'a>,
    pub scale: Option<TensorView<'a>>,
    pub bias: Option<TensorView<'a>>,
    pub out: TensorView<'a>,
    pub rows: i64,
    pub columns: i64,
    pub depth: i64,
    /// Activations are rounded first.
    pub rounded: bool,
    scale_rows: i64,
    scale_depth: i64,
}

impl<'a> Product<'a> {
    /// The call, or `None` where the output is empty.
    pub fn of(call: &'a CallView<'a>) -> Result<Option<Product<'a>>> {
        let out = call.operand(OUT)?;
        let (rows, columns) = (out.dim(0)?, out.dim(1)?);
        if rows * columns == 0 {
            return Ok(None);
        }
        let a = call.operand(A)?;
        let depth = a.dim(1)?;
        Ok(Some(Product {
            b: call.operand(B)?,
            scale: call.optional(B_SCALE)?,
            bias: call.optional(BIAS)?,
            rounded: call.attr_bool(ROUNDED)? && depth > 0,
            scale_rows: call.attr_i64(SCALE_ROWS)?,
            scale_depth: call.attr_i64(SCALE_DEPTH)?,
            a,
            out,
            rows,
            columns,
            depth,
        }))
    }

    /// The types of activations as they are multiplied, weight, output and bias.
    pub fn types(&self) -> Result<[u32; 4]> {
        Ok([
            if self.rounded {
                dtype_code(overt_sdk::dtypes::F32)?
            } else {
                dtype_code(self.a.dtype())?
            },
            dtype_code(self.b.dtype())?,
            dtype_code(self.out.dtype())?,
            optional_code(self.bias.as_ref())?,
        ])
    }

    /// Elements between rows of activations as they are multiplied.
    pub fn row_a(&self) -> Result<u32> {
        if self.rounded {
            return Ok(rounded::stride(self.depth) as u32);
        }
        Ok(offsets(&self.a)?[0])
    }

    /// Adds the addresses, bytes between rows of the weight, extents and strides, in the order in which shaders declare them.
    pub fn words(&self, dispatch: Dispatch) -> Result<Dispatch> {
        let dispatch = if self.rounded {
            dispatch.workspace(0)
        } else {
            dispatch.operand(A)
        };
        let dispatch = dispatch
            .operand(B)
            .operand(B_SCALE)
            .operand(BIAS)
            .operand(OUT);
        let scale = self.scale.as_ref().map_or(Ok(vec![0, 0]), offsets)?;
        Ok(long(dispatch, weights::stride_bytes(&self.b, 0)?)
            .u32(self.rows as u32)
            .u32(self.columns as u32)
            .u32(self.depth as u32)
            .u32(self.row_a()?)
            .u32(offsets(&self.out)?[0])
            .u32(scale_extent(self.scale_rows))
            .u32(scale_extent(self.scale_depth))
            .u32(scale[0])
            .u32(scale[1]))
    }

    /// The launches: activations are rounded first where the call says so.
    pub fn launches(&self, problem: &Problem<'_>, product: Dispatch) -> Result<Vec<Dispatch>> {
        if self.rounded {
            let first = rounded::dispatch(A, &self.a, problem.limits.groups)?;
            return Ok(vec![first, product]);
        }
        Ok(vec![product])
    }
}

/// Bytes of workspace for rounded activations, if there are any.
pub fn workspace(problem: &Problem<'_>) -> Result<u64> {
    Ok(match Product::of(problem.call)? {
        Some(product) if product.rounded => rounded::bytes(product.rows, product.depth),
        _ => 0,
    })
}
