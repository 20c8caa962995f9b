//! The schema as written, before names mean anything. Offsets are kept for messages.

use super::{AttrType, AttrValue};

/// A name and where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Name<'a> {
    pub text: &'a str,
    pub at: usize,
}

pub(super) struct SchemaAst<'a> {
    pub name: String,
    pub operands: Vec<OperandAst<'a>>,
    pub input_count: usize,
    pub attrs: Vec<AttrAst<'a>>,
    pub derived: Vec<DerivedAst<'a>>,
    pub end: usize,
}

pub(super) struct OperandAst<'a> {
    pub inout: bool,
    pub name: Name<'a>,
    pub optional: bool,
    pub dtypes: DtypesAst<'a>,
    pub dims: Vec<ExprAst<'a>>,
    pub may_alias: Vec<Name<'a>>,
}

pub(super) enum DtypesAst<'a> {
    /// A class or a single type.
    Named(Name<'a>),
    Set(Vec<Name<'a>>),
    Like(Name<'a>),
}

pub(super) struct AttrAst<'a> {
    pub name: Name<'a>,
    pub ty: AttrType,
    pub default: DefaultAst<'a>,
}

pub(super) enum DefaultAst<'a> {
    None,
    /// A literal of the grammar, already of the attribute's type.
    Value(AttrValue),
    Expr(ExprAst<'a>, usize),
}

pub(super) struct DerivedAst<'a> {
    pub name: Name<'a>,
    pub expr: ExprAst<'a>,
    pub exact: bool,
}

pub(super) enum ExprAst<'a> {
    Const(i64),
    Symbol(Name<'a>),
    Binary(Operator, Box<ExprAst<'a>>, Box<ExprAst<'a>>),
    /// `ceil(a / b)`.
    Ceil(Box<ExprAst<'a>>, Box<ExprAst<'a>>),
}

#[derive(Clone, Copy)]
pub(super) enum Operator {
    Add,
    Sub,
    Mul,
    Div,
}

impl<'a> ExprAst<'a> {
    /// The symbol that this is and nothing more, which a dimension binds.
    pub fn lone(&self) -> Option<Name<'a>> {
        match self {
            ExprAst::Symbol(name) => Some(*name),
            _ => None,
        }
    }

    /// Calls `each` for every symbol, left to right.
    pub fn symbols(&self, each: &mut impl FnMut(Name<'a>)) {
        match self {
            ExprAst::Const(_) => {}
            ExprAst::Symbol(name) => each(*name),
            ExprAst::Binary(_, a, b) | ExprAst::Ceil(a, b) => {
                a.symbols(each);
                b.symbols(each);
            }
        }
    }
}
