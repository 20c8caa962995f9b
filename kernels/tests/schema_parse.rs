//! Schema text: what is taken, what is refused and where, and that hostile text does no harm.

use overt_kernels::dtype::{BF16, F16, F32, I32};
use overt_kernels::ops;
use overt_kernels::schema::{
    AttrDefault, AttrValue, Dtypes, Expr, ParseErrorKind as Kind, Role, canonical, digest, parse,
};
use proptest::prelude::*;

#[test]
fn the_attention_schema_means_what_it_says() {
    let schema = parse(ops::paged_attention::SCHEMA).unwrap();
    assert_eq!(schema.name, "paged_attention.1");
    assert_eq!(
        schema.symbols,
        ["T", "Hq", "D", "N", "P", "Hkv", "Dv", "R", "M", "gqa_ratio"]
    );
    assert_eq!(schema.input_count, 7);
    assert_eq!(schema.operands.len(), 8);
    let start = &schema.operands[schema.operand("query_start").unwrap()];
    assert_eq!(
        start.dims,
        [Expr::Add(
            Box::new(Expr::Symbol(7)),
            Box::new(Expr::Const(1))
        )]
    );
    assert_eq!(
        start.dtypes,
        Dtypes::Of {
            class: "i32".into(),
            dtypes: vec![I32]
        }
    );
    let query = &schema.operands[0];
    assert_eq!(
        query.dtypes,
        Dtypes::Of {
            class: "float".into(),
            dtypes: vec![F32, F16, BF16]
        }
    );
    assert!(schema.operands[6].optional && !query.optional);
    assert_eq!(schema.operands[7].role, Role::Out);
    assert_eq!(schema.outputs(), [7]);
    assert_eq!(schema.attrs[0].default, AttrDefault::Required);
    assert_eq!(
        schema.attrs[1].default,
        AttrDefault::Value(AttrValue::Bool(true))
    );
    assert_eq!(
        schema.attrs[3].default,
        AttrDefault::Value(AttrValue::F64(0.0))
    );
    assert_eq!(schema.attrs[4].default, AttrDefault::Bound(Expr::Symbol(0)));
    let bound = Expr::Mul(Box::new(Expr::Symbol(8)), Box::new(Expr::Symbol(4)));
    assert_eq!(schema.attrs[5].default, AttrDefault::Bound(bound));
    assert_eq!(schema.derived.len(), 1);
    assert!(schema.derived[0].exact && schema.derived[0].symbol == 9);
}

#[test]
fn in_outs_are_written_and_derived_symbols_are_dimensions() {
    let cache = parse(ops::reshape_and_cache::SCHEMA).unwrap();
    assert_eq!(cache.outputs(), [3, 4]);
    assert_eq!(cache.input_count, 5);
    let silu = parse(ops::silu_and_mul::SCHEMA).unwrap();
    assert_eq!(silu.symbols, ["T", "D2", "D"]);
    assert_eq!(silu.operands[1].dims, [Expr::Symbol(0), Expr::Symbol(2)]);
    assert_eq!(silu.operands[1].dtypes, Dtypes::Like(0));
    let add = parse(ops::add::SCHEMA).unwrap();
    assert_eq!(add.operands[2].may_alias, [0, 1]);
}

#[test]
fn unusual_texts_that_are_schemas() {
    for text in [
        "x.1(a: f32[]) -> b: f32[]",
        "mine:x.12(a: {q8_0, q4_K, fp8_e4m3fn}[N]) -> b: like a[N]",
        "x . 1 ( a : f32 [ N ] ) -> b : f32 [ N ]",
        "x.1(a: f32[2*N+(M-1)/3, N, M]) -> b: f32[N]",
        "x.1(a: f32[N]) -> b: f32[N]; s: str = \"a  \\\"b\\\\ \", f: f64 = -1.5e-3, i: i64 = -9223372036854775808",
        "x.1(a: f32[N+1], b: f32[N]) -> c: f32[N]",
        "x.1(a: f32[N], s?: f32[ceil(N / rows), ceil((N + 1) / (2 * rows)) + more]) -> c: f32[N]; more: i64, rows: i64 = 1",
        "x.1(a: f32[N,4], z?: f32[N]) -> b: f32[K]; where K = N * 2, L = K / 2 exact",
        "x.1(inout a: int[A,B,C,D,E,F,G,H])",
        "x.1(a: f32[N]) -> b: f32[N], c: like b[N] may_alias(a)",
    ] {
        let schema = parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(parse(&schema.canonical).unwrap(), schema, "{text}");
        let shown = parse(&schema.to_string()).unwrap_or_else(|e| panic!("{schema}: {e}"));
        assert_eq!(
            (
                &shown.operands,
                &shown.attrs,
                &shown.derived,
                &shown.attr_symbols
            ),
            (
                &schema.operands,
                &schema.attrs,
                &schema.derived,
                &schema.attr_symbols
            )
        );
    }
}

