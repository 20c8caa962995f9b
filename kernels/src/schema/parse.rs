//! Text to schema: the grammar. What names mean is settled in [`super::resolve`].
//!
//! The parser is recursive in expressions alone, and their nesting and size are bounded, so hostile text can neither overflow
//! the stack nor take more than linear time.

use super::ast::*;
use super::error::{ParseError, ParseErrorKind};
use super::lex::{Spanned, Token, error_at, lex};
use super::limits::*;
use super::{AttrType, AttrValue, Schema, resolve};

/// Words that mean something in the grammar and name nothing.
const RESERVED: &[&str] = &[
    "ceil",
    "exact",
    "false",
    "inout",
    "like",
    "may_alias",
    "true",
    "where",
];

/// Parses and checks a schema. Total: any text gives a schema or an error, in time linear in its length.
///
/// # Errors
/// [`ParseError`] for the first fault found, with its place and what was wanted.
pub fn parse(text: &str) -> Result<Schema, ParseError> {
    let tokens = lex(text)?;
    let mut parser = Parser {
        text,
        tokens,
        next: 0,
    };
    let ast = parser.schema()?;
    resolve::resolve(text, &ast)
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Spanned<'a>>,
    next: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Token<'a> {
        self.tokens[self.next].token
    }

    fn at(&self) -> usize {
        self.tokens[self.next].at
    }

    /// Takes the next token. The last one, [`Token::End`], is never passed, so `next` stays in range.
    fn take(&mut self) -> Token<'a> {
        let token = self.peek();
        if token != Token::End {
            self.next += 1;
        }
        token
    }

    fn fail<T>(
        &self,
        at: usize,
        kind: ParseErrorKind,
        what: impl Into<String>,
        wanted: impl Into<String>,
    ) -> Result<T, ParseError> {
        Err(error_at(self.text, at, kind, what, wanted))
    }

    fn unexpected<T>(&self, wanted: impl Into<String>) -> Result<T, ParseError> {
        self.fail(self.at(), ParseErrorKind::Syntax, show(self.peek()), wanted)
    }

    fn mark_is(&self, mark: char) -> bool {
        self.peek() == Token::Mark(mark)
    }

    fn eat_mark(&mut self, mark: char) -> bool {
        let here = self.mark_is(mark);
        if here {
            self.take();
        }
        here
    }

    fn mark(&mut self, mark: char, place: &str) -> Result<(), ParseError> {
        if self.eat_mark(mark) {
            Ok(())
        } else {
            self.unexpected(format!("`{mark}` {place}"))
        }
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let here = self.peek() == Token::Word(word);
        if here {
            self.take();
        }
        here
    }

    fn name(&mut self, of: &str) -> Result<Name<'a>, ParseError> {
        let at = self.at();
        match self.peek() {
            Token::Word(word) if RESERVED.contains(&word) => self.fail(
                at,
                ParseErrorKind::Reserved,
                format!("`{word}` is a word of the grammar"),
                format!("the name of {of}"),
            ),
            Token::Word(text) => {
                self.take();
                Ok(Name { text, at })
            }
            _ => self.unexpected(format!("the name of {of}")),
        }
    }

    fn schema(&mut self) -> Result<SchemaAst<'a>, ParseError> {
        let name = self.op_name()?;
        self.mark('(', "and the operands")?;
        let mut operands = vec![self.operand()?];
        while self.eat_mark(',') {
            self.push_limited(&mut operands, MAX_OPERANDS, "operands", Self::operand)?;
        }
        self.mark(')', "or `,` and another operand")?;
        let input_count = operands.len();
        if self.peek() == Token::Arrow {
            self.take();
            loop {
                self.push_limited(&mut operands, MAX_OPERANDS, "operands", Self::operand)?;
                if !self.eat_mark(',') {
                    break;
                }
            }
        }
        let mut attrs = Vec::new();
        let mut derived = Vec::new();
        if self.eat_mark(';') && !self.where_clause(&mut derived)? {
            loop {
                self.push_limited(&mut attrs, MAX_ATTRS, "attributes", Self::attr)?;
                if !self.eat_mark(',') {
                    break;
                }
            }
            if self.eat_mark(';') && !self.where_clause(&mut derived)? {
                return self.unexpected("`where` and derived symbols");
            }
        }
        let end = self.at();
        if self.peek() != Token::End {
            return self.unexpected("the end of the schema");
        }
        Ok(SchemaAst {
            name,
            operands,
            input_count,
            attrs,
            derived,
            end,
        })
    }

    fn push_limited<T>(
        &mut self,
        list: &mut Vec<T>,
        limit: usize,
        of: &str,
        item: fn(&mut Self) -> Result<T, ParseError>,
    ) -> Result<(), ParseError> {
        if list.len() == limit {
            let what = format!("more than {limit} {of}");
            return self.fail(
                self.at(),
                ParseErrorKind::Limit,
                what,
                format!("at most {limit}"),
            );
        }
        list.push(item(self)?);
        Ok(())
    }

    /// `[provider ":"] ident "." version`
    fn op_name(&mut self) -> Result<String, ParseError> {
        let first = self.name("the op, as `rms_norm.1`")?.text;
        let mut name = first.to_owned();
        if self.eat_mark(':') {
            name.push(':');
            name.push_str(self.name("the op, as `provider:op.1`")?.text);
        }
        self.mark('.', "and the op's version")?;
        let at = self.at();
        match self.peek() {
            Token::Number(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => {
                let canonical = digits
                    .parse::<u32>()
                    .is_ok_and(|v| v > 0 && v.to_string() == digits);
                if !canonical {
                    let what = format!("version `{digits}`");
                    return self.fail(
                        at,
                        ParseErrorKind::Number,
                        what,
                        "a whole number from 1, without leading zeros",
                    );
                }
                self.take();
                name.push('.');
                name.push_str(digits);
                Ok(name)
            }
            _ => self.unexpected("the op's version, a whole number"),
        }
    }

    fn operand(&mut self) -> Result<OperandAst<'a>, ParseError> {
        let inout = self.eat_word("inout");
        let name = self.name("an operand")?;
        let optional = self.eat_mark('?');
        self.mark(':', "and the operand's element types")?;
        let dtypes = self.dtypes()?;
        self.mark('[', "and the operand's dimensions")?;
        let mut dims = Vec::new();
        if !self.mark_is(']') {
            loop {
                if dims.len() == MAX_RANK {
                    return self.fail(
                        self.at(),
                        ParseErrorKind::Rank,
                        format!(
                            "operand `{}` has more than {MAX_RANK} dimensions",
                            name.text
                        ),
                        format!("at most {MAX_RANK}"),
                    );
                }
                dims.push(self.expr()?);
                if !self.eat_mark(',') {
                    break;
                }
            }
        }
        self.mark(']', "or `,` and another dimension")?;
        let mut may_alias = Vec::new();
        if self.eat_word("may_alias") {
            self.mark('(', "and the operands that it may alias")?;
            loop {
                self.push_limited(&mut may_alias, MAX_OPERANDS, "aliases", |p| {
                    p.name("an operand")
                })?;
                if !self.eat_mark(',') {
                    break;
                }
            }
            self.mark(')', "or `,` and another operand")?;
        }
        Ok(OperandAst {
            inout,
            name,
            optional,
            dtypes,
            dims,
            may_alias,
        })
    }

    fn dtypes(&mut self) -> Result<DtypesAst<'a>, ParseError> {
        if self.eat_word("like") {
            return Ok(DtypesAst::Like(self.name("an earlier operand")?));
        }
        if self.eat_mark('{') {
            let mut set = Vec::new();
            loop {
                self.push_limited(&mut set, MAX_OPERANDS, "element types", |p| {
                    p.name("an element type")
                })?;
                if !self.eat_mark(',') {
                    break;
                }
            }
            self.mark('}', "or `,` and another element type")?;
            return Ok(DtypesAst::Set(set));
        }
        Ok(DtypesAst::Named(
            self.name("a class, an element type, `like` or `{`")?,
        ))
    }

    /// `where …`; false when no `where` stands here.
    fn where_clause(&mut self, derived: &mut Vec<DerivedAst<'a>>) -> Result<bool, ParseError> {
        if !self.eat_word("where") {
            return Ok(false);
        }
        loop {
            self.push_limited(derived, MAX_SYMBOLS, "derived symbols", |p| {
                let name = p.name("a derived symbol")?;
                p.mark('=', "and the symbol's expression")?;
                let expr = p.expr()?;
                let exact = p.eat_word("exact");
                Ok(DerivedAst { name, expr, exact })
            })?;
            if !self.eat_mark(',') {
                return Ok(true);
            }
        }
    }

    fn attr(&mut self) -> Result<AttrAst<'a>, ParseError> {
        let name = self.name("an attribute")?;
        self.mark(':', "and the attribute's type")?;
        let ty = match self.peek() {
            Token::Word("bool") => AttrType::Bool,
            Token::Word("i64") => AttrType::I64,
            Token::Word("f64") => AttrType::F64,
            Token::Word("str") => AttrType::Str,
            _ => return self.unexpected("an attribute's type: `bool`, `i64`, `f64` or `str`"),
        };
        self.take();
        let default = if self.eat_mark('=') {
            self.default(name, ty)?
        } else {
            DefaultAst::None
        };
        Ok(AttrAst { name, ty, default })
    }

    fn default(&mut self, attr: Name<'a>, ty: AttrType) -> Result<DefaultAst<'a>, ParseError> {
        let at = self.at();
        let value = match ty {
            AttrType::Bool => match self.peek() {
                Token::Word("true") => AttrValue::Bool(true),
                Token::Word("false") => AttrValue::Bool(false),
                token => return self.bad_default(at, attr, token, "`true` or `false`"),
            },
            AttrType::Str => match self.peek() {
                Token::Quoted(raw) => AttrValue::Str(self.unescape(raw, at)?),
                token => return self.bad_default(at, attr, token, "a text in quotes"),
            },
            AttrType::F64 => return self.float_default(attr),
            AttrType::I64 => return self.integer_default(attr),
        };
        self.take();
        Ok(DefaultAst::Value(value))
    }

    fn bad_default<T>(
        &self,
        at: usize,
        attr: Name<'a>,
        got: Token<'a>,
        wanted: &str,
    ) -> Result<T, ParseError> {
        let what = format!("{} as the default of attribute `{}`", show(got), attr.text);
        self.fail(at, ParseErrorKind::Default, what, wanted)
    }

    fn float_default(&mut self, attr: Name<'a>) -> Result<DefaultAst<'a>, ParseError> {
        let at = self.at();
        let negative = self.eat_mark('-');
        let Token::Number(digits) = self.peek() else {
            return self.bad_default(at, attr, self.peek(), "a number");
        };
        let value = digits.parse::<f64>().ok().filter(|v| v.is_finite());
        let Some(value) = value else {
            let what = format!("number `{digits}`");
            return self.fail(at, ParseErrorKind::Number, what, "a number within f64");
        };
        self.take();
        Ok(DefaultAst::Value(AttrValue::F64(if negative {
            -value
        } else {
            value
        })))
    }

    fn integer_default(&mut self, attr: Name<'a>) -> Result<DefaultAst<'a>, ParseError> {
        let at = self.at();
        // A literal may be negative, which an expression cannot begin with.
        if self.eat_mark('-') {
            let Token::Number(digits) = self.peek() else {
                return self.bad_default(at, attr, self.peek(), "a whole number");
            };
            let Ok(value) = format!("-{digits}").parse::<i64>() else {
                return self.fail(
                    at,
                    ParseErrorKind::Number,
                    format!("number `-{digits}`"),
                    "a whole number within i64",
                );
            };
            self.take();
            return Ok(DefaultAst::Value(AttrValue::I64(value)));
        }
        if !matches!(
            self.peek(),
            Token::Number(_) | Token::Word(_) | Token::Mark('(')
        ) {
            return self.bad_default(
                at,
                attr,
                self.peek(),
                "a whole number or an expression over symbols",
            );
        }
        if matches!(self.peek(), Token::Word("true" | "false")) {
            return self.bad_default(
                at,
                attr,
                self.peek(),
                "a whole number or an expression over symbols",
            );
        }
        match self.expr()? {
            ExprAst::Const(value) => Ok(DefaultAst::Value(AttrValue::I64(value))),
            expr => {
                let mut symbols = 0;
                expr.symbols(&mut |_| symbols += 1);
                if symbols == 0 {
                    let what = format!(
                        "an expression without symbols as the default of attribute `{}`",
                        attr.text
                    );
                    return self.fail(
                        at,
                        ParseErrorKind::Default,
                        what,
                        "its value, or an expression over symbols",
                    );
                }
                Ok(DefaultAst::Expr(expr, at))
            }
        }
    }

    /// Undoes `\"` and `\\`.
    fn unescape(&self, raw: &str, at: usize) -> Result<String, ParseError> {
        let mut out = String::with_capacity(raw.len());
        let mut chars = raw.chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some(c @ ('"' | '\\')) => out.push(c),
                    other => {
                        let what =
                            format!("escape `\\{}`", other.map(String::from).unwrap_or_default());
                        return self.fail(at, ParseErrorKind::Syntax, what, "`\\\"` or `\\\\`");
                    }
                },
                c if c.is_control() => {
                    let what = format!("control character {c:?} in a text");
                    return self.fail(at, ParseErrorKind::Syntax, what, "printable text");
                }
                c => out.push(c),
            }
        }
        Ok(out)
    }

    fn expr(&mut self) -> Result<ExprAst<'a>, ParseError> {
        let mut nodes = 0;
        self.sum(0, &mut nodes)
    }

    fn count_node(&self, nodes: &mut usize) -> Result<(), ParseError> {
        *nodes += 1;
        if *nodes > MAX_EXPR_NODES {
            let what = format!("an expression of more than {MAX_EXPR_NODES} parts");
            return self.fail(self.at(), ParseErrorKind::Limit, what, "a smaller one");
        }
        Ok(())
    }

    fn sum(&mut self, depth: usize, nodes: &mut usize) -> Result<ExprAst<'a>, ParseError> {
        let mut left = self.product(depth, nodes)?;
        loop {
            let operator = match self.peek() {
                Token::Mark('+') => Operator::Add,
                Token::Mark('-') => Operator::Sub,
                _ => return Ok(left),
            };
            self.count_node(nodes)?;
            self.take();
            let right = self.product(depth, nodes)?;
            left = ExprAst::Binary(operator, Box::new(left), Box::new(right));
        }
    }

    fn product(&mut self, depth: usize, nodes: &mut usize) -> Result<ExprAst<'a>, ParseError> {
        let mut left = self.atom(depth, nodes)?;
        loop {
            let operator = match self.peek() {
                Token::Mark('*') => Operator::Mul,
                Token::Mark('/') => Operator::Div,
                _ => return Ok(left),
            };
            self.count_node(nodes)?;
            self.take();
            let right = self.atom(depth, nodes)?;
            left = ExprAst::Binary(operator, Box::new(left), Box::new(right));
        }
    }

    fn atom(&mut self, depth: usize, nodes: &mut usize) -> Result<ExprAst<'a>, ParseError> {
        self.count_node(nodes)?;
        let at = self.at();
        match self.peek() {
            Token::Mark('(') => {
                if depth == MAX_NESTING {
                    let what = format!("more than {MAX_NESTING} parentheses inside one another");
                    return self.fail(at, ParseErrorKind::Limit, what, "a flatter expression");
                }
                self.take();
                let inner = self.sum(depth + 1, nodes)?;
                self.mark(')', "or an operator")?;
                Ok(inner)
            }
            Token::Number(digits) => {
                let Ok(value) = digits.parse::<i64>() else {
                    return self.fail(
                        at,
                        ParseErrorKind::Number,
                        format!("number `{digits}`"),
                        "a whole number within i64",
                    );
                };
                self.take();
                Ok(ExprAst::Const(value))
            }
            Token::Word("ceil") => {
                self.take();
                if depth == MAX_NESTING {
                    let what = format!("more than {MAX_NESTING} parentheses inside one another");
                    return self.fail(at, ParseErrorKind::Limit, what, "a flatter expression");
                }
                self.mark('(', "and a quotient, as `ceil(a / b)`")?;
                let inner = self.sum(depth + 1, nodes)?;
                self.mark(')', "or an operator")?;
                match inner {
                    ExprAst::Binary(Operator::Div, a, b) => Ok(ExprAst::Ceil(a, b)),
                    _ => self.fail(
                        at,
                        ParseErrorKind::Syntax,
                        "`ceil` of something that is no quotient",
                        "`ceil(a / b)`",
                    ),
                }
            }
            Token::Word(_) => Ok(ExprAst::Symbol(self.name("a symbol")?)),
            _ => self.unexpected("a symbol, a whole number or `(`"),
        }
    }
}

/// A token in words.
fn show(token: Token<'_>) -> String {
    match token {
        Token::Word(t) | Token::Number(t) => format!("`{}`", shorten(t)),
        Token::Quoted(t) => format!("the text \"{}\"", shorten(t)),
        Token::Mark(c) => format!("`{c}`"),
        Token::Arrow => "`->`".to_owned(),
        Token::End => "the end of the text".to_owned(),
    }
}

/// Hostile text must not make a message as large as itself.
fn shorten(text: &str) -> String {
    const SHOWN: usize = 48;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
