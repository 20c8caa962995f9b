//! The runtime: a registry that can grow while work goes on, and what all streams share.

use crate::bind::{Arguments, Call, Problem};
use crate::builder::RuntimeBuilder;
use crate::count::{Counts, MAX_SLOTS, Shards};
use crate::error::Error;
use crate::launch::{PackCache, Plan, Stream};
use crate::load::decl::Tier;
use crate::load::{LoadReport, LoadRequest, Surroundings};
use crate::registry::{Device, Instance, Kernel, KernelHome, Op, Snapshot, near};
use crate::select::{Policy, Selection, Table, explain_anywhere};
use parking_lot::{Mutex, RwLock};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A runtime: providers, devices, ops and kernels, and the counters of what ran. Cheap to clone; clones are one runtime. `Send` and
/// `Sync`. Several may live in one process, and share opened libraries.
#[derive(Clone)]
pub struct Runtime(pub(crate) Arc<Core>);

pub(crate) struct Core {
    snapshot: RwLock<Arc<Snapshot>>,
    /// The snapshot's generation, for a check without a lock.
    generation: AtomicU64,
    /// Serialises changes.
    changing: Mutex<()>,
    pub(crate) shards: Shards,
    slots: Mutex<Slots>,
    tables: Mutex<HashMap<(u32, u32), Arc<Table>>>,
    pub(crate) packs: PackCache,
    pub(crate) checked: bool,
    streams: AtomicU64,
}

#[derive(Default)]
struct Slots {
    by_pair: HashMap<(u32, u32), u32>,
    names: Vec<SlotName>,
}

#[derive(Clone)]
struct SlotName {
    kernel: String,
    device: String,
    tier: Tier,
}

/// The counts of one kernel on one device.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct KernelCounts {
    /// The kernel's id.
    pub kernel: String,
    /// The device's name.
    pub device: String,
    /// Its tier.
    pub tier: Tier,
    /// The counts.
    pub counts: Counts,
}

/// A kernel, as listed.
#[derive(Clone, Debug)]
pub struct KernelListing {
    /// Its declaration.
    pub decl: crate::load::decl::KernelDecl,
    /// Its provider.
    pub provider: String,
    /// Why its provider did not load, if it did not.
    pub failed: Option<String>,
    /// Why its op is refused, if it is.
    pub refused: Option<String>,
    /// The images that hold it, as patterns; those not built are marked.
    pub images: Vec<String>,
}

impl Runtime {
    /// Starts to describe a runtime.
    pub fn builder() -> RuntimeBuilder {
        RuntimeBuilder::default()
    }

    pub(crate) fn start(snapshot: Snapshot, checked: bool) -> Runtime {
        Runtime(Arc::new(Core {
            generation: AtomicU64::new(snapshot.generation),
            snapshot: RwLock::new(Arc::new(snapshot)),
            changing: Mutex::new(()),
            shards: Shards::default(),
            slots: Mutex::default(),
            tables: Mutex::default(),
            packs: PackCache::default(),
            checked,
            streams: AtomicU64::new(1),
        }))
    }

    /// All devices, in the order of providers.
    pub fn devices(&self) -> Vec<Device> {
        self.0.snapshot().devices.clone()
    }

    /// A device by name: `cpu:0`, or `cpu` for the first.
    pub fn device(&self, name: &str) -> Result<Device, Error> {
        self.0.snapshot().device(name)
    }

    /// All ops, by name.
    pub fn ops(&self) -> Vec<Op> {
        self.0.snapshot().ops.values().cloned().collect()
    }

    /// An op by name: `rms_norm.1`, or `rms_norm` for its newest version.
    pub fn op(&self, name: &str) -> Result<Op, Error> {
        self.0.snapshot().op(name)
    }

    /// Declared ops that were refused: provider, op, reason.
    pub fn refused_ops(&self) -> Vec<(String, String, String)> {
        self.0.snapshot().refused_ops.clone()
    }

