//! What the names of a schema mean: symbols to numbers, types to sets, and the rules that no grammar can state.

use super::ast::*;
use super::classes::{CLASSES, class};
use super::error::{ParseError, ParseErrorKind as Kind};
use super::lex::error_at;
use super::limits::{MAX_OPERANDS, MAX_SYMBOLS};
use super::{
    Attr, AttrDefault, AttrType, Derived, Dtypes, Expr, Operand, Role, Schema, canonical, digest,
};
use crate::dtype;
use overt_abi::OvertDType;

/// Checks a parsed text and gives its meaning.
pub(super) fn resolve(text: &str, ast: &SchemaAst<'_>) -> Result<Schema, ParseError> {
    let resolver = Resolver { text, ast };
    resolver.unique_names()?;
    let (symbols, bound, attr_symbols) = resolver.symbols()?;
    let own = symbols.len() - attr_symbols.len();
    let mut operands = Vec::with_capacity(ast.operands.len());
    for index in 0..ast.operands.len() {
        let operand = resolver.operand(index, &operands, &symbols)?;
        operands.push(operand);
    }
    if operands.iter().all(|o| o.role == Role::In) {
        return resolver.fail(
            ast.end,
            Kind::NoOutput,
            "no operand is written",
            "`->` and an output, or an `inout` operand",
        );
    }
    let mut derived = Vec::with_capacity(ast.derived.len());
    for (index, d) in ast.derived.iter().enumerate() {
        // A derived symbol may use those before it only, so that one pass in order computes them all.
        let known = &symbols[..bound + index];
        let expr = resolver.expr(&d.expr, known)?;
        derived.push(Derived {
            symbol: bound + index,
            expr,
            exact: d.exact,
        });
    }
    let attrs = ast
        .attrs
        .iter()
        .map(|a| resolver.attr(a, &symbols[..own]))
        .collect::<Result<Vec<_>, _>>()?;
    let canonical = canonical(text);
    Ok(Schema {
        name: ast.name.clone(),
        operands,
        input_count: ast.input_count,
        attrs,
        derived,
        symbols: symbols.iter().map(|s| (*s).to_owned()).collect(),
        attr_symbols,
        digest: digest(&canonical),
        canonical,
    })
}

/// Names by number, how many of them dimensions bind, and the pairs of symbol and attribute at the end.
type Symbols<'a> = (Vec<&'a str>, usize, Vec<(usize, usize)>);

struct Resolver<'t, 'a> {
    text: &'t str,
    ast: &'t SchemaAst<'a>,
}

