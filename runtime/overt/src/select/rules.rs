//! Everything that decides whether one kernel may serve an op on a device: what is settled before any problem, and what is to be
//! tested on each. The fast path and the explanation both read these rules, so they cannot disagree.

use crate::bind::{Arguments, Bound, Constants, Fact, OperandFact};
use crate::guard::{Compiled, Reason, Test, Verdict, admits, compare, compile};
use crate::load::decl::{ClauseDecl, Cmp, Value};
use crate::registry::{Device, Kernel, KernelHome, Op};
use crate::select::Policy;
use crate::select::invariant::Batch;
use overt_kernels::schema::{AttrDefault, AttrType, AttrValue};

/// The rules of one candidate.
pub(crate) struct Rules {
    /// It declares the device's architecture, so that choosing a lower tier instead of it is a fallback.
    pub(crate) declares_arch: bool,
    /// Reasons against it that no problem changes. Not empty: it can never be chosen here.
    pub(crate) fixed: Vec<Reason>,
    /// What is tested on each problem.
    pub(crate) rules: Vec<Rule>,
}

/// One test and what it stands for.
pub(crate) struct Rule {
    pub(crate) check: Check,
    origin: Origin,
}

/// A test of a problem.
#[derive(Clone)]
pub(crate) enum Check {
    One(Fact, Test),
    Two(Fact, Cmp, Fact),
}

enum Origin {
    /// A clause, with values that name facts resolved as far as the device settles them.
    Clause(ClauseDecl),
    /// An attribute that the kernel does not handle.
    Attr {
        name: String,
        default: Value,
    },
    /// An optional operand that the kernel does not handle.
    Operand(String),
    InPlace,
    /// Operands, by bit, in a packed layout that the kernel does not take.
    Packed(Vec<String>),
    Capture,
}

impl Rules {
    /// Works out the rules of a kernel.
    pub(crate) fn of(
        kernel: &Kernel,
        op: &Op,
        device: &Device,
        constants: &Constants,
        policy: &Policy,
    ) -> Rules {
        let mut out = Rules {
            declares_arch: declares(kernel, device),
            fixed: Vec::new(),
            rules: Vec::new(),
        };
        let decl = &kernel.decl;
        if let Some(by) = policy.denied(&decl.id, device.name()) {
            out.fixed.push(Reason::Denied { by });
        }
        if let Some(pinned) = policy.pinned(op.name(), device.name())
            && pinned != decl.id
        {
            out.fixed.push(Reason::NotPinned {
                pinned: pinned.to_owned(),
            });
        }
        if let KernelHome::Failed(why) = &kernel.home {
            out.fixed.push(Reason::NotLoaded {
                provider: kernel.provider.clone(),
                why: why.clone(),
            });
        }
        if let Some(why) = &decl.not_built {
            out.fixed.push(Reason::NotBuilt { why: why.clone() });
        }
        for unusable in &decl.unusable {
            out.fixed.push(Reason::Unusable {
                why: unusable.to_string(),
            });
        }
        if let Some(why) = &kernel.refused {
            out.fixed.push(Reason::Unusable { why: why.clone() });
        }
        out.images(kernel, device);
        for clause in &decl.clauses {
            out.clause(clause, op, constants);
        }
        // What a failed provider's manifest does not say cannot be judged.
        if matches!(kernel.home, KernelHome::Loaded(_)) {
            out.defaults(kernel, op);
        }
        if policy.batch_invariant {
            let checks = out.rules.iter().map(|rule| &rule.check);
            let reasons = Batch::of(op).reasons(kernel, checks);
            out.fixed.extend(reasons);
        }
        out
    }