/// Text, sort of fault, the byte offset as a marker `@` in the text (taken out first), and a word the message holds.
const REFUSED: &[(&str, Kind, &str)] = &[
    ("@", Kind::Syntax, "end of the text"),
    ("x@(a: f32[N]) -> b: f32[N]", Kind::Syntax, "version"),
    ("x.@1.5(a: f32[N]) -> b: f32[N]", Kind::Syntax, "version"),
    ("x.@0(a: f32[N]) -> b: f32[N]", Kind::Number, "version `0`"),
    ("x.@01(a: f32[N]) -> b: f32[N]", Kind::Number, "`01`"),
    (
        "x.@99999999999(a: f32[N]) -> b: f32[N]",
        Kind::Number,
        "99999999999",
    ),
    ("x.1(@) -> b: f32[N]", Kind::Syntax, "operand"),
    (
        "x.1(a: @real[N]) -> b: f32[N]",
        Kind::UnknownDtype,
        "`real`",
    ),
    (
        "x.1(a: {f32, @float}[N]) -> b: f32[N]",
        Kind::UnknownDtype,
        "`float`",
    ),
    (
        "x.1(a: {f32, @f32}[N]) -> b: f32[N]",
        Kind::Duplicate,
        "`f32`",
    ),
    ("x.1(a: {@}[N]) -> b: f32[N]", Kind::Syntax, "element type"),
    (
        "x.1(a: f32[N], @a: f32[N]) -> b: f32[N]",
        Kind::Duplicate,
        "`a`",
    ),
    ("x.1(a: f32[N]) -> @a: f32[N]", Kind::Duplicate, "`a`"),
    (
        "x.1(a: f32[N]) -> b: f32[N]; s: i64 = 0, @s: f64",
        Kind::Duplicate,
        "`s`",
    ),
    (
        "x.1(a: f32[N]) -> b: f32[N]; @a: i64 = 0",
        Kind::Duplicate,
        "`a`",
    ),
    (
        "x.1(a: f32[N]) -> b: f32[N]; where K = N, @K = 2",
        Kind::Duplicate,
        "`K`",
    ),
    (
        "x.1(a: f32[N]) -> b: f32[N]; where @a = N",
        Kind::Duplicate,
        "`a`",
    ),
    (
        "x.1(a: f32[@a]) -> b: f32[1]",
        Kind::Duplicate,
        "symbol `a`",
    ),
    (
        "x.1(a: f32[@s]) -> b: f32[1]; s: i64",
        Kind::Duplicate,
        "symbol `s`",
    ),
    (
        "x.1(a: like @b[N], b: f32[N]) -> c: f32[N]",
        Kind::UnknownOperand,
        "does not stand earlier",
    ),
    (
        "x.1(a: like @a[N]) -> c: f32[N]",
        Kind::UnknownOperand,
        "`a`",
    ),
    (
        "x.1(a: like @z[N]) -> c: f32[N]",
        Kind::UnknownOperand,
        "does not exist",
    ),
    (
        "x.1(a: f32[N], o?: f32[N]) -> c: like @o[N]",
        Kind::OptionalBinding,
        "`like o`",
    ),
    ("x.1(a: f32[N]) -> @c?: f32[N]", Kind::OptionalOutput, "`c`"),
    (
        "x.1(a: f32[N], inout @c?: f32[N])",
        Kind::OptionalOutput,
        "`c`",
    ),
    ("x.1(a: f32[N]) -> inout @c: f32[N]", Kind::Syntax, "behind"),
    ("x.1(a: f32[N])@", Kind::NoOutput, "written"),
    ("x.1(a: f32[@K+1]) -> c: f32[N]", Kind::UnboundSymbol, "`K`"),
    // Attributes that give an extent are whole numbers that follow from no extent, and never a dimension by themselves.
    (
        "x.1(a: f32[N], s: f32[@r]) -> c: f32[N]; r: i64 = 1",
        Kind::Duplicate,
        "`r`",
    ),
    (
        "x.1(a: f32[N], s: f32[@r+1]) -> c: f32[N]; r: f64 = 1",
        Kind::UnboundSymbol,
        "`r`",
    ),
    (
        "x.1(a: f32[N], s: f32[@r+1]) -> c: f32[N]; r: i64 = 2*N",
        Kind::UnboundSymbol,
        "`r`",
    ),
    (
        "x.1(a: f32[N], s: f32[r+1]) -> c: f32[N]; r: i64 = 1; where K = @r * 2",
        Kind::UnboundSymbol,
        "`r`",
    ),
    (
        "x.1(a: f32[N], s: f32[r+1]) -> c: f32[N]; r: i64 = 1, t: i64 = @r * 2",
        Kind::UnboundSymbol,
        "`r`",
    ),
    ("x.1(a: f32[N,@ceil(N)]) -> c: f32[N]", Kind::Syntax, "ceil"),
    (
        "x.1(a: f32[N,@ceil(N / 2 + 1)]) -> c: f32[N]",
        Kind::Syntax,
        "ceil",
    ),
    (
        "x.1(a: f32[N,ceil@ / 2]) -> c: f32[N]",
        Kind::Syntax,
        "quotient",
    ),
    ("x.1(@ceil: f32[N]) -> c: f32[N]", Kind::Reserved, "`ceil`"),
    ("x.1(a: f32[N]) -> c: f32[2*@K]", Kind::UnboundSymbol, "`K`"),
    (
        "x.1(a: f32[N]) -> c: f32[N]; where K = @L, L = N",
        Kind::UnboundSymbol,
        "`L`",
    ),
    (
        "x.1(a: f32[N]) -> c: f32[N]; where K = N / @K",
        Kind::UnboundSymbol,
        "`K`",
    ),
    (
        "x.1(a: f32[N]) -> c: f32[N]; m: i64 = @Q",
        Kind::UnboundSymbol,
        "`Q`",
    ),
    (
        "x.1(a: f32[N], o?: f32[@G]) -> c: f32[N]",
        Kind::OptionalBinding,
        "`G`",
    ),
    (
        "x.1(a: f32[N]) -> c: f32[N]; b: bool = @1",
        Kind::Default,
        "`b`",
    ),
    (
        "x.1(a: f32[N]) -> c: f32[N]; b: bool = @N",
        Kind::Default,
        "`b`",
    ),
    (
        "x.1(a: f32[N]) -> c: f32[N]; i: i64 = @true",
        Kind::Default,
        "`i`",
    ),
    (
        "x.1(a: f32[N]) -> c: f32[N]; i: i64 = @1.5",
        Kind::Number,
        "`1.5`",
    ),
    (
        "x.1(a: f32[N]) -> c: f32[N]; i: i64 = @9223372036854775808",
        Kind::Number,
        "9223372036854775808",
    ),
    (
        "x.1(a: f32[N]) -> c: f32[N]; i: i64 = @2*3",
        Kind::Default,
        "without symbols",
    ),
    (
        "x.1(a: f32[N]) -> c: f32[N]; i: i64 = @\"3\"",
        Kind::Default,
        "`i`",
    ),
    (
        "x.1(a: f32[N]) -> c: f32[N]; f: f64 = @N",
        Kind::Default,
        "`f`",
    ),
    (
        "x.1(a: f32[N]) -> c: f32[N]; f: f64 = @1e999",
        Kind::Number,
        "`1e999`",
    ),
    (
        "x.1(a: f32[N]) -> c: f32[N]; s: str = @3",
        Kind::Default,
        "`s`",
    ),
    (
        "x.1(a: f32[N]) -> c: f32[N]; s: str = @\"a\\n\"",
        Kind::Syntax,
        "escape",
    ),
    (
        "x.1(a: f32[N]) -> c: f32[N]; s: str = @\"a",
        Kind::Syntax,
        "never ends",
    ),
    (
        "x.1(a: f32[N]) -> c: f32[N]; s: @u8 = 3",
        Kind::Syntax,
        "attribute's type",
    ),
    (
        "x.1(a: f32[A,B,C,D,E,F,G,H,@I]) -> c: f32[A]",
        Kind::Rank,
        "`a`",
    ),
    (
        "x.1(@where: f32[N]) -> c: f32[N]",
        Kind::Reserved,
        "`where`",
    ),
    (
        "x.1(a: f32[@exact]) -> c: f32[1]",
        Kind::Reserved,
        "`exact`",
    ),
    (
        "x.1(a: f32[N] may_alias(@a)) -> c: f32[N]",
        Kind::Alias,
        "no output",
    ),
    (
        "x.1(a: f32[N]) -> c: f32[N] may_alias(@z)",
        Kind::UnknownOperand,
        "`z`",
    ),
    (
        "x.1(a: f32[N], b: f32[N,2]) -> c: f32[N] may_alias(@b)",
        Kind::Alias,
        "`b`",
    ),
    (
        "x.1(a: f32[N]) -> c: f32[N] may_alias(a, @a)",
        Kind::Duplicate,
        "`a`",
    ),
    ("x.1(a: f32[N]) -> c: f32[N]@ d", Kind::Syntax, "`d`"),
    (
        "x.1(a: f32[N]) -> c: f32[N]; f: f64;@",
        Kind::Syntax,
        "where",
    ),
    ("x.1(a: f32[N]) -> c: f32[N];@", Kind::Syntax, "attribute"),
    ("x.1(a: f32[N,@]) -> c: f32[N]", Kind::Syntax, "symbol"),
    ("x.1(a: f32[N @N]) -> c: f32[N]", Kind::Syntax, "dimension"),
    ("x.1(a: f32[@-1]) -> c: f32[N]", Kind::Syntax, "`-`"),
    (
        "x.1(a: f32[@9999999999999999999]) -> c: f32[N]",
        Kind::Number,
        "9999999999999999999",
    ),
    ("x.1(a: f32[N]) -> c: f32[N] @é", Kind::Syntax, "'é'"),
];

