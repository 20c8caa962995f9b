//! A schema compiled for binding: one pass over operands and attributes, without allocation.

use super::args::{Arguments, bind_error};
use super::formula::Formula;
use super::{BindError, BindProblem, MAX_ATTRS, MAX_OPERANDS, MAX_SYMBOLS};
use crate::memory::{Overlap, Tensor, View, overlap};
use crate::registry::Op;
use crate::value::{raw_bool, raw_f64, raw_i64, raw_str};
use overt_abi::{
    OVERT_TENSOR_ABSENT, OVERT_VALUE_I64, OVERT_VALUE_NONE, OvertDType, OvertTensor, OvertValue,
};
use overt_kernels::schema::{AttrDefault, AttrValue, Dtypes, Expr, Role, Schema};
use std::mem::MaybeUninit;
use std::sync::Arc;

/// A schema ready to bind against.
pub(crate) struct Binder {
    schema: Arc<Schema>,
    operands: Box<[OperandSpec]>,
    attrs: Box<[AttrSpec]>,
    derived: Box<[Formula]>,
    /// Dimensions that are not a symbol bound by an operand.
    computed: Box<[Computed]>,
    /// Pairs of operands that may not overlap, each once, the written one first.
    pairs: Box<[Pair]>,
    /// Bit i: operand i is written.
    written: u32,
    /// Symbols that attributes give, with the attribute's number.
    attr_symbols: Box<[(usize, usize)]>,
    /// Bit i: extents follow from attribute i.
    shaping: u32,
    /// Outputs (not in-outs), whose emptiness makes a call empty; where there are none, all inputs that are only read.
    work: u32,
}

struct Computed {
    operand: usize,
    dimension: usize,
    formula: Formula,
}

struct Pair {
    written: usize,
    other: usize,
    may_alias: bool,
}

struct OperandSpec {
    optional: bool,
    dtypes: DtypeSpec,
    /// The symbol of each dimension that is one.
    dims: Box<[Option<usize>]>,
}

enum DtypeSpec {
    Of(Box<[OvertDType]>),
    Like(usize),
}

enum AttrSpec {
    Required,
    Value(OvertValue),
    Bound(Formula),
}

// SAFETY: the raw default values hold numbers, or text that points into the schema that the binder keeps, never written.
unsafe impl Send for Binder {}
// SAFETY: as above.
unsafe impl Sync for Binder {}

/// A problem that fits its schema: what facts are read from and what the ABI is given.
pub(crate) struct Bound {
    pub(crate) symbols: [i64; MAX_SYMBOLS],
    /// Bit i: symbol i has a value.
    pub(crate) known: u32,
    /// Bit i: operand i is present.
    pub(crate) present: u32,
    /// An output is exactly the memory of another operand, as the schema allows.
    pub(crate) in_place: bool,
    /// Bit i: operand i lies in a packed layout.
    pub(crate) packed: u32,
    /// There is nothing to compute.
    pub(crate) empty: bool,
    attr_count: usize,
    /// Written up to `attr_count`.
    attrs: [MaybeUninit<OvertValue>; MAX_ATTRS],
    /// Written up to the schema's number of operands.
    pub(crate) raw: [MaybeUninit<OvertTensor>; MAX_OPERANDS],
}

impl Bound {
    /// Room for a binding.
    #[inline]
    pub(crate) fn new() -> Bound {
        Bound {
            symbols: [0; MAX_SYMBOLS],
            known: 0,
            present: 0,
            in_place: false,
            packed: 0,
            empty: false,
            attrs: [const { MaybeUninit::uninit() }; MAX_ATTRS],
            attr_count: 0,
            raw: [const { MaybeUninit::uninit() }; MAX_OPERANDS],
        }
    }
}

