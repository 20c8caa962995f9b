//! One clause, compiled: a predicate over one fact's number or text.

use crate::load::decl::{Arch, ArchPattern, Cmp};

/// A compiled test of one fact.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Test {
    /// The number lies in this closed range.
    Range(i64, i64),
    /// The number is one of these, sorted.
    In(Box<[i64]>),
    /// The number is none of these, sorted.
    NotIn(Box<[i64]>),
    /// The number is a multiple.
    MultipleOf(i64),
    /// The text is one of these.
    TextIn(Box<[String]>),
    /// The text is none of these.
    TextNotIn(Box<[String]>),
}

/// What came of a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It holds.
    Holds,
    /// It does not.
    Fails,
}

impl Test {
    /// Whether it holds for a number.
    #[inline]
    pub(crate) fn number(&self, number: i64) -> bool {
        match self {
            Test::Range(low, high) => (*low..=*high).contains(&number),
            Test::In(list) => list.binary_search(&number).is_ok(),
            Test::NotIn(list) => list.binary_search(&number).is_err(),
            Test::MultipleOf(n) => number % n == 0,
            Test::TextIn(_) | Test::TextNotIn(_) => false,
        }
    }

    /// Whether it holds for a text.
    pub(crate) fn text(&self, text: &str) -> bool {
        match self {
            Test::TextIn(list) => list.iter().any(|t| t == text),
            Test::TextNotIn(list) => !list.iter().any(|t| t == text),
            _ => false,
        }
    }
}

/// `a cmp b` for a comparison with a single value.
pub(crate) fn compare(cmp: Cmp, a: i64, b: i64) -> bool {
    match cmp {
        Cmp::Is | Cmp::In => a == b,
        Cmp::IsNot | Cmp::NotIn => a != b,
        Cmp::AtLeast => a >= b,
        Cmp::AtMost => a <= b,
        Cmp::Below => a < b,
        Cmp::Above => a > b,
        Cmp::MultipleOf => b != 0 && a % b == 0,
        Cmp::Arch => false,
    }
}

/// Whether an architecture lies in one of the patterns.
pub(crate) fn arch_in(arch: &Arch, patterns: &[&ArchPattern]) -> bool {
    patterns.iter().any(|p| super::admits(p, arch))
}
