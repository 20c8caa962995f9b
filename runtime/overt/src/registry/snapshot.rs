//! One immutable state of a runtime's registry. A change makes a new one with the next generation; what selection has cached for
//! an older generation is stale.

use super::instance::Found;
use super::instance::Instance;
use super::kernel::{HeldImage, Kernel, KernelHome};
use super::op::OpEntry;
use super::{Device, Op, near};
use crate::bind::{Binder, Constants};
use crate::error::Error;
use crate::knob::{KnobSettings, Setting};
use crate::load::decl::{KernelDecl, KnobDecl, Tier, Value};
use crate::load::{FailedProvider, LoadReport};
use crate::select::Policy;
use overt_kernels::schema::parse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// A state of the registry.
#[derive(Clone)]
pub(crate) struct Snapshot {
    pub(crate) generation: u64,
    pub(crate) instances: Vec<Arc<Instance>>,
    pub(crate) failed: Vec<FailedProvider>,
    pub(crate) report: LoadReport,
    pub(crate) devices: Vec<Device>,
    pub(crate) ops: BTreeMap<String, Op>,
    pub(crate) kernels: Vec<Arc<Kernel>>,
    /// Kernels by number of their op.
    by_op: HashMap<u32, Vec<Arc<Kernel>>>,
    /// Declared ops that were refused, with the reason, by provider and name.
    pub(crate) refused_ops: Vec<(String, String, String)>,
    pub(crate) policy: Arc<Policy>,
    pub(crate) knobs: KnobSettings,
}

impl Snapshot {
    /// A registry with the common ops and nothing else.
    pub(crate) fn new(policy: Policy, knobs: KnobSettings) -> Result<Snapshot, Error> {
        let mut snapshot = Snapshot {
            generation: 1,
            instances: Vec::new(),
            failed: Vec::new(),
            report: LoadReport::default(),
            devices: Vec::new(),
            ops: BTreeMap::new(),
            kernels: Vec::new(),
            by_op: HashMap::new(),
            refused_ops: Vec::new(),
            policy: Arc::new(policy),
            knobs,
        };
        for common in overt_kernels::ops::ALL {
            let schema = Arc::new(
                common
                    .parse()
                    .map_err(|e| Error::internal(format!("op {}: {e}", common.name)))?,
            );
            let binder = Binder::new(&schema)
                .map_err(|e| Error::internal(format!("op {}: {e}", common.name)))?;
            snapshot.add_op(OpEntry {
                number: snapshot.ops.len() as u32,
                schema,
                binder,
                common: Some(common),
                oracle: None,
                provider: None,
            });
        }
        Ok(snapshot)
    }

    fn add_op(&mut self, entry: OpEntry) {
        self.ops
            .insert(entry.schema.name.clone(), Op(Arc::new(entry)));
    }

    /// Adds a started provider: its ops, devices and kernels.
    pub(crate) fn add_instance(&mut self, instance: &Arc<Instance>, devices: Vec<Found>) {
        let decl = instance.provider.decl.clone();
        let mut refused: HashMap<&str, String> = HashMap::new();
        for op in &decl.ops {
            if let Err(why) = self.take_op(op, &decl.name) {
                tracing::warn!(target: "overt::registry", provider = decl.name, op = op.name, %why, "op refused");
                self.refused_ops
                    .push((decl.name.clone(), op.name.clone(), why.clone()));
                refused.insert(&op.name, why);
            }
        }
        for (index, found) in devices.into_iter().enumerate() {
            let number = self.devices.len() as u32;
            self.devices.push(Device::new(
                number,
                index as u32,
                found.info,
                found.raw,
                instance.clone(),
            ));
        }
        for kernel in &decl.kernels {
            let images = kernel
                .images
                .iter()
                .filter_map(|id| decl.image(id))
                .map(|image| HeldImage {
                    id: image.id.clone(),
                    pattern: image.pattern.clone(),
                    not_built: image.not_built.clone(),
                    digest: image.receipt_digest(),
                    unusable: image.unusable.first().map(ToString::to_string),
                })
                .collect();
            self.add_kernel(Kernel {
                number: self.kernels.len() as u32,
                decl: kernel.clone(),
                provider: decl.name.clone(),
                home: KernelHome::Loaded(instance.clone()),
                refused: refused.get(kernel.op.as_str()).cloned(),
                images,
            });
        }
        self.instances.push(instance.clone());
    }