    /// All kernels, of providers that did not load too, in order of preference inside each op.
    pub fn kernels(&self) -> Vec<KernelListing> {
        let snapshot = self.0.snapshot();
        let mut kernels = snapshot.kernels.clone();
        kernels.sort_by(|a, b| {
            a.decl
                .op
                .cmp(&b.decl.op)
                .then_with(|| Snapshot::order(a, b))
        });
        kernels.iter().map(|k| listing(k)).collect()
    }

    /// The kernels that are candidates for an op on a device, in order of preference.
    pub fn candidates(&self, op: &Op, device: &Device) -> Vec<KernelListing> {
        let mut kernels = self.0.snapshot().candidates(op, device);
        kernels.sort_by(|a, b| Snapshot::order(a, b));
        kernels.iter().map(|k| listing(k)).collect()
    }

    /// Every path that was tried for a provider, and what came of it.
    pub fn load_report(&self) -> LoadReport {
        self.0.snapshot().report.clone()
    }

    /// Providers that did not load or did not start, with the reasons.
    pub fn failed_providers(&self) -> Vec<crate::load::FailedProvider> {
        self.0.snapshot().failed.clone()
    }

    /// What each running provider said while it started: name, version and words.
    pub fn providers(&self) -> Vec<ProviderListing> {
        let snapshot = self.0.snapshot();
        snapshot
            .instances
            .iter()
            .map(|i| ProviderListing {
                name: i.name().to_owned(),
                version: i.provider.decl.version.clone(),
                path: i.provider.path.clone(),
                digest: crate::load::hex(i.provider.library.digest()),
                words: i.words.clone(),
                abi: crate::load::decl::abi_version_text(i.provider.decl.abi_version),
                build: i.provider.decl.build.clone(),
                devices: snapshot
                    .devices
                    .iter()
                    .filter(|d| d.provider() == i.name())
                    .count(),
                kernels: i.provider.decl.kernels.len(),
            })
            .collect()
    }

    /// Selects for a problem and tells everything about it. Pure: nothing is opened, launched or counted.
    pub fn explain(&self, problem: &Problem, device: &Device) -> Result<Selection, Error> {
        let snapshot = self.0.snapshot();
        snapshot.own(problem.op())?;
        Ok(explain_anywhere(
            &snapshot,
            problem,
            device,
            problem.is_capturing(),
        )?)
    }

    /// Explains a call on a device.
    pub fn explain_call(&self, call: &Call<'_>, device: &Device) -> Result<Selection, Error> {
        let snapshot = self.0.snapshot();
        snapshot.own(call.op)?;
        Ok(explain_anywhere(&snapshot, call, device, false)?)
    }

    /// Makes a stream: a queue of work on the device, in order, used by one thread at a time.
    pub fn stream(&self, device: &Device) -> Result<Stream, Error> {
        Stream::create(self, device)
    }

    /// Selects for a call and makes it ready to launch again and again with little cost. May compile and take long.
    pub fn plan(&self, call: &Call<'_>, device: &Device) -> Result<Plan, Error> {
        Plan::make(self, call, device)
    }

    /// The counts of every kernel on every device that was ever selected, streams that are gone included. Exact for all work that
    /// happened before the call; work of other threads meanwhile may or may not be in it.
    pub fn counts(&self) -> Vec<KernelCounts> {
        let counts = self.0.shards.read();
        let slots = self.0.slots.lock();
        counts
            .into_iter()
            .filter_map(|(slot, counts)| {
                let name = slots.names.get(slot as usize)?;
                Some(KernelCounts {
                    kernel: name.kernel.clone(),
                    device: name.device.clone(),
                    tier: name.tier,
                    counts,
                })
            })
            .collect()
    }

    /// The counts of one kernel over all devices.
    pub fn counts_of(&self, kernel: &str) -> Counts {
        self.counts()
            .iter()
            .filter(|c| c.kernel == kernel)
            .fold(Counts::default(), |mut sum, c| {
                sum += c.counts;
                sum
            })
    }

