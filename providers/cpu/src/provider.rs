//! The provider and its settings.

use crate::device;
use crate::device::{Features, Share};
use crate::pool::Pool;
use overt_sdk::host::{HostDevice, Recorder};
use overt_sdk::{DeviceDesc, Error, Host, Options, Provider, Result, Sink};

overt_sdk::knob! {
    id: "cpu.features",
    default: "all",
    doc: "CPU features that kernels may use: all, none, or names with commas; those that the CPU or its system lacks stay off",
    at_create: true,
}

overt_sdk::knob! {
    id: "cpu.threads",
    default: 0,
    doc: "worker threads of all devices together; 0 for as many as the process may use",
    range: 0..=1024,
    at_create: true,
}

overt_sdk::knob! {
    id: "cpu.devices",
    default: 1,
    doc: "devices that the CPU is shown as, each with its own memory, streams and even part of the threads, at least one",
    range: 1..=MOST_DEVICES,
    at_create: true,
}

/// More parts than a machine has groups of cores are of use to nobody.
const MOST_DEVICES: i64 = 64;

/// The provider: the CPU of the process, as one device or as several.
pub struct Cpu {
    features: Features,
    shares: Vec<Share>,
    recorder: Recorder,
}

impl Provider for Cpu {
    const NAME: &'static str = "cpu";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");
    type Device = HostDevice;

    fn create(_: Host, options: &Options<'_>, _: Sink<'_>) -> Result<Self> {
        options.refuse_unknown(&["cpu.devices", "cpu.features", "cpu.threads"])?;
        let features = Features::live().masked(options.text("cpu.features")?.unwrap_or("all"))?;
        let threads = match options.i64("cpu.threads")?.unwrap_or(0) {
            // Counts what the process may run on, by affinity and control group.
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            n @ 1..=1024 => n as usize,
            n => {
                return Err(Error::invalid(format!(
                    "option `cpu.threads` is {n}; wanted 0 to 1024"
                )));
            }
        };
        let devices = match options.i64("cpu.devices")?.unwrap_or(1) {
            n @ 1..=MOST_DEVICES => n as usize,
            n => {
                return Err(Error::invalid(format!(
                    "option `cpu.devices` is {n}; wanted 1 to {MOST_DEVICES}"
                )));
            }
        };
        Ok(Self {
            features,
            shares: Share::split(threads, devices),
            recorder: Recorder::default(),
        })
    }

    fn devices(&self) -> Vec<DeviceDesc> {
        let describe = |share| device::describe(&self.features, share);
        self.shares.iter().map(describe).collect()
    }

    fn open(&self, index: usize, context: Option<&overt_abi::OvertImport>) -> Result<HostDevice> {
        if context.is_some() {
            return Err(Error::unsupported("the CPU has no contexts"));
        }
        let share = self.shares.get(index).ok_or_else(|| {
            Error::invalid(format!(
                "there is no device {index}; there are {}",
                self.shares.len()
            ))
        })?;
        Ok(HostDevice::new(Pool::new(share.threads)?, &self.recorder))
    }

    fn recorder(&self) -> Option<&Recorder> {
        Some(&self.recorder)
    }
}
