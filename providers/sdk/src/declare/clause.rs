//! Clauses: `fact("K").at_least(8).source("one vector")`.

use crate::arch::ArchPattern;
use crate::value::Value;
use overt_abi::{
    OVERT_CMP_ABOVE, OVERT_CMP_ARCH, OVERT_CMP_AT_LEAST, OVERT_CMP_AT_MOST, OVERT_CMP_BELOW,
    OVERT_CMP_IN, OVERT_CMP_IS, OVERT_CMP_IS_NOT, OVERT_CMP_MULTIPLE_OF, OVERT_CMP_NOT_IN,
};
use std::borrow::Cow;

/// One test of one fact.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    pub(crate) fact: Cow<'static, str>,
    pub(crate) cmp: u32,
    pub(crate) values: Vec<Value>,
    pub(crate) source: Cow<'static, str>,
}

impl Clause {
    /// Says where the number comes from: a limit of the hardware, a measurement.
    #[must_use]
    pub fn source(mut self, words: impl Into<Cow<'static, str>>) -> Self {
        self.source = words.into();
        self
    }

    /// A clause with a comparison given by its number in the ABI, which need not be one that this SDK knows.
    pub fn raw(fact: impl Into<Cow<'static, str>>, cmp: u32, values: Vec<Value>) -> Self {
        Self {
            fact: fact.into(),
            cmp,
            values,
            source: "".into(),
        }
    }
}

/// A fact on its way to becoming a clause.
pub struct Fact {
    name: Cow<'static, str>,
}

/// Names a fact: `device.arch`, `query.dtype`, `D`, `attr.softcap`, `knob.attn.decode.kv_splits`.
pub fn fact(name: impl Into<Cow<'static, str>>) -> Fact {
    Fact { name: name.into() }
}

impl Fact {
    fn one(self, cmp: u32, value: impl Into<Value>) -> Clause {
        Clause::raw(self.name, cmp, vec![value.into()])
    }

    fn many<V: Into<Value>>(self, cmp: u32, values: impl IntoIterator<Item = V>) -> Clause {
        Clause::raw(self.name, cmp, values.into_iter().map(Into::into).collect())
    }

    /// Equals the value.
    pub fn is(self, value: impl Into<Value>) -> Clause {
        self.one(OVERT_CMP_IS, value)
    }

    /// Differs from the value.
    pub fn is_not(self, value: impl Into<Value>) -> Clause {
        self.one(OVERT_CMP_IS_NOT, value)
    }

    /// Is one of the values.
    pub fn is_in<V: Into<Value>>(self, values: impl IntoIterator<Item = V>) -> Clause {
        self.many(OVERT_CMP_IN, values)
    }

    /// Is none of the values.
    pub fn not_in<V: Into<Value>>(self, values: impl IntoIterator<Item = V>) -> Clause {
        self.many(OVERT_CMP_NOT_IN, values)
    }

    /// Is at least the value.
    pub fn at_least(self, value: impl Into<Value>) -> Clause {
        self.one(OVERT_CMP_AT_LEAST, value)
    }

    /// Is at most the value.
    pub fn at_most(self, value: impl Into<Value>) -> Clause {
        self.one(OVERT_CMP_AT_MOST, value)
    }

    /// Is below the value.
    pub fn below(self, value: impl Into<Value>) -> Clause {
        self.one(OVERT_CMP_BELOW, value)
    }

    /// Is above the value.
    pub fn above(self, value: impl Into<Value>) -> Clause {
        self.one(OVERT_CMP_ABOVE, value)
    }

    /// Is an integer multiple of the value.
    pub fn multiple_of(self, value: impl Into<Value>) -> Clause {
        self.one(OVERT_CMP_MULTIPLE_OF, value)
    }

    /// An architecture that lies in one of the patterns.
    pub fn fits(self, patterns: impl IntoIterator<Item = ArchPattern>) -> Clause {
        self.many(OVERT_CMP_ARCH, patterns)
    }
}
