//! The fast path: for one op on one device, the candidates in order and the facts that tell them apart.

use super::rules::{Check, Rules};
use super::{KnobValues, Ready, explain};
use crate::bind::{Arguments, Bound, Fact, OperandFact, Varying};
use crate::error::Error;
use crate::guard::Test;
use crate::registry::{Device, Kernel, Op, Snapshot};
use overt_kernels::schema::AttrType;
use parking_lot::Mutex;
use std::mem::MaybeUninit;
use std::sync::Arc;

/// Most facts that a cached selection of one op may depend on. With more, every dispatch selects anew.
pub(crate) const MAX_FACTS: usize = 48;

/// The class of each fact: which kernel is chosen depends on these words and nothing else.
pub(crate) type KeyWords = [MaybeUninit<u64>; MAX_FACTS];

/// Room for a key.
#[inline]
pub(crate) fn key_room() -> KeyWords {
    [const { MaybeUninit::uninit() }; MAX_FACTS]
}

/// One op on one device, for one generation of the registry. Immutable but for the kernels that it has made ready.
pub(crate) struct Table {
    pub(crate) generation: u64,
    pub(crate) op: Op,
    pub(crate) device: Device,
    classifiers: Box<[Classifier]>,
    cacheable: bool,
    /// Numbers of the classifiers whose facts views alone do not settle.
    varying: Box<[usize]>,
    candidates: Box<[Candidate]>,
}

struct Candidate {
    kernel: Arc<Kernel>,
    /// For its own callback.
    knobs: KnobValues,
    checks: Box<[Check]>,
    /// Choosing it is a fallback: a kernel of a better tier declares this architecture.
    fallback: bool,
    /// Such a better kernel was not loaded or not built.
    missing: bool,
    ready: Mutex<Option<Arc<Ready>>>,
}

/// Sorts one fact's values into classes within which no test of any candidate changes its answer.
struct Classifier {
    fact: Fact,
    /// Starts of intervals, ascending.
    breaks: Vec<i64>,
    moduli: Vec<i64>,
    texts: Vec<String>,
    /// Every value is a class of its own.
    exact: bool,
}

const ABSENT: u64 = u64::MAX;

impl Table {
    /// Compiles the candidates of an op on a device.
    pub(crate) fn new(snapshot: &Snapshot, op: &Op, device: &Device) -> Table {
        let constants = snapshot.constants(device);
        let mut kernels = snapshot.candidates(op, device);
        kernels.sort_by(|a, b| Snapshot::order(a, b));
        let rules: Vec<(Arc<Kernel>, Rules)> = kernels
            .into_iter()
            .map(|kernel| {
                let rules = Rules::of(&kernel, op, device, &constants, &snapshot.policy);
                (kernel, rules)
            })
            .collect();
        let declared = rules.iter().filter(|(_, r)| r.declares_arch);
        let best_declared = declared.clone().map(|(k, _)| k.decl.tier).min();
        let best_missing = declared
            .filter(|(_, r)| is_missing(r))
            .map(|(k, _)| k.decl.tier)
            .min();
        let mut classifiers: Vec<Classifier> = Vec::new();
        let mut candidates = Vec::new();
        let mut cacheable = true;
        for (kernel, own) in rules.iter().filter(|(_, r)| r.fixed.is_empty()) {
            for rule in &own.rules {
                note(&mut classifiers, &rule.check);
            }
            if let Some(guard) = &kernel.decl.guard {
                for name in &guard.reads {
                    match Fact::find(name, op.schema(), &constants) {
                        Ok(fact) if keyable(&fact) => exact(&mut classifiers, &fact),
                        _ => cacheable = false,
                    }
                }
            }
            candidates.push(Candidate {
                kernel: kernel.clone(),
                knobs: KnobValues::of(snapshot, kernel, device),
                checks: own.rules.iter().map(|r| r.check.clone()).collect(),
                fallback: best_declared.is_some_and(|best| best < kernel.decl.tier),
                missing: best_missing.is_some_and(|best| best < kernel.decl.tier),
                ready: Mutex::new(None),
            });
        }
        for classifier in &mut classifiers {
            classifier.finish();
        }
        Table {
            generation: snapshot.generation,
            op: op.clone(),
            device: device.clone(),
            cacheable: cacheable && classifiers.len() <= MAX_FACTS,
            varying: (0..classifiers.len())
                .filter(|i| classifiers[*i].fact.varies())
                .collect(),
            classifiers: classifiers.into(),
            candidates: candidates.into(),
        }
    }

