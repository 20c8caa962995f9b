//! Op schemas: the text that a person reads, and its parsed form.
//!
//! ```text
//! paged_attention.1(
//!   query: float[T,Hq,D], k_cache: kv[N,P,Hkv,D], v_cache: kv[N,P,Hkv,Dv],
//!   block_table: i32[R,M], seq_lens: i32[R], query_start: i32[R+1], sinks?: f32[Hq]) -> out: float[T,Hq,Dv];
//!   scale: f64, causal: bool = true, window: i64 = 0, softcap: f64 = 0,
//!   max_query_len: i64 = T, max_seq_len: i64 = M*P;
//!   where gqa_ratio = Hq / Hkv exact
//! ```
//!
//! # Grammar
//!
//! ```text
//! schema   = name "(" operand {"," operand} ")" ["->" operand {"," operand}] [";" attr {"," attr}] [";" "where" derived {"," derived}]
//! name     = [provider ":"] ident "." version
//! operand  = ["inout"] ident ["?"] ":" dtypes "[" [expr {"," expr}] "]" ["may_alias" "(" ident {"," ident} ")"]
//! dtypes   = class | dtype | "{" dtype {"," dtype} "}" | "like" ident
//! attr     = ident ":" ("bool" | "i64" | "f64" | "str") ["=" (literal | expr)]
//! derived  = ident "=" expr ["exact"]
//! expr     = sums and products of integers, symbols, parentheses and `ceil(a / b)`: + - * /
//! literal  = "true" | "false" | ["-"] number | a text in double quotes, with \" and \\ for a quote and a backslash
//! ```
//!
//! A schema without attributes has its `where` behind the first `;`. Names are ASCII letters, digits and `_`.
//!
//! A dimension that is a symbol alone binds it, the first time, and must equal it afterwards; any other expression is
//! computed from symbols and must equal the extent. `where` defines new symbols from those that dimensions bind and from
//! earlier ones of `where`; every dimension may use them, and a dimension that is such a symbol alone must equal it. So binding
//! takes three passes: lone symbols of all operands, then `where` in order, then every other dimension. `exact` makes a
//! division with a remainder an error. An attribute without default must be given. An attribute whose default is an
//! expression over symbols is a *bound*: what the host knows of lengths that live in device memory. A dimension's expression
//! may also use an `i64` attribute that is no bound, so that an extent can follow from one: `f32[ceil(N / scale_rows)]`.
//! `ceil(a / b)` is the quotient rounded up, and never inexact. `x may_alias(a)` lets
//! the output be exactly the memory of `a`; every other overlap of an output is an error.

mod ast;
pub mod classes;
mod digest;
mod display;
mod error;
mod eval;
mod lex;
pub mod limits;
mod parse;
mod resolve;

pub use digest::{canonical, digest};
pub use display::ShownExpr;
pub use error::{ParseError, ParseErrorKind};
pub use eval::{EvalError, EvalFault};
pub use parse::parse;

use overt_abi::OvertDType;

/// A parsed schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Schema {
    /// Name with version: `paged_attention.1`.
    pub name: String,
    /// Inputs (and in-outs) in order, then outputs in order: the order of operands in an ABI call.
    pub operands: Vec<Operand>,
    /// How many of `operands` stand before `->`.
    pub input_count: usize,
    /// Attributes in order.
    pub attrs: Vec<Attr>,
    /// Derived symbols in order of definition. Their symbol numbers follow those bound by dimensions.
    pub derived: Vec<Derived>,
    /// Names of all symbols: those bound by dimensions in order of first appearance, then derived ones, then attributes that
    /// dimensions use.
    pub symbols: Vec<String>,
    /// Attributes that dimensions use, as pairs of a symbol's number and the attribute's: the last of `symbols`. Only expressions
    /// know these symbols; elsewhere the attribute is meant.
    pub attr_symbols: Vec<(usize, usize)>,
    /// The canonical text, over which the digest is taken.
    pub canonical: String,
    /// 64-bit FNV-1a of `canonical`.
    pub digest: u64,
}

