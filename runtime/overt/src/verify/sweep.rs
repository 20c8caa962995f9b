//! Every kernel on every device over its op's geometries.

use super::report::{Report, State, UnverifiedOp};
use super::subject::{Case, Subject};
use super::{Depth, Placed, VerifyError, foreign};
use crate::core::Runtime;
use crate::launch::Stream;
use crate::registry::{Device, Op, near};
use crate::select::{OnFallback, Policy};
use overt_kernels::host::HostCall;
use overt_kernels::op::Geometry;
use std::collections::HashMap;

/// What a sweep covers. `None` covers everything.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only this op, with or without version.
    pub op: Option<String>,
    /// Only this kernel.
    pub kernel: Option<String>,
    /// Only this device.
    pub device: Option<String>,
    /// Only geometries whose name holds this text.
    pub geometry: Option<String>,
}

/// Where a sweep stands.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The device.
    pub device: &'a str,
    /// The op.
    pub op: &'a str,
    /// The geometry that is next.
    pub geometry: &'a str,
    /// Geometries done, on all devices.
    pub done: u64,
    /// Geometries in all.
    pub total: u64,
}

/// Verifies kernels. While it runs it sets the runtime's policy (to pin each kernel under test), so the runtime is to be used
/// for nothing else meanwhile; the former policy is back at the end, and its denials hold throughout.
pub struct Sweep<'r> {
    runtime: &'r Runtime,
    filter: Filter,
    depth: Depth,
    seed: u64,
}

impl<'r> Sweep<'r> {
    /// A sweep over everything, with seed 1 and the default depth.
    pub fn new(runtime: &'r Runtime) -> Sweep<'r> {
        Sweep {
            runtime,
            filter: Filter::default(),
            depth: Depth::default(),
            seed: 1,
        }
    }

    /// Covers less.
    #[must_use]
    pub fn filter(mut self, filter: Filter) -> Sweep<'r> {
        self.filter = filter;
        self
    }