impl<'a> Resolver<'_, 'a> {
    fn fail<T>(
        &self,
        at: usize,
        kind: Kind,
        what: impl Into<String>,
        wanted: impl Into<String>,
    ) -> Result<T, ParseError> {
        Err(error_at(self.text, at, kind, what, wanted))
    }

    /// Operands, attributes and derived symbols become facts and `handles` entries by their bare names, so no two may share
    /// one. Symbols of dimensions are held against the others in [`Resolver::symbols`].
    fn unique_names(&self) -> Result<(), ParseError> {
        let mut seen: Vec<(&str, &str)> = Vec::new();
        let operands = self.ast.operands.iter().map(|o| (o.name, "operand"));
        let attrs = self.ast.attrs.iter().map(|a| (a.name, "attribute"));
        let derived = self.ast.derived.iter().map(|d| (d.name, "derived symbol"));
        for (name, what) in operands.chain(attrs).chain(derived) {
            if let Some((_, earlier)) = seen.iter().find(|(n, _)| *n == name.text) {
                return self.fail(
                    name.at,
                    Kind::Duplicate,
                    format!(
                        "{what} `{}` has the name of an earlier {earlier}",
                        name.text
                    ),
                    "a name of its own",
                );
            }
            seen.push((name.text, what));
        }
        Ok(())
    }

    /// All symbols in order of their numbers, how many of them dimensions bind, and which of them are attributes.
    fn symbols(&self) -> Result<Symbols<'a>, ParseError> {
        let is_derived = |name: &str| self.ast.derived.iter().any(|d| d.name.text == name);
        let mut symbols: Vec<&'a str> = Vec::new();
        let mut needs_other: Vec<Name<'a>> = Vec::new();
        for operand in &self.ast.operands {
            for name in operand.dims.iter().filter_map(ExprAst::lone) {
                if is_derived(name.text) {
                    continue;
                }
                if symbols.contains(&name.text) {
                    if !operand.optional {
                        needs_other.retain(|n| n.text != name.text);
                    }
                    continue;
                }
                self.symbol_name(name)?;
                symbols.push(name.text);
                if operand.optional {
                    needs_other.push(name);
                }
            }
        }
        if let Some(name) = needs_other.first() {
            return self.fail(
                name.at,
                Kind::OptionalBinding,
                format!("symbol `{}` is bound by optional operands alone", name.text),
                "a dimension of an operand that is always present to bind it",
            );
        }
        let bound = symbols.len();
        symbols.extend(self.ast.derived.iter().map(|d| d.name.text));
        let own = symbols.len();
        let mut attr_symbols = Vec::new();
        for operand in &self.ast.operands {
            for dim in &operand.dims {
                dim.symbols(&mut |name| {
                    if symbols.contains(&name.text) {
                        return;
                    }
                    let attr = self.ast.attrs.iter().position(|a| a.name.text == name.text);
                    if let Some(attr) = attr.filter(|&a| self.gives_extents(a)) {
                        attr_symbols.push((symbols.len(), attr));
                        symbols.push(name.text);
                    }
                });
            }
        }
        debug_assert_eq!(own + attr_symbols.len(), symbols.len());
        if symbols.len() > MAX_SYMBOLS {
            let what = format!("{} symbols", symbols.len());
            return self.fail(
                self.ast.end,
                Kind::Limit,
                what,
                format!("at most {MAX_SYMBOLS}"),
            );
        }
        Ok((symbols, bound, attr_symbols))
    }

    /// Whether a dimension may use this attribute: a whole number that does not itself follow from the extents.
    fn gives_extents(&self, attr: usize) -> bool {
        let attr = &self.ast.attrs[attr];
        attr.ty == AttrType::I64 && !matches!(attr.default, DefaultAst::Expr(..))
    }

    fn symbol_name(&self, name: Name<'a>) -> Result<(), ParseError> {
        let operand = self.ast.operands.iter().any(|o| o.name.text == name.text);
        let attr = self.ast.attrs.iter().any(|a| a.name.text == name.text);
        if !operand && !attr {
            return Ok(());
        }
        let other = if operand {
            "an operand"
        } else {
            "an attribute"
        };
        self.fail(
            name.at,
            Kind::Duplicate,
            format!("symbol `{}` has the name of {other}", name.text),
            "a name of its own",
        )
    }

    fn operand(
        &self,
        index: usize,
        earlier: &[Operand],
        symbols: &[&str],
    ) -> Result<Operand, ParseError> {
        let ast = &self.ast.operands[index];
        let output = index >= self.ast.input_count;
        let name = ast.name.text;
        if output && ast.inout {
            return self.fail(
                ast.name.at,
                Kind::Syntax,
                format!("`inout` operand `{name}` behind `->`"),
                "`inout` operands among the inputs",
            );
        }
        let role = match (output, ast.inout) {
            (true, _) => Role::Out,
            (false, true) => Role::InOut,
            (false, false) => Role::In,
        };
        if ast.optional && role != Role::In {
            return self.fail(
                ast.name.at,
                Kind::OptionalOutput,
                format!("operand `{name}` is written and optional"),
                "only inputs to be optional",
            );
        }
        let dtypes = self.dtypes(ast, earlier)?;
        let dims = ast
            .dims
            .iter()
            .map(|d| self.expr(d, symbols))
            .collect::<Result<Vec<_>, _>>()?;
        let may_alias = self.may_alias(ast, role, &dims, earlier)?;
        Ok(Operand {
            name: name.to_owned(),
            role,
            optional: ast.optional,
            dtypes,
            dims,
            may_alias,
        })
    }

    fn dtypes(&self, ast: &OperandAst<'a>, earlier: &[Operand]) -> Result<Dtypes, ParseError> {
        match &ast.dtypes {
            DtypesAst::Like(name) => {
                let Some(index) = earlier.iter().position(|o| o.name == name.text) else {
                    return self.unknown_operand(*name, "like");
                };
                if earlier[index].optional {
                    return self.fail(
                        name.at,
                        Kind::OptionalBinding,
                        format!(
                            "`like {}` takes its type from an optional operand",
                            name.text
                        ),
                        "an operand that is always present",
                    );
                }
                Ok(Dtypes::Like(index))
            }
            DtypesAst::Named(name) => match class(name.text) {
                Some(class) => Ok(Dtypes::Of {
                    class: class.name.to_owned(),
                    dtypes: class.dtypes.to_vec(),
                }),
                None => Ok(Dtypes::Of {
                    class: name.text.to_owned(),
                    dtypes: vec![self.dtype(*name)?],
                }),
            },
            DtypesAst::Set(names) => {
                let mut dtypes: Vec<OvertDType> = Vec::with_capacity(names.len());
                for name in names {
                    let dtype = self.dtype(*name)?;
                    if dtypes.contains(&dtype) {
                        let what = format!("element type `{}` stands twice", name.text);
                        return self.fail(name.at, Kind::Duplicate, what, "each element type once");
                    }
                    dtypes.push(dtype);
                }
                let shown: Vec<&str> = names.iter().map(|n| n.text).collect();
                Ok(Dtypes::Of {
                    class: format!("{{{}}}", shown.join(",")),
                    dtypes,
                })
            }
        }
    }

    fn dtype(&self, name: Name<'a>) -> Result<OvertDType, ParseError> {
        if let Some(dtype) = dtype::from_name(name.text) {
            return Ok(dtype);
        }
        let classes: Vec<&str> = CLASSES.iter().map(|c| c.name).collect();
        let dtypes: Vec<&str> = dtype::all().map(|(_, n)| n).collect();
        self.fail(
            name.at,
            Kind::UnknownDtype,
            format!("element type `{}` does not exist", name.text),
            format!(
                "a class ({}) or one of {}",
                classes.join(", "),
                dtypes.join(", ")
            ),
        )
    }

    fn may_alias(
        &self,
        ast: &OperandAst<'a>,
        role: Role,
        dims: &[Expr],
        earlier: &[Operand],
    ) -> Result<Vec<usize>, ParseError> {
        let mut out = Vec::with_capacity(ast.may_alias.len());
        for name in &ast.may_alias {
            if role != Role::Out {
                return self.fail(
                    name.at,
                    Kind::Alias,
                    format!(
                        "`may_alias` on operand `{}`, which is no output",
                        ast.name.text
                    ),
                    "`may_alias` on outputs only",
                );
            }
            let Some(index) = earlier.iter().position(|o| o.name == name.text) else {
                return self.unknown_operand(*name, "may_alias");
            };
            if earlier[index].role != Role::In || earlier[index].dims != dims {
                return self.fail(
                    name.at,
                    Kind::Alias,
                    format!(
                        "`{}` cannot be the memory of `{}`",
                        ast.name.text, name.text
                    ),
                    "an input of the same dimensions",
                );
            }
            if out.contains(&index) || out.len() == MAX_OPERANDS {
                let what = format!("`{}` stands twice in `may_alias`", name.text);
                return self.fail(name.at, Kind::Duplicate, what, "each operand once");
            }
            out.push(index);
        }
        Ok(out)
    }

    fn unknown_operand<T>(&self, name: Name<'a>, word: &str) -> Result<T, ParseError> {
        let later = self.ast.operands.iter().any(|o| o.name.text == name.text);
        let what = if later {
            format!(
                "`{word}` names operand `{}`, which does not stand earlier",
                name.text
            )
        } else {
            format!(
                "`{word}` names operand `{}`, which does not exist",
                name.text
            )
        };
        self.fail(name.at, Kind::UnknownOperand, what, "an earlier operand")
    }

    fn attr(&self, ast: &AttrAst<'a>, symbols: &[&str]) -> Result<Attr, ParseError> {
        let default = match &ast.default {
            DefaultAst::None => AttrDefault::Required,
            DefaultAst::Value(value) => AttrDefault::Value(value.clone()),
            DefaultAst::Expr(expr, at) => {
                if ast.ty != AttrType::I64 {
                    let what = format!(
                        "an expression as the default of attribute `{}`",
                        ast.name.text
                    );
                    return self.fail(
                        *at,
                        Kind::Default,
                        what,
                        "a literal of the attribute's type",
                    );
                }
                AttrDefault::Bound(self.expr(expr, symbols)?)
            }
        };
        Ok(Attr {
            name: ast.name.text.to_owned(),
            ty: ast.ty,
            default,
        })
    }

    /// An expression whose symbols are numbered by `known`. The parser has bounded its depth.
    fn expr(&self, ast: &ExprAst<'a>, known: &[&str]) -> Result<Expr, ParseError> {
        Ok(match ast {
            ExprAst::Const(value) => Expr::Const(*value),
            ExprAst::Symbol(name) => match known.iter().position(|s| *s == name.text) {
                Some(index) => Expr::Symbol(index),
                None => {
                    return self.fail(
                        name.at,
                        Kind::UnboundSymbol,
                        format!(
                            "nothing binds symbol `{}` before it is used here",
                            name.text
                        ),
                        "a symbol that is a dimension by itself, or an earlier one of `where`; in a dimension also an i64 attribute",
                    );
                }
            },
            ExprAst::Ceil(a, b) => Expr::Ceil(
                Box::new(self.expr(a, known)?),
                Box::new(self.expr(b, known)?),
            ),
            ExprAst::Binary(operator, a, b) => {
                let a = Box::new(self.expr(a, known)?);
                let b = Box::new(self.expr(b, known)?);
                match operator {
                    Operator::Add => Expr::Add(a, b),
                    Operator::Sub => Expr::Sub(a, b),
                    Operator::Mul => Expr::Mul(a, b),
                    Operator::Div => Expr::Div(a, b),
                }
            }
        })
    }
}
