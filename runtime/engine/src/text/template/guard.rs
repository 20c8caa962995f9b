//! Holds a template to its fuel where the engine by itself does not.
//!
//! The engine charges for instructions and for the text and lists that they make. It does not look into lists: one that holds another twice over,
//! sixty levels up, is made in sixty steps and compared or shown in 2^60, one that holds itself a thousand levels deep overflows the stack when
//! it is dropped, and a namespace may hold itself. So the compiled instructions are gone over before they run. Wherever one makes a list or a
//! map, a function of [`weight`](super::weight) follows that walks and charges for it; wherever one looks at all of a value, such a function comes
//! first. Filters, tests and methods are called through functions that do both.
//!
//! The functions' names are no identifiers, so that no template can call or replace them.

use super::calls::{self, Call, Called};
use super::slice::slice;
use super::weight::{NAMES, charge, keep, made, map};
use minijinja::machinery::{Instruction, Instructions};
use minijinja::value::ValueKind;
use minijinja::{Environment, Error, ErrorKind, State, Value};
use std::collections::BTreeSet;

/// Charges for a value that was made, and makes it a plain list where it is a lazy one.
const MADE: &str = "=made";
/// Charges for all of a value that is about to be looked at.
const SEEN: &str = "=seen";
/// Charges for a text that is about to be gone through, and for no other value.
const READ: &str = "=read";
/// Refuses what a namespace must not hold.
const KEPT: &str = "=kept";
const ITEM: &str = "=item";
const SLICE: &str = "=slice";
const MAP: &str = "=map";

/// The most maps of options that a call merges; they are charged for when they are one.
const MERGED: usize = 8;

/// The filters, tests and methods that a template calls, each with a mark before its name.
#[derive(Debug)]
pub(super) struct Names(BTreeSet<String>);