#[test]
fn a_refusal_names_the_fault_and_its_place() {
    for (marked, kind, word) in REFUSED {
        let offset = marked.find('@').unwrap();
        // Where the parser stands behind white space, the fault is the next token.
        let text = marked.replacen('@', "", 1);
        let offset = offset + text[offset..].len() - text[offset..].trim_start().len();
        let error = match parse(&text) {
            Ok(schema) => panic!("{text} was taken: {schema:?}"),
            Err(error) => error,
        };
        assert_eq!(
            (error.kind, error.offset),
            (*kind, offset),
            "{text}: {error}"
        );
        assert!(error.to_string().contains(word), "{text}: {error}");
        assert!(!error.wanted.is_empty());
        assert_eq!(
            (error.line, error.column),
            (1, text[..offset].chars().count() + 1),
            "{text}"
        );
    }
}

#[test]
fn the_place_counts_lines_and_characters() {
    let error = parse("x.1(a: f32[N])\n  -> b: nope[N]").unwrap_err();
    assert_eq!((error.line, error.column), (2, 9));
    assert!(error.to_string().contains("line 2 column 9"), "{error}");
}

#[test]
fn hostile_sizes_are_refused_and_cost_nothing() {
    let cases = [
        format!(
            "x.1(a: f32[{}N{}]) -> b: f32[N]",
            "(".repeat(20_000),
            ")".repeat(20_000)
        ),
        format!("x.1(a: f32[N{}]) -> b: f32[N]", "+1".repeat(20_000)),
        format!("x.1(a: f32[N{}]) -> b: f32[N]", "*N".repeat(20_000)),
        format!(
            "x.1({}) -> b: f32[N]",
            (0..5000)
                .map(|i| format!("a{i}:f32[N]"))
                .collect::<Vec<_>>()
                .join(",")
        ),
        format!("{}.1(a: f32[N]) -> b: f32[N]", "x".repeat(60_000)),
        format!(
            "x.1(a: f32[N]) -> b: f32[N]; {}",
            (0..3000)
                .map(|i| format!("a{i}:f64"))
                .collect::<Vec<_>>()
                .join(",")
        ),
        format!(
            "x.1(a: f32[N]) -> b: f32[N]; where {}",
            (0..3000)
                .map(|i| format!("a{i}=N"))
                .collect::<Vec<_>>()
                .join(",")
        ),
        " ".repeat(1 << 20),
    ];
    for text in cases {
        let error = parse(&text).unwrap_err();
        assert_eq!(error.kind, Kind::Limit, "{error}");
        assert!(
            error.to_string().len() < 400,
            "{} bytes of message",
            error.to_string().len()
        );
    }
}