/// One operand.
#[derive(Clone, Debug, PartialEq)]
pub struct Operand {
    /// Its name.
    pub name: String,
    /// Whether it is read, written, or both.
    pub role: Role,
    /// It may be left out.
    pub optional: bool,
    /// Element types that are allowed.
    pub dtypes: Dtypes,
    /// Extents.
    pub dims: Vec<Expr>,
    /// Numbers of operands whose very memory it may be.
    pub may_alias: Vec<usize>,
}

/// How a kernel uses an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Read.
    In,
    /// Written, every element.
    Out,
    /// Read and written.
    InOut,
}

/// Element types of an operand.
#[derive(Clone, Debug, PartialEq)]
pub enum Dtypes {
    /// Any of these. `class` is the class's name (`float`), or the text as written.
    Of {
        /// How it is shown.
        class: String,
        /// The types.
        dtypes: Vec<OvertDType>,
    },
    /// The type of another operand, given by number, which stands earlier.
    Like(usize),
}

/// Integer expressions over symbols.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// A number.
    Const(i64),
    /// A symbol by number.
    Symbol(usize),
    /// Sum.
    Add(Box<Expr>, Box<Expr>),
    /// Difference.
    Sub(Box<Expr>, Box<Expr>),
    /// Product.
    Mul(Box<Expr>, Box<Expr>),
    /// Quotient, rounded towards zero; a divisor of zero is an error.
    Div(Box<Expr>, Box<Expr>),
    /// Quotient, rounded up; a divisor of zero is an error.
    Ceil(Box<Expr>, Box<Expr>),
}

/// One attribute.
#[derive(Clone, Debug, PartialEq)]
pub struct Attr {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: AttrType,
    /// What holds when it is not given.
    pub default: AttrDefault,
}

/// Type of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttrType {
    /// Truth value.
    Bool,
    /// Signed integer.
    I64,
    /// Float.
    F64,
    /// Text.
    Str,
}

/// Default of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum AttrDefault {
    /// None: it must be given, and every kernel honours it.
    Required,
    /// A value. A kernel that does not handle the attribute is rejected at any other.
    Value(AttrValue),
    /// A bound computed from symbols. A given value may not exceed it. Every kernel may ignore it.
    Bound(Expr),
}

/// Value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum AttrValue {
    /// Truth value.
    Bool(bool),
    /// Signed integer.
    I64(i64),
    /// Float.
    F64(f64),
    /// Text.
    Str(String),
}

/// A derived symbol.
#[derive(Clone, Debug, PartialEq)]
pub struct Derived {
    /// Its number among `symbols`.
    pub symbol: usize,
    /// How it is computed.
    pub expr: Expr,
    /// A remainder in any division of `expr` is an error of the problem.
    pub exact: bool,
}

impl Schema {
    /// Number of an operand.
    pub fn operand(&self, name: &str) -> Option<usize> {
        self.operands.iter().position(|o| o.name == name)
    }

    /// Number of an attribute.
    pub fn attr(&self, name: &str) -> Option<usize> {
        self.attrs.iter().position(|a| a.name == name)
    }

    /// Numbers of the operands that the op writes: in-outs and outputs, ascending.
    pub fn outputs(&self) -> Vec<usize> {
        let written = |(n, o): (usize, &Operand)| (o.role != Role::In).then_some(n);
        self.operands
            .iter()
            .enumerate()
            .filter_map(written)
            .collect()
    }

    /// Number of a symbol that dimensions bind or `where` defines.
    pub fn symbol(&self, name: &str) -> Option<usize> {
        let own = self.symbols.len() - self.attr_symbols.len();
        self.symbols[..own].iter().position(|s| s == name)
    }

    /// How many symbols dimensions bind: the first of [`Schema::symbols`].
    pub fn bound_symbols(&self) -> usize {
        self.symbols.len() - self.attr_symbols.len() - self.derived.len()
    }
}
