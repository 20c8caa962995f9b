//! One kernel under test on one device.

use super::batch;
use super::depth::next;
use super::report::{Failure, KernelReport, NotEligible, State, Tally, WorstAt};
use super::walk::gathered;
use super::{Check, Depth, Placed, VerifyError, Wanted};
use crate::core::{KernelListing, Runtime};
use crate::error::Error;
use crate::guard::{Reason, ReasonCause};
use crate::launch::Stream;
use crate::registry::{Device, Op};
use crate::select::{Pin, Policy, Selection};
use std::collections::HashMap;
use std::time::Instant;

/// One geometry, uploaded, for all kernels of a device.
pub(super) struct Case<'a> {
    pub(super) runtime: &'a Runtime,
    pub(super) base: &'a Policy,
    pub(super) op: &'a Op,
    pub(super) geometry: &'a str,
    pub(super) placed: &'a Placed,
    pub(super) stream: &'a Stream,
    pub(super) depth: &'a Depth,
    pub(super) seed: u64,
    /// The oracle's answer, asked for once.
    pub(super) wanted: Option<Wanted>,
    /// What a kernel of a numeric class wrote here, by class: kernels of one class are bit-equal.
    pub(super) classes: HashMap<String, (String, Vec<Vec<u8>>)>,
}

/// A kernel under test.
pub(super) struct Subject {
    report: KernelReport,
    deterministic: bool,
    can_run: bool,
    /// Geometries rejected for a reason that no problem changes, and the reason.
    blocked: (u64, String),
}

impl Subject {
    pub(super) fn new(kernel: &KernelListing, device: &Device) -> Subject {
        let decl = &kernel.decl;
        let never = kernel
            .failed
            .as_ref()
            .map(|why| format!("provider {} did not load: {why}", kernel.provider))
            .or_else(|| {
                decl.not_built
                    .as_ref()
                    .map(|why| format!("not built: {why}"))
            });
        let mut failures = Vec::new();
        let refused = kernel.refused.clone();
        for what in decl.unusable.iter().map(ToString::to_string).chain(refused) {
            failures.push(Failure {
                geometry: String::new(),
                what: format!("can never be chosen: {what}"),
            });
        }
        Subject {
            can_run: never.is_none() && failures.is_empty(),
            report: KernelReport {
                kernel: decl.id.clone(),
                op: decl.op.clone(),
                device: device.name().to_owned(),
                evidence: device.info().kind,
                tier: decl.tier,
                numeric_class: decl.numeric_class.clone(),
                state: never.map_or(State::Nothing, |reason| State::NotRunnable { reason }),
                geometries: 0,
                executed: 0,
                empty: 0,
                not_eligible: Vec::new(),
                sampled: 0,
                compared: 0,
                worst: None,
                deterministic: None,
                batch_invariant: None,
                packed: None,
                failures,
                seconds: 0.0,
            },
            deterministic: decl.flags.deterministic(),
            blocked: (0, String::new()),
        }
    }

    pub(super) fn can_run(&self) -> bool {
        self.can_run
    }

    /// Settles what became of it. `filtered`: geometries were left out on purpose, so having run none of the rest is no failure.
    pub(super) fn finish(mut self, filtered: bool) -> KernelReport {
        let report = &mut self.report;
        if !report.failures.is_empty() {
            report.state = State::Failed;
        } else if report.executed > 0 {
            report.state = State::Passed;
        } else if !self.can_run || filtered {
            // Settled already, or the filter left nothing that it serves.
        } else if self.blocked.0 > 0 && self.blocked.0 == report.geometries {
            report.state = State::NotRunnable {
                reason: self.blocked.1,
            };
        } else {
            report.failures.push(Failure {
                geometry: String::new(),
                what: format!("executed 0 of {}", report.geometries),
            });
            report.state = State::Failed;
        }
        self.report
    }

