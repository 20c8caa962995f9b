//! Schemas as text again.

use super::{Attr, AttrDefault, AttrType, AttrValue, Dtypes, Expr, Operand, Role, Schema};
use std::fmt;

/// An expression with the names of its symbols, ready to print. Made by [`Expr::shown`].
#[derive(Clone, Copy, Debug)]
pub struct ShownExpr<'a> {
    expr: &'a Expr,
    names: &'a [String],
}

impl Expr {
    /// Prints with the names of symbols, by number, and as few parentheses as the reading needs.
    pub fn shown<'a>(&'a self, names: &'a [String]) -> ShownExpr<'a> {
        ShownExpr { expr: self, names }
    }
}

impl fmt::Display for ShownExpr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_expr(f, self.expr, &|f, s| match self.names.get(s) {
            Some(name) => f.write_str(name),
            None => write!(f, "#{s}"),
        })
    }
}

/// Without names, symbols print as `#0`.
impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_expr(f, self, &|f, s| write!(f, "#{s}"))
    }
}

type Symbol<'a> = &'a dyn Fn(&mut fmt::Formatter<'_>, usize) -> fmt::Result;

fn level(expr: &Expr) -> u8 {
    match expr {
        Expr::Add(..) | Expr::Sub(..) => 0,
        Expr::Mul(..) | Expr::Div(..) => 1,
        Expr::Const(_) | Expr::Symbol(_) | Expr::Ceil(..) => 2,
    }
}

fn write_expr(f: &mut fmt::Formatter<'_>, expr: &Expr, symbol: Symbol<'_>) -> fmt::Result {
    let (a, mark, b) = match expr {
        Expr::Const(value) => return write!(f, "{value}"),
        Expr::Symbol(s) => return symbol(f, *s),
        Expr::Ceil(a, b) => {
            f.write_str("ceil(")?;
            write_inside(f, a, level(a) < 1, symbol)?;
            f.write_str(" / ")?;
            write_inside(f, b, level(b) <= 1, symbol)?;
            return f.write_str(")");
        }
        Expr::Add(a, b) => (a, "+", b),
        Expr::Sub(a, b) => (a, "-", b),
        Expr::Mul(a, b) => (a, "*", b),
        Expr::Div(a, b) => (a, "/", b),
    };
    let own = level(expr);
    write_inside(f, a, level(a) < own, symbol)?;
    write!(f, " {mark} ")?;
    // Operators of one level group to the left, so a right side of the same level needs parentheses.
    write_inside(f, b, level(b) <= own, symbol)
}

fn write_inside(
    f: &mut fmt::Formatter<'_>,
    expr: &Expr,
    parentheses: bool,
    symbol: Symbol<'_>,
) -> fmt::Result {
    if parentheses {
        f.write_str("(")?;
    }
    write_expr(f, expr, symbol)?;
    if parentheses {
        f.write_str(")")?;
    }
    Ok(())
}

/// Prints the class or set; `like` with the operand's number, since the name is the schema's.
impl fmt::Display for Dtypes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dtypes::Of { class, .. } => f.write_str(class),
            Dtypes::Like(operand) => write!(f, "like #{operand}"),
        }
    }
}

impl fmt::Display for AttrType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            AttrType::Bool => "bool",
            AttrType::I64 => "i64",
            AttrType::F64 => "f64",
            AttrType::Str => "str",
        })
    }
}

/// Prints as a schema writes it: floats with as many digits as they need, text in quotes.
impl fmt::Display for AttrValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttrValue::Bool(value) => write!(f, "{value}"),
            AttrValue::I64(value) => write!(f, "{value}"),
            AttrValue::F64(value) => write!(f, "{value}"),
            AttrValue::Str(value) => {
                write!(
                    f,
                    "\"{}\"",
                    value.replace('\\', "\\\\").replace('"', "\\\"")
                )
            }
        }
    }
}

impl Schema {
    fn write_operand(&self, f: &mut fmt::Formatter<'_>, operand: &Operand) -> fmt::Result {
        if operand.role == Role::InOut {
            f.write_str("inout ")?;
        }
        f.write_str(&operand.name)?;
        if operand.optional {
            f.write_str("?")?;
        }
        f.write_str(": ")?;
        match &operand.dtypes {
            Dtypes::Of { class, .. } => f.write_str(class)?,
            Dtypes::Like(other) => match self.operands.get(*other) {
                Some(other) => write!(f, "like {}", other.name)?,
                None => write!(f, "like #{other}")?,
            },
        }
        f.write_str("[")?;
        for (index, dim) in operand.dims.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{}", dim.shown(&self.symbols))?;
        }
        f.write_str("]")?;
        if !operand.may_alias.is_empty() {
            let names: Vec<&str> = operand
                .may_alias
                .iter()
                .filter_map(|&o| self.operands.get(o))
                .map(|o| o.name.as_str())
                .collect();
            write!(f, " may_alias({})", names.join(", "))?;
        }
        Ok(())
    }

    fn write_attr(&self, f: &mut fmt::Formatter<'_>, attr: &Attr) -> fmt::Result {
        write!(f, "{}: {}", attr.name, attr.ty)?;
        match &attr.default {
            AttrDefault::Required => Ok(()),
            AttrDefault::Value(value) => write!(f, " = {value}"),
            AttrDefault::Bound(expr) => write!(f, " = {}", expr.shown(&self.symbols)),
        }
    }
}

/// Prints a text that parses to a schema of the same meaning, one part to a line. Parentheses may differ from the text that
/// was parsed; the digest is over [`Schema::canonical`] and not over this.
impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.name)?;
        for (index, operand) in self.operands[..self.input_count].iter().enumerate() {
            f.write_str(if index == 0 { "" } else { ", " })?;
            self.write_operand(f, operand)?;
        }
        f.write_str(")")?;
        for (index, operand) in self.operands[self.input_count..].iter().enumerate() {
            f.write_str(if index == 0 { " -> " } else { ", " })?;
            self.write_operand(f, operand)?;
        }
        for (index, attr) in self.attrs.iter().enumerate() {
            f.write_str(if index == 0 { ";\n  " } else { ", " })?;
            self.write_attr(f, attr)?;
        }
        for (index, derived) in self.derived.iter().enumerate() {
            f.write_str(if index == 0 { ";\n  where " } else { ", " })?;
            let name = self.symbols.get(derived.symbol).map_or("?", String::as_str);
            write!(f, "{name} = {}", derived.expr.shown(&self.symbols))?;
            if derived.exact {
                f.write_str(" exact")?;
            }
        }
        Ok(())
    }
}
