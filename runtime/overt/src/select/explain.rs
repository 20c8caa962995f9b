//! Explanation: every clause of every candidate, evaluated anew, so that the fast path need keep no reasons.

use super::rules::Rules;
use super::{Chosen, Fallback, KnobValues, Rejected, Selection};
use crate::bind::{Arguments, BindError, Binder, Bound};
use crate::ffi::Words;
use crate::guard::{Reason, ReasonCause};
use crate::load::decl::GuardDecl;
use crate::registry::{Device, Kernel, Snapshot};
use overt_abi::{OVERT_OK, OvertCall};
use std::sync::Arc;

/// Selects by evaluating everything.
pub(crate) fn explain<A: Arguments>(
    snapshot: &Snapshot,
    args: &A,
    device: &Device,
    capturing: bool,
) -> Result<Selection, BindError> {
    let op = args.op();
    let mut bound = Bound::new();
    op.0.binder.bind(args, &mut bound)?;
    let constants = snapshot.constants(device);
    let mut candidates = snapshot.candidates(op, device);
    candidates.sort_by(|a, b| Snapshot::order(a, b));
    let mut chosen: Option<Arc<Kernel>> = None;
    let mut rejected = Vec::new();
    for kernel in candidates {
        let rules = Rules::of(&kernel, op, device, &constants, &snapshot.policy);
        let mut reasons = rules.fixed;
        reasons.extend(
            rules
                .rules
                .iter()
                .filter_map(|rule| rule.failing(args, &bound, capturing)),
        );
        if reasons.is_empty()
            && let Some(guard) = &kernel.decl.guard
            && let Some(reason) = ask(
                guard,
                device,
                &op.0.binder,
                &bound,
                &KnobValues::of(snapshot, &kernel, device),
            )
        {
            reasons.push(reason);
        }
        if reasons.is_empty() && chosen.is_none() {
            chosen = Some(kernel);
        } else {
            rejected.push(Rejected {
                kernel: kernel.decl.id.clone(),
                provider: kernel.provider.clone(),
                tier: kernel.decl.tier,
                declares_arch: rules.declares_arch,
                reasons,
            });
        }
    }
    let fallback = chosen.as_ref().and_then(|kernel| {
        let causes: Vec<(String, ReasonCause)> = rejected
            .iter()
            .filter(|r| r.tier < kernel.decl.tier && r.declares_arch)
            .map(|r| {
                let cause = r
                    .reasons
                    .iter()
                    .map(Reason::cause)
                    .min()
                    .unwrap_or(ReasonCause::Problem);
                (r.kernel.clone(), cause)
            })
            .collect();
        (!causes.is_empty()).then_some(Fallback { causes })
    });
    Ok(Selection {
        op: op.name().to_owned(),
        device: device.name().to_owned(),
        arch: device.info().arch.name.clone(),
        kind: device.info().kind,
        chosen: chosen.map(|k| Chosen {
            kernel: k.decl.id.clone(),
            provider: k.provider.clone(),
            tier: k.decl.tier,
            priority: k.decl.priority,
            numeric_class: k.decl.numeric_class.clone(),
        }),
        fallback,
        served_by: None,
        rejected,
        failed_providers: snapshot
            .failed
            .iter()
            .filter(|f| f.kernels.is_empty())
            .map(|f| (f.label(), f.reason.to_string()))
            .collect(),
    })
}

/// Explains for a device, and where none of its kernels serves and the policy allows it, goes on to the devices that can address
/// host memory. What each of them rejected is listed too.
pub(crate) fn explain_anywhere<A: Arguments>(
    snapshot: &Snapshot,
    args: &A,
    device: &Device,
    capturing: bool,
) -> Result<Selection, BindError> {
    let mut selection = explain(snapshot, args, device, capturing)?;
    // A host fallback waits for both devices, which a capture cannot.
    if selection.chosen.is_some() || capturing || !snapshot.policy.host_fallback {
        return Ok(selection);
    }
    let causes = selection
        .rejected
        .iter()
        .filter(|r| r.declares_arch)
        .map(|r| {
            let cause = r.reasons.iter().map(Reason::cause).min();
            (r.kernel.clone(), cause.unwrap_or(ReasonCause::Problem))
        })
        .collect();
    for other in &snapshot.devices {
        if other.same(device) || !other.info().host_addressable {
            continue;
        }
        let there = explain(snapshot, args, other, false)?;
        selection.rejected.extend(there.rejected);
        if let Some(chosen) = there.chosen {
            selection.chosen = Some(chosen);
            selection.fallback = Some(Fallback { causes });
            selection.served_by = Some(other.name().to_owned());
            break;
        }
    }
    Ok(selection)
}

/// Asks a kernel's own callback; a reason where it says no.
pub(crate) fn ask(
    guard: &GuardDecl,
    device: &Device,
    binder: &Binder,
    bound: &Bound,
    knobs: &KnobValues,
) -> Option<Reason> {
    let call = OvertCall {
        size: size_of::<OvertCall>() as u32,
        flags: 0,
        operand_count: binder.operand_count() as u32,
        attr_count: binder.attr_count() as u32,
        operands: bound.raw.as_ptr().cast(),
        attrs: bound.attrs().as_ptr(),
        knobs: knobs.raw().as_ptr(),
        knob_count: knobs.raw().len() as u32,
        reserved: 0,
        workspace: std::ptr::null(),
        plan: std::ptr::null_mut(),
    };
    let mut words = Words::default();
    let sink = words.sink();
    // SAFETY: the callback lies in a library that is never unloaded; the description lives as long as the instance, which the device
    // holds; binding has written every operand, and all else is valid for the call.
    let status = unsafe { (guard.call)(device.info_raw(), &call, &sink) };
    if status == OVERT_OK {
        return None;
    }
    Some(Reason::Callback {
        words: words.take(),
        why: guard.reason.clone(),
    })
}