    fn images(&mut self, kernel: &Kernel, device: &Device) {
        if kernel.images.is_empty() {
            return;
        }
        let arch = &device.info().arch;
        let fits = |image: &&crate::registry::HeldImage| {
            image.pattern.as_ref().is_some_and(|p| admits(p, arch))
        };
        let fitting: Vec<_> = kernel.images.iter().filter(fits).collect();
        if fitting
            .iter()
            .any(|i| i.not_built.is_none() && i.unusable.is_none())
        {
            return;
        }
        if let Some(image) = fitting.first() {
            let why = image
                .not_built
                .as_ref()
                .or(image.unusable.as_ref())
                .cloned()
                .unwrap_or_default();
            self.fixed.push(Reason::NotBuilt {
                why: format!("image {}: {why}", image.id),
            });
        } else {
            let has = kernel
                .images
                .iter()
                .filter(|i| i.not_built.is_none())
                .map(|i| {
                    i.pattern
                        .as_ref()
                        .map_or_else(|| i.id.clone(), ToString::to_string)
                })
                .collect();
            self.fixed.push(Reason::NoImage {
                arch: arch.name.clone(),
                has,
            });
        }
    }

    fn clause(&mut self, clause: &ClauseDecl, op: &Op, constants: &Constants) {
        let mut shown = clause.clone();
        for value in &mut shown.values {
            if let Value::Fact(name) = value
                && let Some(constant) = constants.get(name)
            {
                *value = constant.clone();
            }
        }
        match compile(clause, op.schema(), constants) {
            Compiled::Fixed(Verdict::Holds) => {}
            Compiled::Fixed(Verdict::Fails) => {
                let got = constants.get(&clause.fact).cloned();
                self.fixed.push(clause_reason(&shown, got));
            }
            Compiled::Problem(fact, test) => {
                self.rules.push(Rule {
                    check: Check::One(fact, test),
                    origin: Origin::Clause(shown),
                });
            }
            Compiled::Facts(a, cmp, b) => {
                self.rules.push(Rule {
                    check: Check::Two(a, cmp, b),
                    origin: Origin::Clause(shown),
                });
            }
            Compiled::Senseless(why) => self.fixed.push(Reason::Unusable {
                why: format!("its guard makes no sense: {why}"),
            }),
        }
    }

    /// Default-deny: attributes, optional operands, in-place use and capture that the kernel does not declare.
    fn defaults(&mut self, kernel: &Kernel, op: &Op) {
        let schema = op.schema();
        let handles = |name: &str| kernel.decl.handles.iter().any(|h| h == name);
        for (index, attr) in schema.attrs.iter().enumerate() {
            let AttrDefault::Value(default) = &attr.default else {
                continue;
            };
            if handles(&attr.name) {
                continue;
            }
            let (test, default) = match default {
                AttrValue::Bool(b) => (Test::Range((*b).into(), (*b).into()), Value::Bool(*b)),
                AttrValue::I64(i) => (Test::Range(*i, *i), Value::I64(*i)),
                AttrValue::F64(f) => {
                    let n = crate::bind::ordered(*f);
                    (Test::Range(n, n), Value::F64(*f))
                }
                AttrValue::Str(s) => (Test::TextIn([s.clone()].into()), Value::Str(s.clone())),
            };
            self.rules.push(Rule {
                check: Check::One(Fact::Attr(index, attr.ty), test),
                origin: Origin::Attr {
                    name: attr.name.clone(),
                    default,
                },
            });
        }
        for (index, operand) in schema.operands.iter().enumerate() {
            if operand.optional && !handles(&operand.name) {
                self.rules.push(Rule {
                    check: Check::One(
                        Fact::Operand(index, OperandFact::Present),
                        Test::Range(0, 0),
                    ),
                    origin: Origin::Operand(operand.name.clone()),
                });
            }
        }
        if !kernel.decl.flags.in_place() && schema.operands.iter().any(|o| !o.may_alias.is_empty())
        {
            self.rules.push(Rule {
                check: Check::One(Fact::InPlace, Test::Range(0, 0)),
                origin: Origin::InPlace,
            });
        }
        let plain = schema
            .operands
            .iter()
            .enumerate()
            .fold(0u32, |mask, (index, operand)| {
                let layout = format!("{}.layout", operand.name);
                let taken =
                    handles(&layout) || kernel.decl.clauses.iter().any(|c| c.fact == layout);
                mask | u32::from(!taken) << index
            });
        if plain != 0 {
            let names = schema.operands.iter().map(|o| o.name.clone()).collect();
            self.rules.push(Rule {
                check: Check::One(Fact::Packed(plain), Test::Range(0, 0)),
                origin: Origin::Packed(names),
            });
        }
        if !kernel.decl.flags.capture_safe() {
            self.rules.push(Rule {
                check: Check::One(Fact::Capturing, Test::Range(0, 0)),
                origin: Origin::Capture,
            });
        }
    }
}

