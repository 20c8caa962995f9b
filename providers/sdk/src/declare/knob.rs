//! Knobs. Only the host reads their origins; a kernel gets the value with the call.

use crate::arch::ArchPattern;
use crate::value::Value;
use std::borrow::Cow;
use std::ops::RangeInclusive;

/// The declaration of a knob.
#[derive(Clone, Debug)]
pub struct KnobDecl {
    pub(crate) id: Cow<'static, str>,
    pub(crate) doc: Cow<'static, str>,
    pub(crate) default: Value,
    pub(crate) defaults: Vec<(ArchPattern, Value, Cow<'static, str>)>,
    pub(crate) choices: Vec<Cow<'static, str>>,
    pub(crate) former: Vec<(Cow<'static, str>, bool)>,
    pub(crate) range: (i64, i64),
    pub(crate) at_create: bool,
}

impl KnobDecl {
    /// A knob whose type is that of its default: a truth value, an integer or text.
    pub fn new(id: impl Into<Cow<'static, str>>, default: impl Into<Value>) -> Self {
        Self {
            id: id.into(),
            doc: "".into(),
            default: default.into(),
            defaults: Vec::new(),
            choices: Vec::new(),
            former: Vec::new(),
            range: (0, 0),
            at_create: false,
        }
    }

    /// One line of documentation.
    #[must_use]
    pub fn doc(mut self, words: impl Into<Cow<'static, str>>) -> Self {
        self.doc = words.into();
        self
    }

    /// The value is fixed when the instance is made and reaches [`crate::Provider::create`] as an option.
    #[must_use]
    pub fn at_create(mut self, at_create: bool) -> Self {
        self.at_create = at_create;
        self
    }

    /// Allowed integers.
    #[must_use]
    pub fn range(mut self, range: RangeInclusive<i64>) -> Self {
        self.range = range.into_inner();
        self
    }

    /// Allowed texts.
    #[must_use]
    pub fn choices<S: Into<Cow<'static, str>>>(
        mut self,
        choices: impl IntoIterator<Item = S>,
    ) -> Self {
        self.choices = choices.into_iter().map(Into::into).collect();
        self
    }

    /// Defaults by architecture, with the source of each number; the first that fits holds.
    #[must_use]
    pub fn defaults(
        mut self,
        defaults: impl IntoIterator<Item = (ArchPattern, Value, &'static str)>,
    ) -> Self {
        self.defaults = defaults
            .into_iter()
            .map(|(p, v, s)| (p, v, s.into()))
            .collect();
        self
    }

    /// Former names, each with whether it meant the opposite.
    #[must_use]
    pub fn former(mut self, names: impl IntoIterator<Item = (&'static str, bool)>) -> Self {
        self.former = names.into_iter().map(|(n, i)| (n.into(), i)).collect();
        self
    }
}