const DIGEST: u64 = digest(
    "rms_norm.1(x:float[T,D],weight:float[D])->out:like x[T,D]may_alias(x);eps:f64,weight_offset:f64=0",
);

#[test]
fn the_digest_is_over_the_canonical_text_in_any_formatting_and_in_constants() {
    const AS_WRITTEN: u64 = digest(ops::rms_norm::SCHEMA);
    assert_eq!(AS_WRITTEN, DIGEST);
    let schema = parse(ops::rms_norm::SCHEMA).unwrap();
    assert_eq!(schema.digest, DIGEST);
    assert_eq!(
        schema.canonical,
        "rms_norm.1(x:float[T,D],weight:float[D])->out:like x[T,D]may_alias(x);eps:f64,weight_offset:f64=0"
    );
    // Published check values of 64-bit FNV-1a.
    assert_eq!(digest(""), 0xcbf2_9ce4_8422_2325);
    assert_eq!(digest("a"), 0xaf63_dc4c_8601_ec8c);
    assert_eq!(digest("foobar"), 0x8594_4171_f739_67e8);
}

#[test]
fn white_space_counts_between_words_and_in_quotes() {
    assert_eq!(canonical(" a \n\t b ( c ) "), "a b(c)");
    assert_ne!(digest("inout k"), digest("inoutk"));
    assert_eq!(canonical("s = \"a  b\" , t"), "s=\"a  b\",t");
    assert_eq!(canonical("s = \"a\\\"  b\"  , t"), "s=\"a\\\"  b\",t");
    let distinct: std::collections::HashSet<u64> =
        ops::ALL.iter().map(|op| digest(op.schema)).collect();
    assert_eq!(distinct.len(), ops::ALL.len());
}