    /// Puts one geometry to it.
    pub(super) fn exercise(&mut self, case: &mut Case<'_>) -> Result<(), VerifyError> {
        let started = Instant::now();
        self.report.geometries += 1;
        case.runtime.set_policy(self.pinned(case))?;
        let result = self.attempt(case);
        self.report.seconds += started.elapsed().as_secs_f64();
        match result {
            Ok(()) => Ok(()),
            // A geometry that the library cannot even describe is no fault of the kernel.
            Err(error @ VerifyError::Host(_)) => Err(error),
            Err(error) => {
                self.fail(case, error.to_string());
                Ok(())
            }
        }
    }

    /// The policy under which nothing but this kernel can be chosen.
    fn pinned(&self, case: &Case<'_>) -> Policy {
        let mut policy = case.base.clone();
        policy.pins = vec![Pin {
            op: case.op.name().to_owned(),
            device: Some(self.report.device.clone()),
            kernel: self.report.kernel.clone(),
        }];
        policy
    }

    fn attempt(&mut self, case: &mut Case<'_>) -> Result<(), VerifyError> {
        let selection = self.select(case, case.placed)?;
        if let Some(reasons) = self.rejected(&selection) {
            self.reject(case.geometry, reasons);
            return Ok(());
        }
        case.placed.restore(case.stream)?;
        let ran = case.placed.dispatch(case.stream)?;
        if ran.kernel != self.report.kernel {
            self.fail(case, format!("{} ran instead", ran.kernel));
            return Ok(());
        }
        if case.wanted.is_none() {
            let host = case.placed.host();
            case.wanted = Some(Wanted::of(case.op, host, case.depth, case.seed)?);
        }
        let Some(wanted) = &case.wanted else {
            return Ok(());
        };
        let check = case.placed.check(case.stream, wanted)?;
        if ran.launched.launches == 0 {
            self.report.empty += 1;
        } else {
            self.report.executed += 1;
            self.report.sampled += u64::from(wanted.is_sampled());
        }
        self.take(case, &check);
        if ran.launched.launches > 0 && check.passed() {
            let written = case.placed.written(case.stream)?;
            self.again(case, &written)?;
            self.packed(case, &written)?;
            self.same_class(case, &written);
            self.parts(case, &written)?;
        }
        Ok(())
    }

    fn select(&self, case: &Case<'_>, placed: &Placed) -> Result<Selection, Error> {
        case.runtime
            .explain(&placed.problem()?, case.stream.device())
    }