impl Bound {
    /// The attributes, defaults and bounds filled in.
    #[inline]
    pub(crate) fn attrs(&self) -> &[OvertValue] {
        // SAFETY: binding raises the count as it writes.
        unsafe { &*(std::ptr::from_ref(&self.attrs[..self.attr_count]) as *const [OvertValue]) }
    }
}

impl Binder {
    /// Compiles a schema; an error names the limit that it exceeds.
    pub(crate) fn new(schema: &Arc<Schema>) -> Result<Binder, String> {
        for (what, got, most) in [
            ("operands", schema.operands.len(), MAX_OPERANDS),
            ("attributes", schema.attrs.len(), MAX_ATTRS),
            ("symbols", schema.symbols.len(), MAX_SYMBOLS),
        ] {
            if got > most {
                return Err(format!("{got} {what}; this host takes at most {most}"));
            }
        }
        let operands: Box<[OperandSpec]> = schema
            .operands
            .iter()
            .map(|o| OperandSpec {
                optional: o.optional,
                dtypes: match &o.dtypes {
                    Dtypes::Of { dtypes, .. } => DtypeSpec::Of(dtypes.clone().into()),
                    Dtypes::Like(other) => DtypeSpec::Like(*other),
                },
                dims: o
                    .dims
                    .iter()
                    .map(|e| {
                        if let Expr::Symbol(s) = e {
                            Some(*s)
                        } else {
                            None
                        }
                    })
                    .collect(),
            })
            .collect();
        let attrs = schema
            .attrs
            .iter()
            .map(|a| match &a.default {
                AttrDefault::Required => AttrSpec::Required,
                AttrDefault::Value(v) => AttrSpec::Value(match v {
                    AttrValue::Bool(b) => raw_bool(*b),
                    AttrValue::I64(i) => raw_i64(*i),
                    AttrValue::F64(f) => raw_f64(*f),
                    AttrValue::Str(s) => raw_str(s),
                }),
                AttrDefault::Bound(e) => AttrSpec::Bound(Formula::new(e)),
            })
            .collect();
        let mask = |wanted: &dyn Fn(Role) -> bool| {
            schema
                .operands
                .iter()
                .enumerate()
                .filter(|(_, o)| wanted(o.role))
                .fold(0u32, |m, (i, _)| m | 1 << i)
        };
        let outputs = mask(&|r| r == Role::Out);
        let written = mask(&|r| r != Role::In);
        let mut computed = Vec::new();
        let mut pairs = Vec::new();
        for (index, operand) in schema.operands.iter().enumerate() {
            for (dimension, expr) in operand.dims.iter().enumerate() {
                // A symbol that `where` defines may stand alone in a dimension: then it is taken from the extent first, and the
                // computed value must agree with it.
                let bound = matches!(expr, Expr::Symbol(s) if !schema.derived.iter().any(|d| d.symbol == *s));
                if !bound {
                    computed.push(Computed {
                        operand: index,
                        dimension,
                        formula: Formula::new(expr),
                    });
                }
            }
            if written & 1 << index == 0 {
                continue;
            }
            for other in 0..schema.operands.len() {
                if other != index && (other > index || written & 1 << other == 0) {
                    pairs.push(Pair {
                        written: index,
                        other,
                        may_alias: operand.may_alias.contains(&other),
                    });
                }
            }
        }
        Ok(Binder {
            schema: schema.clone(),
            operands,
            attrs,
            derived: schema
                .derived
                .iter()
                .map(|d| Formula::new(&d.expr))
                .collect(),
            computed: computed.into(),
            pairs: pairs.into(),
            written,
            shaping: schema.attr_symbols.iter().fold(0, |m, (_, a)| m | 1 << a),
            attr_symbols: schema.attr_symbols.clone().into(),
            work: if outputs != 0 {
                outputs
            } else {
                mask(&|r| r == Role::In)
            },
        })
    }

    #[inline]
    pub(crate) fn operand_count(&self) -> usize {
        self.operands.len()
    }

    #[inline]
    pub(crate) fn attr_count(&self) -> usize {
        self.attrs.len()
    }