/// Every gap between tokens of a schema filled with other white space.
fn spaced(text: &str, pick: &[u8]) -> String {
    let mut out = String::new();
    for (at, c) in canonical(text).chars().enumerate() {
        let gap = ["", " ", "\n", "\t\r\n ", "   "][pick[at % pick.len()] as usize % 5];
        // Only beside marks may white space come in without changing the text's meaning.
        match c {
            '(' | ')' | '[' | ']' | ',' | ':' | ';' | '=' | '*' | '+' | '/' => {
                out.push_str(gap);
                out.push(c);
                out.push_str(gap);
            }
            ' ' => out.push_str(if gap.is_empty() { " " } else { gap }),
            c => out.push(c),
        }
    }
    out
}

fn token() -> impl Strategy<Value = String> {
    let words = [
        "x",
        "1",
        ".",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        ";",
        "=",
        "?",
        "->",
        "+",
        "-",
        "*",
        "/",
        "f32",
        "float",
        "kv",
        "like",
        "inout",
        "where",
        "exact",
        "may_alias",
        "ceil",
        "true",
        "i64",
        "f64",
        "bool",
        "str",
        "\"s\"",
        "N",
        "M",
        "a",
        "b",
        " ",
        "99999999999999999999",
        "1.5",
        "1e9",
        "é",
        "\"",
        "\\",
        "\0",
    ];
    prop::sample::select(words.to_vec()).prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_panics(text in "\\PC{0,80}") {
        let _ = parse(&text);
        prop_assert_eq!(canonical(&canonical(&text)), canonical(&text));
        prop_assert_eq!(digest(&text), digest(&canonical(&text)));
    }

    #[test]
    fn no_sequence_of_tokens_panics(tokens in prop::collection::vec(token(), 0..60)) {
        let text = tokens.concat();
        if let Ok(schema) = parse(&text) {
            prop_assert_eq!(&parse(&schema.canonical).unwrap(), &schema);
        }
    }

    #[test]
    fn no_damaged_schema_panics(op in 0..ops::ALL.len(), cuts in prop::collection::vec((any::<prop::sample::Index>(), token()), 1..4)) {
        let mut text = ops::ALL[op].schema.to_owned();
        for (at, with) in cuts {
            let at = at.index(text.len());
            if text.is_char_boundary(at) && text.is_char_boundary(at + 1) {
                text.replace_range(at..at + 1, &with);
            }
        }
        if let Ok(schema) = parse(&text) {
            prop_assert_eq!(&parse(&schema.canonical).unwrap(), &schema);
            let shown = parse(&schema.to_string()).unwrap();
            prop_assert_eq!(&shown.operands, &schema.operands);
            prop_assert_eq!(&shown.attrs, &schema.attrs);
            prop_assert_eq!(&shown.derived, &schema.derived);
        }
    }

    #[test]
    fn formatting_changes_nothing(op in 0..ops::ALL.len(), pick in prop::collection::vec(any::<u8>(), 1..40)) {
        let text = spaced(ops::ALL[op].schema, &pick);
        let schema = parse(&text).unwrap();
        prop_assert_eq!(&schema, &parse(ops::ALL[op].schema).unwrap());
        prop_assert_eq!(digest(&text), schema.digest);
    }
}