impl Names {
    /// # Errors
    /// An instruction that is not run: one with arguments from a list, or one that sets one name too many in namespaces.
    pub(super) fn of(code: &Instructions<'_>) -> Result<Names, Error> {
        let mut names = BTreeSet::new();
        let mut set = BTreeSet::new();
        let mut at = 0;
        while let Some(instruction) = code.get(at) {
            names.extend(called(instruction));
            if let Instruction::SetAttr(name) = instruction {
                set.insert(*name);
            }
            let words = match instruction {
                // How many arguments there are is then known too late.
                Instruction::UnpackLists(_) => "arguments from a list (`*`) are not known",
                Instruction::MergeKwargs(count) if *count > MERGED => {
                    "a call has more than 8 maps of options (`**`)"
                }
                Instruction::SetAttr(_) if set.len() > NAMES => {
                    "more than 128 names are set in namespaces"
                }
                _ => {
                    at += 1;
                    continue;
                }
            };
            let line = code.get_line(at).unwrap_or_default();
            let words = format!("{words} (line {line})");
            return Err(Error::new(ErrorKind::SyntaxError, words));
        }
        Ok(Names(names))
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

/// The marked name of the filter, test or method that an instruction calls.
fn called(instruction: &Instruction<'_>) -> Option<String> {
    match instruction {
        Instruction::ApplyFilter(name, ..) => Some(format!("|{name}")),
        Instruction::PerformTest(name, ..) if !calls::is_cheap_test(name) => {
            Some(format!("?{name}"))
        }
        Instruction::CallMethod(name, _) => Some(format!(".{name}")),
        _ => None,
    }
}

/// The same instructions with the functions put between them.
pub(super) fn guarded<'s>(code: &Instructions<'s>, names: &'s Names) -> Instructions<'s> {
    let mut targets = BTreeSet::new();
    let mut count = 0;
    while let Some(instruction) = code.get(count) {
        targets.extend(target(instruction));
        count += 1;
    }
    // Where each instruction begins in what is written.
    let mut begins = Vec::with_capacity(count as usize + 1);
    let mut written = Vec::new();
    for at in 0..count {
        begins.push(written.len() as u32);
        if let Some(instruction) = code.get(at) {
            // What comes before is what the top of the stack is from, unless the instruction is also jumped to.
            let before = at.checked_sub(1).filter(|_| !targets.contains(&at));
            let before = before.and_then(|before| code.get(before));
            expand(instruction, before, names, &mut |instruction| {
                written.push((instruction, at));
            });
        }
    }
    begins.push(written.len() as u32);
    let mut out = Instructions::new(code.name(), code.source());
    for (mut instruction, from) in written {
        if let Some(target) = target_mut(&mut instruction)
            && let Some(begin) = begins.get(*target as usize)
        {
            *target = *begin;
        }
        match (code.get_span(from), code.get_line(from)) {
            (Some(span), _) => out.add_with_span(instruction, span),
            (None, Some(line)) => out.add_with_line(instruction, line as u16),
            (None, None) => out.add(instruction),
        };
    }
    out
}

fn expand<'s>(
    instruction: &Instruction<'s>,
    before: Option<&Instruction<'s>>,
    names: &'s Names,
    write: &mut impl FnMut(Instruction<'s>),
) {
    let call = |name| Instruction::CallFunction(name, Some(1));
    let constant = match before {
        Some(Instruction::LoadConst(value)) => Some(value),
        _ => None,
    };
    if let Some(name) = called(instruction)
        && let Some(name) = names.get(&name)
        && let Instruction::ApplyFilter(_, count, _)
        | Instruction::PerformTest(_, count, _)
        | Instruction::CallMethod(_, count) = instruction
    {
        write(Instruction::CallFunction(name, *count));
        return;
    }
    match instruction {
        Instruction::Eq
        | Instruction::Ne
        | Instruction::Gt
        | Instruction::Gte
        | Instruction::Lt
        | Instruction::Lte
            // A constant has the length of its source at most, and nothing is compared for longer than the shorter of two.
            if constant.is_some() => {}
        Instruction::Eq
        | Instruction::Ne
        | Instruction::Gt
        | Instruction::Gte
        | Instruction::Lt
        | Instruction::Lte
        | Instruction::In
        | Instruction::CompareAndPreserve(_)
        | Instruction::StringConcat => {
            write(call(SEEN));
            write(Instruction::Swap);
            write(call(SEEN));
            write(Instruction::Swap);
        }
        Instruction::SetAttr(_) => {
            // The value lies under the namespace.
            write(Instruction::Swap);
            write(call(KEPT));
            write(Instruction::Swap);
        }
        Instruction::PushLoop(_) | Instruction::FastRecurse => write(call(READ)),
        // It may be a loop that begins again, whatever its name.
        Instruction::CallFunction(_, Some(1)) => write(call(READ)),
        Instruction::GetItem if !constant.is_some_and(is_name_or_small) => {
            write(Instruction::CallFunction(ITEM, Some(2)));
            return;
        }
        Instruction::BuildMap(pairs) if let Ok(values) = u16::try_from(2 * pairs) => {
            write(Instruction::CallFunction(MAP, Some(values)));
            return;
        }
        Instruction::Slice => {
            write(Instruction::CallFunction(SLICE, Some(4)));
            return;
        }
        _ => {}
    }
    write(instruction.clone());
    match instruction {
        Instruction::BuildMap(_)
        | Instruction::BuildList(_)
        | Instruction::BuildTuple(_)
        | Instruction::Add
        | Instruction::Mul
        | Instruction::CallFunction(..)
        | Instruction::CallObject(_) => write(call(MADE)),
        // Lists that the engine made while it read the source, lazy ones among them.
        Instruction::LoadConst(value) if value.as_object().is_some() && !value.is_kwargs() => {
            write(call(MADE));
        }
        Instruction::MergeKwargs(_) => write(call(SEEN)),
        _ => {}
    }
}

/// Keys that are found at once, in a text too.
fn is_name_or_small(key: &Value) -> bool {
    key.as_str().is_some() || key.as_usize().is_some_and(|place| place < 64)
}

fn target_mut<'i>(instruction: &'i mut Instruction<'_>) -> Option<&'i mut u32> {
    match instruction {
        Instruction::Iterate(target)
        | Instruction::Jump(target)
        | Instruction::JumpIfFalse(target)
        | Instruction::JumpIfFalseOrPop(target)
        | Instruction::JumpIfTrueOrPop(target)
        | Instruction::BuildMacro(_, target, _) => Some(target),
        _ => None,
    }
}

fn target(instruction: &Instruction<'_>) -> Option<u32> {
    target_mut(&mut instruction.clone()).copied()
}

/// Puts the functions into an environment, and takes out what shows its insides.
pub(super) fn install(environment: &mut Environment<'_>, names: &Names) {
    environment.remove_global("debug");
    let functions: [(&'static str, Call); 7] = [
        (MADE, |state, _, values| made(state, first(values)?.clone())),
        (SEEN, |state, _, values| {
            let value = first(values)?;
            charge(state, value).map(|_| value.clone())
        }),
        (READ, |state, _, values| {
            let value = first(values)?;
            charge_text(state, value).map(|()| value.clone())
        }),
        (KEPT, |state, _, values| {
            let value = first(values)?;
            keep(state, value).map(|()| value.clone())
        }),
        (ITEM, |state, _, values| {
            let [value, key] = values else {
                return Err(Error::from(ErrorKind::MissingArgument));
            };
            charge_text(state, value)?;
            charge(state, key)?;
            value.get_item(key)
        }),
        (SLICE, |state, _, values| slice(state, values)),
        (MAP, |state, _, values| map(state, values)),
    ];
    for (name, call) in functions {
        environment.add_global(name, Value::from_object(Called::new("", call)));
    }
    environment.set_formatter(|out, state, value| {
        charge(state, value)?;
        minijinja::escape_formatter(out, state, value)
    });
    for marked in &names.0 {
        let name = marked.get(1..).unwrap_or_default();
        let call = match marked.as_bytes().first() {
            Some(b'|') => calls::filter,
            Some(b'?') => calls::test,
            _ => calls::method,
        };
        environment.add_global(marked.clone(), Value::from_object(Called::new(name, call)));
    }
}

fn first(values: &[Value]) -> Result<&Value, Error> {
    let missing = || Error::from(ErrorKind::MissingArgument);
    values.first().ok_or_else(missing)
}

fn charge_text(state: &State, value: &Value) -> Result<(), Error> {
    match value.kind() {
        ValueKind::String => charge(state, value).map(drop),
        _ => Ok(()),
    }
}