    /// Adds the kernels of a provider that did not load, as far as its manifest names them.
    pub(crate) fn add_failed(&mut self, failed: FailedProvider) {
        let why = failed.reason.to_string();
        let label = failed.label();
        for kernel in &failed.kernels {
            let decl = KernelDecl {
                index: u32::MAX,
                id: kernel.id.clone(),
                op: kernel.op.clone(),
                tier: kernel.tier,
                priority: kernel.priority,
                flags: crate::load::decl::KernelFlags::default(),
                handles: Vec::new(),
                clauses: kernel
                    .arch_clauses
                    .iter()
                    .map(|patterns| crate::load::decl::ClauseDecl {
                        fact: "device.arch".into(),
                        cmp: crate::load::decl::Cmp::Arch,
                        values: patterns.iter().cloned().map(Value::Pattern).collect(),
                        source: String::new(),
                    })
                    .collect(),
                images: Vec::new(),
                entries: Vec::new(),
                knobs: Vec::new(),
                numeric_class: kernel.numeric_class.clone(),
                not_built: kernel.not_built.clone(),
                doc: String::new(),
                guard: None,
                must_hold: Vec::new(),
                unusable: Vec::new(),
            };
            let images = kernel
                .image_patterns
                .iter()
                .map(|pattern| HeldImage {
                    id: pattern.to_string(),
                    pattern: Some(pattern.clone()),
                    not_built: None,
                    digest: 0,
                    unusable: None,
                })
                .collect();
            self.add_kernel(Kernel {
                number: self.kernels.len() as u32,
                decl,
                provider: label.clone(),
                home: KernelHome::Failed(why.clone()),
                refused: None,
                images,
            });
        }
        self.failed.push(failed);
    }

    fn add_kernel(&mut self, kernel: Kernel) {
        let kernel = Arc::new(kernel);
        if let Some(op) = self.ops.get(&kernel.decl.op) {
            self.by_op
                .entry(op.0.number)
                .or_default()
                .push(kernel.clone());
        }
        self.kernels.push(kernel);
    }

    /// Takes an op that a provider declares: known with the same digest, or the provider's own.
    fn take_op(&mut self, op: &crate::load::decl::OpDecl, provider: &str) -> Result<(), String> {
        if let Some(known) = self.ops.get(&op.name) {
            let schema = known.schema();
            if schema.digest == op.digest {
                return Ok(());
            }
            return Err(format!(
                "provider {provider} was built for a schema of {} with digest {:016x}; this host has digest {:016x}: {}",
                op.name, op.digest, schema.digest, schema.canonical
            ));
        }
        let Some(text) = &op.schema else {
            return Err(format!(
                "{} is no op that this host knows, and provider {provider} brings no schema for it",
                op.name
            ));
        };
        if op
            .name
            .split_once(':')
            .is_none_or(|(owner, _)| owner != provider)
        {
            return Err(format!(
                "an op of the provider's own is named `{provider}:op.version`, not {}",
                op.name
            ));
        }
        let schema =
            parse(text).map_err(|e| format!("the schema of {} cannot be read: {e}", op.name))?;
        if schema.name != op.name {
            return Err(format!(
                "the schema of {} names itself {}",
                op.name, schema.name
            ));
        }
        if schema.digest != op.digest {
            return Err(format!(
                "{} is declared with digest {:016x}, and its schema's is {:016x}",
                op.name, op.digest, schema.digest
            ));
        }
        let schema = Arc::new(schema);
        let binder = Binder::new(&schema).map_err(|e| format!("{} has {e}", op.name))?;
        self.add_op(OpEntry {
            number: self.ops.len() as u32,
            schema,
            binder,
            common: None,
            oracle: op.oracle,
            provider: Some(provider.to_owned()),
        });
        Ok(())
    }

    /// An op by name; without a version, its newest.
    pub(crate) fn op(&self, name: &str) -> Result<Op, Error> {
        if let Some(op) = self.ops.get(name) {
            return Ok(op.clone());
        }
        let newest = self
            .ops
            .values()
            .filter(|op| {
                op.name()
                    .rsplit_once('.')
                    .is_some_and(|(base, _)| base == name)
            })
            .max_by_key(|op| {
                op.name()
                    .rsplit_once('.')
                    .and_then(|(_, v)| v.parse::<u64>().ok())
            });
        newest.cloned().ok_or_else(|| Error::UnknownOp {
            name: name.into(),
            near: near(name, self.ops.keys().map(String::as_str)),
            known: self.ops.keys().cloned().collect(),
        })
    }