    /// Bit i: operand i is written.
    pub(crate) fn written(&self) -> u32 {
        self.written
    }

    /// Bit i: extents follow from attribute i, so that another value is another problem even for the same views.
    #[inline]
    pub(crate) fn shaping(&self) -> u32 {
        self.shaping
    }

    /// Whether attribute `index` is a bound, which a kernel may take as any value at or above the true one.
    pub(crate) fn is_bound(&self, index: usize) -> bool {
        matches!(self.attrs[index], AttrSpec::Bound(_))
    }

    /// The greatest value of a bound for the symbols of a binding.
    pub(crate) fn limit(&self, index: usize, bound: &Bound) -> Option<i64> {
        match &self.attrs[index] {
            AttrSpec::Bound(formula) => formula.value(&bound.symbols, false),
            _ => None,
        }
    }

    /// Binds a problem: ranks, dtypes, symbols, derived symbols, attributes and bounds, written operands, overlap. The raw
    /// tensors borrow from the arguments.
    #[inline]
    pub(crate) fn bind<A: Arguments>(&self, args: &A, bound: &mut Bound) -> Result<(), BindError> {
        for (index, spec) in self.operands.iter().enumerate() {
            match args.view(index) {
                Some(view) => {
                    bound.present |= 1 << index;
                    bound.packed |= u32::from(view.layout != 0) << index;
                    self.operand(args, index, spec, view, bound)?;
                    match args.tensor(index) {
                        Some(tensor) => tensor.write_raw(&mut bound.raw[index]),
                        None => view.write_raw(&mut bound.raw[index], 0, 0, 0),
                    }
                }
                None if spec.optional => {
                    bound.raw[index].write(ABSENT);
                }
                None => return Err(self.missing(args.op(), index)),
            }
        }
        for (derived, formula) in self.schema.derived.iter().zip(&self.derived) {
            let Some(value) = formula.value(&bound.symbols, derived.exact) else {
                return Err(self.expression(args.op(), &derived.expr, bound, derived.exact));
            };
            bound.symbols[derived.symbol] = value;
            bound.known |= 1 << derived.symbol;
        }
        for index in 0..self.attrs.len() {
            let limit = match &self.attrs[index] {
                AttrSpec::Bound(formula) => match formula.value(&bound.symbols, false) {
                    Some(limit) => limit,
                    None => return Err(self.bad_bound(args.op(), index, bound)),
                },
                _ => 0,
            };
            bound.attrs[index].write(self.attr(args.op(), index, args.attr(index), limit)?);
            bound.attr_count = index + 1;
        }
        for &(symbol, attr) in &self.attr_symbols {
            // SAFETY: the schema takes whole-number attributes alone here, and binding has checked the type.
            bound.symbols[symbol] = unsafe { bound.attrs()[attr].data.i };
            bound.known |= 1 << symbol;
        }
        self.computed_extents(args, bound)?;
        self.written_operands(args, bound)?;
        bound.empty = self.is_empty(args);
        Ok(())
    }

    #[inline]
    fn operand<A: Arguments>(
        &self,
        args: &A,
        index: usize,
        spec: &OperandSpec,
        view: &View,
        bound: &mut Bound,
    ) -> Result<(), BindError> {
        let fits = match &spec.dtypes {
            DtypeSpec::Of(list) => list.contains(&view.dtype),
            DtypeSpec::Like(other) => args.view(*other).is_none_or(|o| o.dtype == view.dtype),
        };
        if !fits {
            return Err(self.wrong_dtype(args, index, view));
        }
        if view.rank as usize != spec.dims.len() {
            return Err(self.wrong_rank(args.op(), index, view));
        }
        for (dimension, dim) in spec.dims.iter().enumerate() {
            if let Some(symbol) = dim {
                let extent = view.shape[dimension];
                if bound.known & 1 << symbol == 0 {
                    bound.known |= 1 << symbol;
                    bound.symbols[*symbol] = extent;
                } else if bound.symbols[*symbol] != extent {
                    return Err(self.wrong_extent(
                        args,
                        index,
                        dimension,
                        extent,
                        bound.symbols[*symbol],
                    ));
                }
            }
        }
        Ok(())
    }