    /// Number of words in a key; `None`: selections of this op cannot be cached (too many facts, or a callback that reads text).
    #[inline]
    pub(crate) fn key_len(&self) -> Option<usize> {
        self.cacheable.then_some(self.classifiers.len())
    }

    /// The key of a bound problem, in the room given. Only where [`Table::key_len`] is some.
    #[inline]
    pub(crate) fn key<'k, A: Arguments>(
        &self,
        args: &A,
        bound: &Bound,
        capturing: bool,
        room: &'k mut KeyWords,
    ) -> &'k [u64] {
        let words = &mut room[..self.classifiers.len()];
        for (word, classifier) in words.iter_mut().zip(&self.classifiers) {
            word.write(classifier.class(args, bound, capturing));
        }
        // SAFETY: the loop has written each of these words.
        unsafe { &*(std::ptr::from_ref(words) as *const [u64]) }
    }

    /// The part of the key that views do not settle, in the room given. Only where [`Table::key_len`] is some.
    #[inline]
    pub(crate) fn varying_key<'k>(
        &self,
        varying: &Varying<'_>,
        room: &'k mut KeyWords,
    ) -> &'k [u64] {
        let words = &mut room[..self.varying.len()];
        for (word, index) in words.iter_mut().zip(&self.varying) {
            word.write(self.classifiers[*index].class_of_varying(varying));
        }
        // SAFETY: the loop has written each of these words.
        unsafe { &*(std::ptr::from_ref(words) as *const [u64]) }
    }

    /// Selects without a cache and makes the kernel ready.
    pub(crate) fn select<A: Arguments>(
        &self,
        snapshot: &Snapshot,
        slots: &dyn Fn(&Kernel, &Device) -> Result<u32, Error>,
        args: &A,
        bound: &Bound,
        capturing: bool,
    ) -> Result<Arc<Ready>, Error> {
        let Some(candidate) = self.first(args, bound, capturing) else {
            return Err(self.refusal(snapshot, args, capturing));
        };
        if let Some(ready) = candidate.ready.lock().as_ref() {
            return Ok(ready.clone());
        }
        if candidate.fallback {
            use super::OnFallback::{Allow, Error as Refuse, Warn};
            match snapshot.policy.action(
                self.device.name(),
                candidate.kernel.decl.tier,
                candidate.missing,
            ) {
                Allow => {}
                Warn => {
                    if let Ok(selection) = explain(snapshot, args, &self.device, capturing) {
                        tracing::warn!(target: "overt::fallback", kernel = candidate.kernel.decl.id, "{selection}");
                    }
                }
                Refuse => {
                    let selection = explain(snapshot, args, &self.device, capturing)?;
                    return Err(Error::FallbackRefused(Box::new(selection)));
                }
            }
        }
        let slot = slots(&candidate.kernel, &self.device)?;
        let made = Arc::new(Ready::new(
            snapshot,
            &candidate.kernel,
            &self.device,
            slot,
            candidate.fallback,
        )?);
        // Two threads may make one; either is right. No lock is held while the host's log or the provider is called.
        Ok(candidate.ready.lock().get_or_insert(made).clone())
    }

    fn first<A: Arguments>(&self, args: &A, bound: &Bound, capturing: bool) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| {
            candidate
                .checks
                .iter()
                .all(|check| check.holds(args, bound, capturing))
                && candidate.kernel.decl.guard.as_ref().is_none_or(|guard| {
                    let (device, binder) = (&self.device, &self.op.0.binder);
                    super::explain::ask(guard, device, binder, bound, &candidate.knobs).is_none()
                })
        })
    }

    #[cold]
    fn refusal<A: Arguments>(&self, snapshot: &Snapshot, args: &A, capturing: bool) -> Error {
        match explain(snapshot, args, &self.device, capturing) {
            Ok(selection) => Error::NoKernel(Box::new(selection)),
            Err(error) => error.into(),
        }
    }

    /// The values of an integer attribute that share the class of `value`, both ends included: within them no test of this op
    /// changes its answer.
    pub(crate) fn interval(&self, attr: usize, value: i64) -> (i64, i64) {
        let fact = self
            .classifiers
            .iter()
            .find(|c| matches!(&c.fact, Fact::Attr(index, AttrType::I64) if *index == attr));
        let Some(classifier) = fact else {
            return (i64::MIN, i64::MAX);
        };
        if classifier.exact || !classifier.moduli.is_empty() {
            return (value, value);
        }
        let index = classifier.breaks.partition_point(|b| *b <= value);
        let low = if index == 0 {
            i64::MIN
        } else {
            classifier.breaks[index - 1]
        };
        let high = classifier.breaks.get(index).map_or(i64::MAX, |b| b - 1);
        (low, high)
    }
}

