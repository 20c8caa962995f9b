//! The provider and its settings.

use crate::device;
use crate::device::Features;
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
    doc: "worker threads of the device; 0 for as many as the process may use",
    range: 0..=1024,
    at_create: true,
}

/// The provider: one device, the CPU of the process.
pub struct Cpu {
    features: Features,
    threads: usize,
    recorder: Recorder,
}

impl Provider for Cpu {
    const NAME: &'static str = "cpu";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");
    type Device = HostDevice;

    fn create(_: Host, options: &Options<'_>, _: Sink<'_>) -> Result<Self> {
        options.refuse_unknown(&["cpu.features", "cpu.threads"])?;
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
        Ok(Self {
            features,
            threads,
            recorder: Recorder::default(),
        })
    }

    fn devices(&self) -> Vec<DeviceDesc> {
        vec![device::describe(&self.features, self.threads)]
    }

    fn open(&self, _index: usize, context: Option<&overt_abi::OvertImport>) -> Result<HostDevice> {
        if context.is_some() {
            return Err(Error::unsupported("the CPU has no contexts"));
        }
        Ok(HostDevice::new(Pool::new(self.threads)?, &self.recorder))
    }

    fn recorder(&self) -> Option<&Recorder> {
        Some(&self.recorder)
    }
}