    /// Dimensions that are computed are checked last, when every symbol is bound.
    #[inline]
    fn computed_extents<A: Arguments>(&self, args: &A, bound: &Bound) -> Result<(), BindError> {
        for computed in &self.computed {
            let Some(view) = args.view(computed.operand) else {
                continue;
            };
            let (operand, dimension) = (computed.operand, computed.dimension);
            let got = view.shape[dimension];
            match computed.formula.value(&bound.symbols, true) {
                Some(wanted) if wanted == got => {}
                Some(wanted) => {
                    return Err(self.wrong_extent(args, operand, dimension, got, wanted));
                }
                None => {
                    let expr = &self.schema.operands[operand].dims[dimension];
                    return Err(self.expression(args.op(), expr, bound, true));
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn bound(
        &self,
        op: &Op,
        index: usize,
        given: OvertValue,
        limit: i64,
    ) -> Result<OvertValue, BindError> {
        if given.kind == OVERT_VALUE_NONE {
            return Ok(raw_i64(limit));
        }
        // SAFETY: a bound is an integer attribute, and setters check the type.
        let value = unsafe { given.data.i };
        if given.kind == OVERT_VALUE_I64 && (0..=limit).contains(&value) {
            return Ok(given);
        }
        let attr = &self.schema.attrs[index];
        let AttrDefault::Bound(expr) = &attr.default else {
            unreachable!("only bounds come here")
        };
        Err(bind_error(
            op,
            BindProblem::Bound {
                attr: attr.name.clone(),
                got: value,
                limit,
                expression: expr.shown(&self.schema.symbols).to_string(),
            },
        ))
    }

    #[inline]
    fn written_operands<A: Arguments>(&self, args: &A, bound: &mut Bound) -> Result<(), BindError> {
        let mut rest = self.written & bound.present;
        while rest != 0 {
            let index = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let Some(view) = args.view(index) else {
                continue;
            };
            if view.read_only {
                let operand = self.schema.operands[index].name.clone();
                return Err(bind_error(args.op(), BindProblem::ReadOnly { operand }));
            }
            if !view.contiguous {
                self.distinct_elements(args.op(), index, view)?;
            }
        }
        bound.in_place = self.overlaps(args)?;
        Ok(())
    }

    /// The value of an attribute: as given, or its default. `limit` is that of a bound.
    #[inline]
    pub(crate) fn attr(
        &self,
        op: &Op,
        index: usize,
        given: OvertValue,
        limit: i64,
    ) -> Result<OvertValue, BindError> {
        let absent = given.kind == OVERT_VALUE_NONE;
        match &self.attrs[index] {
            AttrSpec::Required if absent => Err(self.missing_attr(op, index)),
            AttrSpec::Value(default) if absent => Ok(*default),
            AttrSpec::Required | AttrSpec::Value(_) => Ok(given),
            AttrSpec::Bound(_) => self.bound(op, index, given, limit),
        }
    }

    /// Holds written operands against all others; whether one is exactly the memory of another, as the schema allows.
    #[inline]
    pub(crate) fn overlaps<A: Arguments>(&self, args: &A) -> Result<bool, BindError> {
        let mut in_place = false;
        for pair in &self.pairs {
            if let (Some(tensor), Some(other)) =
                (args.tensor(pair.written), args.tensor(pair.other))
            {
                in_place |= self.apart(args.op(), pair, tensor, other)?;
            }
        }
        Ok(in_place)
    }

    /// A written operand may overlap no other, but for the very same elements where the schema says so.
    #[inline]
    fn apart(
        &self,
        op: &Op,
        pair: &Pair,
        tensor: &Tensor,
        other: &Tensor,
    ) -> Result<bool, BindError> {
        let Some((start, other_start)) = tensor.starts(other) else {
            return Ok(false);
        };
        let apart = start >= other_start.saturating_add(other.view.span_bytes)
            || other_start >= start.saturating_add(tensor.view.span_bytes);
        if apart {
            return Ok(false);
        }
        match overlap(&tensor.view, start, &other.view, other_start) {
            Overlap::None => Ok(false),
            Overlap::Same if pair.may_alias => Ok(true),
            _ => Err(self.overlapping(op, pair.written, pair.other)),
        }
    }

    #[inline]
    fn is_empty<A: Arguments>(&self, args: &A) -> bool {
        let mut rest = self.work;
        let mut any = false;
        while rest != 0 {
            let index = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            if let Some(view) = args.view(index) {
                if view.elements != 0 {
                    return false;
                }
                any = true;
            }
        }
        any
    }

    fn distinct_elements(&self, op: &Op, index: usize, view: &View) -> Result<(), BindError> {
        let mut dims: Vec<usize> = (0..view.rank as usize)
            .filter(|d| view.shape[*d] > 1)
            .collect();
        dims.sort_unstable_by_key(|d| view.strides[*d]);
        let mut reach = 0;
        for dimension in dims {
            let stride = view.strides[dimension];
            if view.elements > 0 && stride <= reach {
                let operand = self.schema.operands[index].name.clone();
                return Err(bind_error(
                    op,
                    BindProblem::SharedElements {
                        operand,
                        dimension,
                        stride,
                    },
                ));
            }
            reach += stride * (view.shape[dimension] - 1);
        }
        Ok(())
    }

    #[cold]
    fn missing(&self, op: &Op, index: usize) -> BindError {
        let operand = &self.schema.operands[index];
        bind_error(
            op,
            BindProblem::Missing {
                operand: operand.name.clone(),
                wanted: format!("{}{}", self.dtypes_text(index), self.dims_text(index)),
            },
        )
    }

    #[cold]
    fn bad_bound(&self, op: &Op, index: usize, bound: &Bound) -> BindError {
        let AttrDefault::Bound(expr) = &self.schema.attrs[index].default else {
            unreachable!("only bounds come here")
        };
        self.expression(op, expr, bound, false)
    }

    #[cold]
    fn missing_attr(&self, op: &Op, index: usize) -> BindError {
        bind_error(
            op,
            BindProblem::MissingAttr {
                attr: self.schema.attrs[index].name.clone(),
            },
        )
    }

    #[cold]
    fn wrong_dtype<A: Arguments>(&self, args: &A, index: usize, view: &View) -> BindError {
        let wanted = match &self.operands[index].dtypes {
            DtypeSpec::Like(other) => format!(
                "{} like `{}`",
                args.view(*other)
                    .map_or_else(String::new, |v| overt_kernels::dtype::Shown(v.dtype)
                        .to_string()),
                self.schema.operands[*other].name
            ),
            DtypeSpec::Of(list) => {
                let names: Vec<String> = list
                    .iter()
                    .map(|d| overt_kernels::dtype::Shown(*d).to_string())
                    .collect();
                if names.len() > 1 {
                    format!("one of {}", names.join(", "))
                } else {
                    names.join("")
                }
            }
        };
        bind_error(
            args.op(),
            BindProblem::DType {
                operand: self.schema.operands[index].name.clone(),
                got: overt_kernels::dtype::Shown(view.dtype).to_string(),
                wanted,
            },
        )
    }

    #[cold]
    fn wrong_rank(&self, op: &Op, index: usize, view: &View) -> BindError {
        bind_error(
            op,
            BindProblem::Rank {
                operand: self.schema.operands[index].name.clone(),
                got: view.rank,
                wanted: self.operands[index].dims.len() as u32,
                dims: self.dims_text(index),
            },
        )
    }

    #[cold]
    fn wrong_extent<A: Arguments>(
        &self,
        args: &A,
        index: usize,
        dimension: usize,
        got: i64,
        wanted: i64,
    ) -> BindError {
        let expr = &self.schema.operands[index].dims[dimension];
        let by = self.binder_of(args, expr);
        bind_error(
            args.op(),
            BindProblem::Extent {
                operand: self.schema.operands[index].name.clone(),
                dimension,
                got,
                expression: expr.shown(&self.schema.symbols).to_string(),
                wanted,
                by,
            },
        )
    }

    /// Which operands gave the symbols of an expression their values.
    fn binder_of<A: Arguments>(&self, args: &A, expr: &Expr) -> String {
        let mut sources = Vec::new();
        for symbol in expr.symbols() {
            if let Some(derived) = self.schema.derived.iter().find(|d| d.symbol == symbol) {
                sources.push(format!(
                    "{} = {}",
                    self.schema.symbols[symbol],
                    derived.expr.shown(&self.schema.symbols)
                ));
                continue;
            }
            if self.attr_symbols.iter().any(|(s, _)| *s == symbol) {
                sources.push(format!("attribute `{}`", self.schema.symbols[symbol]));
                continue;
            }
            let found = self.operands.iter().enumerate().find_map(|(i, spec)| {
                args.view(i)?;
                let d = spec.dims.iter().position(|d| *d == Some(symbol))?;
                Some(format!(
                    "dimension {d} of `{}`",
                    self.schema.operands[i].name
                ))
            });
            sources.extend(found);
        }
        if sources.is_empty() {
            "the schema".into()
        } else {
            sources.join(" and ")
        }
    }

    #[cold]
    fn expression(&self, op: &Op, expr: &Expr, bound: &Bound, exact: bool) -> BindError {
        let what = match self.schema.eval(expr, &bound.symbols, exact) {
            Err(error) => error.to_string(),
            Ok(value) => format!("`{}` is {value}", expr.shown(&self.schema.symbols)),
        };
        bind_error(op, BindProblem::Expression { what })
    }

    #[cold]
    fn overlapping(&self, op: &Op, index: usize, other: usize) -> BindError {
        let schema = &self.schema;
        let allowed: Vec<String> = schema.operands[index]
            .may_alias
            .iter()
            .map(|i| schema.operands[*i].name.clone())
            .collect();
        bind_error(
            op,
            BindProblem::Overlap {
                operand: schema.operands[index].name.clone(),
                other: schema.operands[other].name.clone(),
                allowed: if allowed.is_empty() {
                    "the schema allows that for no operand".into()
                } else {
                    format!(
                        "the schema allows exactly the same elements as {}",
                        super::error::list(&allowed)
                    )
                },
            },
        )
    }

    fn dims_text(&self, index: usize) -> String {
        let dims: Vec<String> = self.schema.operands[index]
            .dims
            .iter()
            .map(|e| e.shown(&self.schema.symbols).to_string())
            .collect();
        format!("[{}]", dims.join(","))
    }

    fn dtypes_text(&self, index: usize) -> String {
        match &self.schema.operands[index].dtypes {
            Dtypes::Of { class, .. } => class.clone(),
            Dtypes::Like(other) => format!("like {}", self.schema.operands[*other].name),
        }
    }
}

pub(crate) const ABSENT: OvertTensor = OvertTensor {
    size: size_of::<OvertTensor>() as u32,
    flags: OVERT_TENSOR_ABSENT,
    dtype: OvertDType {
        code: 0,
        bits: 0,
        lanes: 0,
    },
    rank: 0,
    handle: 0,
    byte_offset: 0,
    address: 0,
    allocation_bytes: 0,
    alignment: 0,
    layout: 0,
    shape: std::ptr::null(),
    strides: std::ptr::null(),
};