    /// All reasons against it, if it was not chosen.
    fn rejected<'s>(&self, selection: &'s Selection) -> Option<&'s [Reason]> {
        if selection
            .chosen
            .as_ref()
            .is_some_and(|c| c.kernel == self.report.kernel)
        {
            return None;
        }
        let mine = selection
            .rejected
            .iter()
            .find(|r| r.kernel == self.report.kernel);
        Some(mine.map_or(&[], |r| r.reasons.as_slice()))
    }

    fn reject(&mut self, geometry: &str, reasons: &[Reason]) {
        let fixed = reasons.iter().find(|r| {
            matches!(
                r.cause(),
                ReasonCause::Image
                    | ReasonCause::Device
                    | ReasonCause::NotLoaded
                    | ReasonCause::NotBuilt
                    | ReasonCause::Policy
            )
        });
        if let Some(reason) = fixed {
            self.blocked.0 += 1;
            self.blocked.1 = reason.to_string();
        }
        self.report.not_eligible.push(NotEligible {
            geometry: geometry.to_owned(),
            reasons: reasons.iter().map(ToString::to_string).collect(),
        });
    }

    fn take(&mut self, case: &Case<'_>, check: &Check) {
        self.report.compared += check.compared();
        if let Some((operand, worst)) = check.worst()
            && self
                .report
                .worst
                .as_ref()
                .is_none_or(|w| worst.ratio > w.worst.ratio)
        {
            self.report.worst = Some(WorstAt {
                geometry: case.geometry.to_owned(),
                operand: operand.to_owned(),
                worst: worst.clone(),
            });
        }
        if !check.passed() {
            self.fail(case, check.to_string());
        }
    }

    fn fail(&mut self, case: &Case<'_>, what: String) {
        self.report.failures.push(Failure {
            geometry: case.geometry.to_owned(),
            what,
        });
    }

    /// Runs once more and compares bit for bit, where it declares to be deterministic.
    fn again(&mut self, case: &Case<'_>, written: &[(usize, Vec<u8>)]) -> Result<(), VerifyError> {
        if !self.deterministic {
            return Ok(());
        }
        case.placed.restore(case.stream)?;
        case.placed.dispatch(case.stream)?;
        let same = case.placed.written(case.stream)? == written;
        tally(&mut self.report.deterministic, same);
        if !same {
            self.fail(
                case,
                "two runs of one call differ, and it declares to be deterministic".into(),
            );
        }
        Ok(())
    }

    /// Runs once more with the weights packed, where it packs any.
    fn packed(&mut self, case: &Case<'_>, written: &[(usize, Vec<u8>)]) -> Result<(), VerifyError> {
        let packed = case.placed.pack(case.stream)?;
        if packed.is_empty() {
            return Ok(());
        }
        case.placed.restore(case.stream)?;
        let ran = case.placed.dispatch_packed(case.stream, &packed)?;
        if ran.kernel != self.report.kernel {
            self.fail(
                case,
                format!("{} ran instead, with weights packed", ran.kernel),
            );
            return Ok(());
        }
        let Some(wanted) = &case.wanted else {
            return Ok(());
        };
        let check = case.placed.check(case.stream, wanted)?;
        let same =
            self.report.numeric_class.is_none() || case.placed.written(case.stream)? == written;
        tally(&mut self.report.packed, check.passed() && same);
        if !check.passed() {
            self.fail(case, format!("with weights packed: {check}"));
        } else if !same {
            let what = "packed and plain weights give other bits, and it promises a numeric class";
            self.fail(case, what.into());
        }
        Ok(())
    }

    /// Kernels of one numeric class on one device give the same bits.
    fn same_class(&mut self, case: &mut Case<'_>, written: &[(usize, Vec<u8>)]) {
        let Some(class) = self.report.numeric_class.clone() else {
            return;
        };
        let bits: Vec<Vec<u8>> = written.iter().map(|(_, b)| b.clone()).collect();
        match case.classes.get(&class) {
            None => {
                case.classes
                    .insert(class, (self.report.kernel.clone(), bits));
            }
            Some((other, before)) if *before != bits => {
                let what =
                    format!("differs from {other}, which is of the same numeric class {class}");
                self.fail(case, what);
            }
            Some(_) => {}
        }
    }

    /// Runs parts of the batch and compares their rows with those of the whole bit for bit, where it promises a numeric class.
    fn parts(&mut self, case: &Case<'_>, written: &[(usize, Vec<u8>)]) -> Result<(), VerifyError> {
        if self.report.numeric_class.is_none() {
            return Ok(());
        }
        let mut state = case.seed ^ case.geometry.len() as u64;
        let whole = case.placed.host();
        for part in batch::parts(whole, next(&mut state))? {
            let placed = Placed::new(case.stream, case.op, part.host)?;
            if self.rejected(&self.select(case, &placed)?).is_some() {
                // Its guard looks at the number of rows, so another kernel serves the part and nothing is promised of that.
                continue;
            }
            let ran = placed.dispatch(case.stream)?;
            if ran.launched.launches == 0 {
                continue;
            }
            let mut same = true;
            for ((operand, whole_bytes), (_, part_bytes)) in
                written.iter().zip(placed.written(case.stream)?)
            {
                let (Some(layout), Some(part_layout)) =
                    (&whole.operands[*operand], &placed.host().operands[*operand])
                else {
                    continue;
                };
                let all = gathered(layout, whole_bytes)?;
                let some = gathered(part_layout, &part_bytes)?;
                same &= batch::rows_equal(layout, &all, &some, &part.rows);
            }
            tally(&mut self.report.batch_invariant, same);
            if !same {
                let class = self.report.numeric_class.as_deref().unwrap_or_default();
                let what = format!(
                    "{} differ from the whole batch's bits, and it promises numeric class {class}",
                    part.what
                );
                self.fail(case, what);
            }
        }
        Ok(())
    }
}

fn tally(tally: &mut Option<Tally>, same: bool) {
    let tally = tally.get_or_insert_default();
    tally.compared += 1;
    tally.differed += u64::from(!same);
}