/// Whether a kernel is one that was not loaded or not built.
fn is_missing(rules: &Rules) -> bool {
    use crate::guard::ReasonCause::{NotBuilt, NotLoaded};
    rules
        .fixed
        .iter()
        .any(|reason| matches!(reason.cause(), NotLoaded | NotBuilt))
}

/// The classifier of a fact, made on first use.
fn of_fact<'a>(classifiers: &'a mut Vec<Classifier>, fact: &Fact) -> &'a mut Classifier {
    let index = classifiers
        .iter()
        .position(|c| c.fact == *fact)
        .unwrap_or_else(|| {
            classifiers.push(Classifier {
                fact: fact.clone(),
                breaks: Vec::new(),
                moduli: Vec::new(),
                texts: Vec::new(),
                exact: false,
            });
            classifiers.len() - 1
        });
    &mut classifiers[index]
}

fn exact(classifiers: &mut Vec<Classifier>, fact: &Fact) {
    if !matches!(fact, Fact::Constant(_) | Fact::Unknown) {
        of_fact(classifiers, fact).exact = true;
        if let Fact::Operand(operand, _) = fact {
            // Any word may be a value of an exact fact, `ABSENT` too, so presence gets a word of its own.
            of_fact(classifiers, &Fact::Operand(*operand, OperandFact::Present)).exact = true;
        }
    }
}

/// Whether a callback's fact can stand in a key: text has no number, so a callback that reads some is asked each time.
fn keyable(fact: &Fact) -> bool {
    !matches!(fact, Fact::Attr(_, AttrType::Str))
}

/// Adds the thresholds of a check.
fn note(classifiers: &mut Vec<Classifier>, check: &Check) {
    match check {
        Check::Two(a, _, b) => {
            exact(classifiers, a);
            exact(classifiers, b);
        }
        Check::One(fact, test) => {
            let classifier = of_fact(classifiers, fact);
            let mut point = |low: i64, high: i64| {
                classifier.breaks.push(low);
                classifier.breaks.extend(high.checked_add(1));
            };
            match test {
                Test::Range(low, high) => point(*low, *high),
                Test::In(list) | Test::NotIn(list) => list.iter().for_each(|v| point(*v, *v)),
                Test::MultipleOf(n) => {
                    classifier.moduli.push(*n);
                }
                Test::TextIn(list) | Test::TextNotIn(list) => {
                    classifier.texts.extend(list.iter().cloned());
                }
            }
        }
    }
}

impl Classifier {
    fn finish(&mut self) {
        for list in [&mut self.breaks, &mut self.moduli] {
            list.sort_unstable();
            list.dedup();
            // Every number is at or above the least one, so that start tells nothing.
            list.retain(|b| *b != i64::MIN);
        }
        // More moduli than bits in a word: tell every value apart instead.
        self.exact |= self.moduli.len() > 31;
        self.texts.sort_unstable();
        self.texts.dedup();
    }

    #[inline]
    fn class<A: Arguments>(&self, args: &A, bound: &Bound, capturing: bool) -> u64 {
        if self.fact.varies() {
            let varying = Varying {
                attrs: bound.attrs(),
                in_place: bound.in_place,
                capturing,
            };
            return self.class_of_varying(&varying);
        }
        self.fact
            .number(args, bound, capturing)
            .map_or(ABSENT, |number| self.class_of(number))
    }

    #[inline]
    fn class_of_varying(&self, varying: &Varying<'_>) -> u64 {
        if let Fact::Attr(index, AttrType::Str) = &self.fact {
            return self.text_class(&varying.attrs[*index]);
        }
        self.fact
            .varying_number(varying)
            .map_or(ABSENT, |number| self.class_of(number))
    }

    #[inline]
    fn class_of(&self, number: i64) -> u64 {
        if self.exact {
            return number as u64;
        }
        let interval = if self.breaks.len() <= 8 {
            self.breaks.iter().map(|b| u64::from(*b <= number)).sum()
        } else {
            self.breaks.partition_point(|b| *b <= number) as u64
        };
        let mut class = interval;
        for (bit, n) in self.moduli.iter().enumerate() {
            class |= u64::from(number % n == 0) << (32 + bit);
        }
        class
    }

    fn text_class(&self, value: &overt_abi::OvertValue) -> u64 {
        // SAFETY: bound text attributes were made from text that outlives the binding.
        let text = unsafe { crate::bind::str_of(value) };
        self.texts
            .binary_search_by(|t| t.as_str().cmp(text))
            .map_or(0, |index| index as u64 + 1)
    }
}