    /// Refuses an op of another runtime: ops are known by number here, and there the number may be another op's.
    pub(crate) fn own(&self, op: &Op) -> Result<(), Error> {
        match self.ops.get(op.name()) {
            Some(own) if Arc::ptr_eq(&own.0, &op.0) => Ok(()),
            _ => Err(Error::ForeignOp {
                op: op.name().to_owned(),
            }),
        }
    }

    /// A device by name. `cpu` is `cpu:0` where there is one.
    pub(crate) fn device(&self, name: &str) -> Result<Device, Error> {
        let full = if name.contains(':') {
            name.to_owned()
        } else {
            format!("{name}:0")
        };
        if let Some(device) = self.devices.iter().find(|d| d.name() == full) {
            return Ok(device.clone());
        }
        let provider = name.split(':').next().unwrap_or(name);
        let mut notes: Vec<String> = self
            .failed
            .iter()
            .filter(|f| f.label().contains(provider) || f.name.as_deref() == Some(provider))
            .map(|f| format!("provider {} did not load: {}", f.label(), f.reason))
            .collect();
        notes.extend(
            self.instances
                .iter()
                .filter(|i| i.name() == provider && !i.words.is_empty())
                .map(|i| format!("provider {provider} says: {}", i.words)),
        );
        Err(Error::UnknownDevice {
            name: name.into(),
            known: self.devices.iter().map(|d| d.name().to_owned()).collect(),
            notes,
        })
    }

    /// Kernels that are candidates for an op on a device: those of its provider, and those of providers that did not load, which
    /// might have served it.
    pub(crate) fn candidates(&self, op: &Op, device: &Device) -> Vec<Arc<Kernel>> {
        let all = self.by_op.get(&op.0.number).map_or(&[][..], Vec::as_slice);
        all.iter()
            .filter(|k| match &k.home {
                KernelHome::Loaded(instance) => Arc::ptr_eq(instance, device.instance()),
                KernelHome::Failed(_) => true,
            })
            .cloned()
            .collect()
    }

    /// The facts that hold on a device before any problem.
    pub(crate) fn constants(&self, device: &Device) -> Constants {
        let info = device.info();
        let mut constants: Constants = info
            .facts
            .iter()
            .map(|f| (format!("device.{}", f.name), f.value.clone()))
            .collect();
        constants.insert("device.arch".into(), Value::Arch(info.arch.clone()));
        constants.insert("device.kind".into(), Value::Str(info.kind.to_string()));
        constants.insert(
            "device.memory_bytes".into(),
            Value::I64(i64::try_from(info.memory_bytes).unwrap_or(i64::MAX)),
        );
        constants.insert(
            "device.host_addressable".into(),
            Value::Bool(info.host_addressable),
        );
        for knob in &device.instance().provider.decl.knobs {
            constants.insert(format!("knob.{}", knob.id), self.knob_value(knob, device));
        }
        constants
    }

    /// The value of a provider's knob on a device.
    pub(crate) fn knob_value(&self, knob: &KnobDecl, device: &Device) -> Value {
        self.knobs.value(knob, Some(&device.info().arch))
    }

    /// Every declared knob with its provider.
    pub(crate) fn knob_decls(&self) -> impl Iterator<Item = (&str, &KnobDecl)> {
        self.instances
            .iter()
            .flat_map(|i| i.provider.decl.knobs.iter().map(|k| (i.name(), k)))
    }

    /// Checks that settings name declared knobs and values of their type and range.
    pub(crate) fn check_knobs(&self, settings: &[Setting]) -> Result<(), Error> {
        for setting in settings {
            let found = self.knob_decls().find(|(_, k)| k.id == setting.id);
            let Some((_, knob)) = found else {
                return Err(Error::UnknownKnob {
                    name: setting.id.clone(),
                    near: near(&setting.id, self.knob_decls().map(|(_, k)| k.id.as_str())),
                });
            };
            setting.check(knob)?;
        }
        Ok(())
    }

    /// Names of all kernels, for errors about unknown ones.
    pub(crate) fn kernel_ids(&self) -> Vec<String> {
        self.kernels.iter().map(|k| k.decl.id.clone()).collect()
    }

    /// Order of two candidates: tier, priority, provider, id. Never the order of loading.
    pub(crate) fn order(a: &Kernel, b: &Kernel) -> std::cmp::Ordering {
        let key = |k: &Kernel| -> (Tier, std::cmp::Reverse<i32>) {
            (k.decl.tier, std::cmp::Reverse(k.decl.priority))
        };
        key(a)
            .cmp(&key(b))
            .then_with(|| a.provider.cmp(&b.provider))
            .then_with(|| a.decl.id.cmp(&b.decl.id))
    }
}