impl Rule {
    /// The reason, where the rule does not hold.
    pub(crate) fn failing<A: Arguments>(
        &self,
        args: &A,
        bound: &Bound,
        capturing: bool,
    ) -> Option<Reason> {
        if self.check.holds(args, bound, capturing) {
            return None;
        }
        let value = |fact: &Fact| fact.value(args, bound, capturing);
        let fact = match &self.check {
            Check::One(fact, _) | Check::Two(fact, _, _) => fact,
        };
        Some(match &self.origin {
            Origin::Clause(clause) => {
                let mut clause = clause.clone();
                if let Check::Two(_, _, other) = &self.check {
                    clause.values = vec![value(other).unwrap_or(Value::None)];
                }
                clause_reason(&clause, value(fact))
            }
            Origin::Attr { name, default } => Reason::Attribute {
                attr: name.clone(),
                got: value(fact).unwrap_or(Value::None),
                default: default.clone(),
            },
            Origin::Operand(operand) => Reason::Operand {
                operand: operand.clone(),
            },
            Origin::InPlace => Reason::InPlace,
            Origin::Packed(names) => {
                let bits = fact.number(args, bound, capturing).unwrap_or(0);
                Reason::Packed {
                    operands: names
                        .iter()
                        .enumerate()
                        .filter(|(i, _)| bits & 1 << i != 0)
                        .map(|(_, n)| n.clone())
                        .collect(),
                }
            }
            Origin::Capture => Reason::NotCaptureSafe,
        })
    }
}

impl Check {
    /// Whether it holds. A property of an absent operand has no value, and a clause on it holds: the kernel cannot read what is not
    /// there.
    pub(crate) fn holds<A: Arguments>(&self, args: &A, bound: &Bound, capturing: bool) -> bool {
        match self {
            Check::One(fact, test) => {
                if let Fact::Attr(index, AttrType::Str) = fact {
                    // SAFETY: bound text attributes were made from text that outlives the binding.
                    let text = unsafe { crate::bind::str_of(&bound.attrs()[*index]) };
                    return test.text(text);
                }
                fact.number(args, bound, capturing)
                    .is_none_or(|n| test.number(n))
            }
            Check::Two(a, cmp, b) => match (
                a.number(args, bound, capturing),
                b.number(args, bound, capturing),
            ) {
                (Some(a), Some(b)) => compare(*cmp, a, b),
                _ => true,
            },
        }
    }
}

fn clause_reason(clause: &ClauseDecl, got: Option<Value>) -> Reason {
    Reason::Clause {
        fact: clause.fact.clone(),
        cmp: clause.cmp,
        wanted: clause.values.clone(),
        got,
        source: clause.source.clone(),
    }
}

/// Whether a kernel declares a device's architecture: by its clauses on `device.arch`, else by its images, else everywhere that
/// its provider's devices are.
fn declares(kernel: &Kernel, device: &Device) -> bool {
    let arch = &device.info().arch;
    let mut by_clause = kernel
        .decl
        .clauses
        .iter()
        .filter(|c| c.cmp == Cmp::Arch && c.fact == "device.arch")
        .peekable();
    if by_clause.peek().is_some() {
        return by_clause.all(|clause| {
            clause
                .values
                .iter()
                .any(|v| matches!(v, Value::Pattern(p) if admits(p, arch)))
        });
    }
    let patterns: Vec<_> = kernel
        .images
        .iter()
        .filter_map(|i| i.pattern.as_ref())
        .collect();
    if !patterns.is_empty() {
        return patterns.iter().any(|p| admits(p, arch));
    }
    // A kernel of a provider that did not load, of which nothing is known, is not taken to be for this device.
    matches!(kernel.home, KernelHome::Loaded(_))
}