    /// Loads a provider while the runtime runs. Plans and graphs made before become stale; work in flight goes on.
    pub fn load_provider(&self, path: &Path) -> Result<(), Error> {
        let request = LoadRequest {
            asked: vec![path.to_owned()],
            search: false,
            surroundings: Surroundings::none(),
        };
        let loaded = crate::load::load(&request)?;
        self.0.change(|snapshot| {
            snapshot.report.tried.extend(loaded.report.tried);
            for provider in loaded.providers {
                if snapshot
                    .instances
                    .iter()
                    .any(|i| i.name() == provider.decl.name)
                {
                    return Err(Error::provider(
                        &provider.decl.name,
                        "provider_query",
                        overt_abi::OVERT_E_INVALID,
                        "a provider of this name is running already".into(),
                    ));
                }
                let knobs = snapshot.knobs.clone();
                let instance =
                    Instance::start(Arc::new(provider), &|knob| knobs.value(knob, None))?;
                let devices = instance.devices()?;
                snapshot.add_instance(&instance, devices);
            }
            loaded
                .failed
                .into_iter()
                .for_each(|f| snapshot.add_failed(f));
            Ok(())
        })
    }

    /// Replaces the policy. Plans and graphs made before become stale.
    pub fn set_policy(&self, policy: Policy) -> Result<(), Error> {
        self.0.change(|snapshot| {
            snapshot.policy = Arc::new(check_policy(snapshot, policy)?);
            Ok(())
        })
    }

    /// The policy in force.
    pub fn policy(&self) -> Policy {
        self.0.snapshot().policy.as_ref().clone()
    }

    /// Sets a knob of a provider from its text. Plans and graphs made before become stale. A knob that is fixed when its provider
    /// starts can only be set by [`RuntimeBuilder::knob`].
    pub fn set_knob(&self, id: &str, value: &str) -> Result<(), Error> {
        self.0.change(|snapshot| {
            let setting = crate::knob::Setting {
                id: id.into(),
                value: crate::load::decl::Value::Str(value.into()),
            };
            snapshot.check_knobs(std::slice::from_ref(&setting))?;
            if let Some((_, knob)) = snapshot
                .knob_decls()
                .find(|(_, k)| k.id == id && k.at_create)
            {
                return Err(Error::KnobValue {
                    name: id.into(),
                    got: value.into(),
                    wanted: "to be set before the provider starts (RuntimeBuilder::knob)".into(),
                    doc: knob.doc.clone(),
                });
            }
            // The last setting of a knob counts; earlier ones would only pile up.
            snapshot.knobs.0.retain(|earlier| earlier.id != setting.id);
            snapshot.knobs.0.push(setting);
            Ok(())
        })
    }

    /// Generation of the registry: grows with every change of providers, knobs or policy.
    pub fn generation(&self) -> u64 {
        self.0.generation()
    }
}

/// A running provider, as listed.
#[derive(Clone, Debug)]
pub struct ProviderListing {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The library.
    pub path: std::path::PathBuf,
    /// SHA-256 of the library.
    pub digest: String,
    /// What it said while starting: what it looked for, and where.
    pub words: String,
    /// The negotiated ABI version.
    pub abi: String,
    /// How it was built.
    pub build: Option<crate::load::decl::BuildInfo>,
    /// Number of its devices.
    pub devices: usize,
    /// Number of its kernels.
    pub kernels: usize,
}

fn listing(kernel: &Kernel) -> KernelListing {
    KernelListing {
        decl: kernel.decl.clone(),
        provider: kernel.provider.clone(),
        failed: match &kernel.home {
            KernelHome::Failed(why) => Some(why.clone()),
            KernelHome::Loaded(_) => None,
        },
        refused: kernel.refused.clone(),
        images: kernel
            .images
            .iter()
            .map(|i| {
                let pattern = i
                    .pattern
                    .as_ref()
                    .map_or_else(|| i.id.clone(), ToString::to_string);
                if i.not_built.is_some() {
                    format!("{pattern} (not built)")
                } else {
                    pattern
                }
            })
            .collect(),
    }
}

