//! The provider: devices out of a list of names.

use crate::context::Context;
use crate::device::FakeDevice;
use crate::{NAME, arch, observer};
use overt_sdk::host::Recorder;
use overt_sdk::{DeviceDesc, DeviceKind, Error, Host, Level, Options, Provider, Result, Sink};
use std::ffi::c_void;

/// One instance.
pub struct Fake {
    context: Context,
    devices: Vec<DeviceDesc>,
}

impl Provider for Fake {
    const NAME: &'static str = NAME;
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");
    type Device = FakeDevice;

    fn create(host: Host, options: &Options<'_>, notes: Sink<'_>) -> Result<Self> {
        let text = |name: &str| -> Result<&str> {
            Ok(options.text(&format!("{NAME}.{name}"))?.unwrap_or_default())
        };
        let context = Context::new(text("label")?, text("misbehave")?);
        context.entry("create");
        if context.has("env") {
            // Exactly what no provider may do; a test looks for it.
            let _ = std::env::var_os("OVERT_FAKE_SECRET");
        }
        if context.has("fail_create") {
            return Err(Error::missing("libfake.so.1 was not found in /nowhere"));
        }
        let pause = options.i64(&format!("{NAME}.create_ms"))?.unwrap_or(0);
        std::thread::sleep(std::time::Duration::from_millis(pause.max(0) as u64));
        let label = text("label")?;
        let mut devices = Vec::new();
        for (index, name) in text("devices")?
            .split(',')
            .map(str::trim)
            .filter(|n| !n.is_empty())
            .enumerate()
        {
            let id = format!("uuid:{NAME}-{label}-{index}");
            let mut desc = DeviceDesc::new(id, format!("fake {name}"), arch::parse(name)?);
            desc.kind = DeviceKind::Software;
            desc.driver = "fake driver 1.0".into();
            desc.memory_bytes = 1 << 30;
            desc.facts.push(("lds_bytes".into(), 65_536i64.into()));
            devices.push(desc);
        }
        if devices.is_empty() {
            notes.write("looked for devices in the knob, and there are none");
        }
        host.log(Level::Detail, "started");
        Ok(Fake { context, devices })
    }

    fn devices(&self) -> Vec<DeviceDesc> {
        self.context.entry("devices");
        self.devices.clone()
    }

    fn open(
        &self,
        index: usize,
        import: Option<&overt_sdk::abi::OvertImport>,
    ) -> Result<FakeDevice> {
        self.context.entry("open");
        if import.is_some() {
            return Err(Error::unsupported("there are no contexts"));
        }
        let mut context = self.context.clone();
        context.device = index;
        Ok(FakeDevice::new(context))
    }

    fn recorder(&self) -> Option<&Recorder> {
        Some(&self.context.label.recorder)
    }

    fn extension(&self, name: &str) -> *const c_void {
        if name == observer::EXTENSION {
            observer::of(&self.context.label)
        } else {
            std::ptr::null()
        }
    }
}