    /// Compares more or less of each output.
    #[must_use]
    pub fn depth(mut self, depth: Depth) -> Sweep<'r> {
        self.depth = depth;
        self
    }

    /// Other contents of operands.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Sweep<'r> {
        self.seed = seed;
        self
    }

    /// Runs it. `progress` is called before each geometry. What fails inside a kernel is in the report; an error is a filter that
    /// names nothing, a device that does not open, or an op's own geometry that is wrong.
    pub fn run(&self, progress: &mut dyn FnMut(&Progress<'_>)) -> Result<Report, VerifyError> {
        let before = self.runtime.policy();
        let _restored = Restore {
            runtime: self.runtime,
            policy: before.clone(),
        };
        let mut base = Policy::on_fallback(OnFallback::Allow);
        base.denials = before.denials;
        let tasks = self.tasks()?;
        let total = tasks.iter().map(|t| t.geometries.len() as u64).sum();
        let mut done = 0;
        let mut report = Report::default();
        for task in tasks {
            if let Some(unverified) = task.unverified() {
                report.unverified.push(unverified);
                continue;
            }
            let mut subjects: Vec<Subject> = task
                .kernels
                .iter()
                .map(|k| Subject::new(k, &task.device))
                .collect();
            let stream = if subjects.iter().any(Subject::can_run) {
                Some(self.runtime.stream(&task.device)?)
            } else {
                None
            };
            for geometry in &task.geometries {
                progress(&Progress {
                    device: task.device.name(),
                    op: task.op.name(),
                    geometry: &geometry.name,
                    done,
                    total,
                });
                if let Some(stream) = &stream {
                    self.geometry(&base, &task, geometry, stream, &mut subjects)?;
                }
                done += 1;
            }
            let filtered = self.filter.geometry.is_some();
            report
                .kernels
                .extend(subjects.into_iter().map(|s| s.finish(filtered)));
        }
        Ok(report)
    }

    fn geometry(
        &self,
        base: &Policy,
        task: &Task,
        geometry: &Geometry,
        stream: &Stream,
        subjects: &mut [Subject],
    ) -> Result<(), VerifyError> {
        let mut host = HostCall::from_geometry(task.op.schema(), geometry)?;
        match task.op.common() {
            Some(common) => (common.fill)(&mut host, self.seed),
            None => foreign::fill(&mut host, self.seed)?,
        }
        let placed = Placed::new(stream, &task.op, host)?;
        let mut case = Case {
            runtime: self.runtime,
            base,
            op: &task.op,
            geometry: &geometry.name,
            placed: &placed,
            stream,
            depth: &self.depth,
            seed: self.seed,
            wanted: None,
            classes: HashMap::new(),
        };
        for subject in subjects.iter_mut().filter(|s| s.can_run()) {
            subject.exercise(&mut case)?;
        }
        Ok(())
    }

    /// Each op on each device, as far as the filter leaves it.
    fn tasks(&self) -> Result<Vec<Task>, VerifyError> {
        let only_op = self
            .filter
            .op
            .as_deref()
            .map(|n| self.runtime.op(n))
            .transpose()?;
        let only_device = self
            .filter
            .device
            .as_deref()
            .map(|n| self.runtime.device(n))
            .transpose()?;
        if let Some(kernel) = &self.filter.kernel {
            self.known_kernel(kernel)?;
        }
        let devices = only_device.map_or_else(|| self.runtime.devices(), |d| vec![d]);
        let ops = only_op.map_or_else(|| self.runtime.ops(), |op| vec![op]);
        let mut tasks = Vec::new();
        let mut names: Vec<String> = Vec::new();
        let mut left = false;
        for device in &devices {
            for op in &ops {
                let kernels: Vec<_> = self
                    .runtime
                    .candidates(op, device)
                    .into_iter()
                    .filter(|k| {
                        self.filter
                            .kernel
                            .as_ref()
                            .is_none_or(|only| *only == k.decl.id)
                    })
                    .collect();
                if kernels.is_empty() {
                    continue;
                }
                let mut geometries = match op.common() {
                    Some(common) => (common.geometries)(),
                    None => foreign::geometries(op),
                };
                if let Some(part) = &self.filter.geometry {
                    names.extend(geometries.iter().map(|g| g.name.clone()));
                    geometries.retain(|g| g.name.contains(part));
                }
                left |= !geometries.is_empty();
                tasks.push(Task {
                    device: device.clone(),
                    op: op.clone(),
                    kernels,
                    geometries,
                });
            }
        }
        if let Some(part) = &self.filter.geometry
            && !left
            && !names.is_empty()
        {
            let near = near(part, names.iter().map(String::as_str));
            names.truncate(8);
            return Err(VerifyError::Unknown {
                what: "geometry",
                name: part.clone(),
                near,
                known: names,
            });
        }
        Ok(tasks)
    }

    fn known_kernel(&self, kernel: &str) -> Result<(), VerifyError> {
        let known: Vec<String> = self
            .runtime
            .kernels()
            .into_iter()
            .map(|k| k.decl.id)
            .collect();
        if known.iter().any(|k| k == kernel) {
            return Ok(());
        }
        Err(VerifyError::Unknown {
            what: "kernel",
            name: kernel.to_owned(),
            near: near(kernel, known.iter().map(String::as_str)),
            known,
        })
    }
}

/// One op on one device.
struct Task {
    device: Device,
    op: Op,
    kernels: Vec<crate::core::KernelListing>,
    geometries: Vec<Geometry>,
}

impl Task {
    fn unverified(&self) -> Option<UnverifiedOp> {
        (!self.op.verifiable()).then(|| UnverifiedOp {
            op: self.op.name().to_owned(),
            provider: self.op.provider().unwrap_or_default().to_owned(),
            kernels: self.kernels.iter().map(|k| k.decl.id.clone()).collect(),
            device: self.device.name().to_owned(),
        })
    }
}

/// Puts the policy back, however the sweep ends.
struct Restore<'r> {
    runtime: &'r Runtime,
    policy: Policy,
}

impl Drop for Restore<'_> {
    fn drop(&mut self) {
        // It was in force before, so everything that it names exists.
        let _ = self.runtime.set_policy(self.policy.clone());
    }
}

impl State {
    /// The state in one word.
    pub fn word(&self) -> &'static str {
        match self {
            State::Passed => "passed",
            State::Failed => "FAILED",
            State::NotRunnable { .. } => "not runnable",
            State::Nothing => "nothing",
        }
    }
}