/// Checks that pins and denials name what exists, and gives pins the full names of their ops: a pin of `add` would otherwise be
/// accepted and then match no call.
pub(crate) fn check_policy(snapshot: &Snapshot, mut policy: Policy) -> Result<Policy, Error> {
    let known = snapshot.kernel_ids();
    let named = policy
        .pins
        .iter()
        .map(|p| &p.kernel)
        .chain(policy.denials.iter().map(|d| &d.kernel));
    for name in named {
        if !known.contains(name) {
            return Err(Error::UnknownKernel {
                name: name.clone(),
                near: near(name, known.iter().map(String::as_str)),
            });
        }
    }
    for pin in &mut policy.pins {
        pin.op = snapshot.op(&pin.op)?.name().to_owned();
    }
    let devices = policy
        .pins
        .iter()
        .map(|p| &p.device)
        .chain(policy.denials.iter().map(|d| &d.device))
        .chain(policy.fallback.iter().map(|r| &r.device))
        .flatten();
    for device in devices {
        snapshot.device(device)?;
    }
    Ok(policy)
}

impl Core {
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.read().clone()
    }

    #[inline]
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Makes the next snapshot. On an error nothing changes.
    fn change(&self, change: impl FnOnce(&mut Snapshot) -> Result<(), Error>) -> Result<(), Error> {
        let _one = self.changing.lock();
        let mut next = (*self.snapshot()).clone();
        change(&mut next)?;
        next.generation += 1;
        let generation = next.generation;
        *self.snapshot.write() = Arc::new(next);
        self.tables.lock().clear();
        self.generation.store(generation, Ordering::Release);
        Ok(())
    }

    /// The table of an op on a device, for the current generation.
    pub(crate) fn table(
        &self,
        op: &Op,
        device: &Device,
    ) -> Result<(Arc<Snapshot>, Arc<Table>), Error> {
        let snapshot = self.snapshot();
        snapshot.own(op)?;
        let key = (op.0.number, device.number());
        if let Some(table) = self.tables.lock().get(&key)
            && table.generation == snapshot.generation
        {
            return Ok((snapshot, table.clone()));
        }
        // Two threads may build the same table; either is right.
        let table = Arc::new(Table::new(&snapshot, op, device));
        self.tables.lock().insert(key, table.clone());
        Ok((snapshot, table))
    }

    /// The counters' slot of a kernel on a device.
    pub(crate) fn slot(&self, kernel: &Kernel, device: &Device) -> Result<u32, Error> {
        let mut slots = self.slots.lock();
        let key = (kernel.number, device.number());
        if let Some(slot) = slots.by_pair.get(&key) {
            return Ok(*slot);
        }
        let slot = slots.names.len();
        if slot >= MAX_SLOTS {
            return Err(Error::internal(format!(
                "more than {MAX_SLOTS} kernels on devices are in use; none can be counted more"
            )));
        }
        slots.names.push(SlotName {
            kernel: kernel.decl.id.clone(),
            device: device.name().to_owned(),
            tier: kernel.decl.tier,
        });
        slots.by_pair.insert(key, slot as u32);
        Ok(slot as u32)
    }

    /// The kernel id behind a slot.
    pub(crate) fn slot_kernel(&self, slot: u32) -> String {
        self.slots
            .lock()
            .names
            .get(slot as usize)
            .map_or_else(|| format!("slot {slot}"), |n| n.kernel.clone())
    }

    pub(crate) fn next_stream(&self) -> u64 {
        self.streams.fetch_add(1, Ordering::Relaxed)
    }

    /// Selects for arguments on a device outside any stream.
    pub(crate) fn select<A: Arguments>(
        &self,
        args: &A,
        bound: &crate::bind::Bound,
        device: &Device,
        capturing: bool,
    ) -> Result<(Arc<crate::select::Ready>, Arc<Table>), Error> {
        let (snapshot, table) = self.table(args.op(), device)?;
        let slots = |kernel: &Kernel, device: &Device| self.slot(kernel, device);
        let ready = table.select(&snapshot, &slots, args, bound, capturing)?;
        Ok((ready, table))
    }
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime")
            .field("generation", &self.generation())
            .finish_non_exhaustive()
    }
}
