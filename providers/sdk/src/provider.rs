//! The provider: what finds devices and opens them.

use crate::call::{AttrValue, read_value};
use crate::declare::Declarations;
use crate::device::{Device, DeviceDesc};
use crate::host::Recorder;
use crate::text::{self, Sink, borrowed};
use crate::{Error, Result};
use overt_abi::{OvertHost, OvertImport, OvertOption};
use std::ffi::c_void;

/// A provider. One value is one *instance*; several may live at once, and a thousand one after another.
///
/// No provider reads the environment: settings come as options, thresholds as knobs.
pub trait Provider: Sized + Send + Sync + 'static {
    /// The name: the first part of kernel ids and of device names, `[a-z][a-z0-9_]*`.
    const NAME: &'static str;
    /// The version of the provider.
    const VERSION: &'static str;
    /// What its devices are.
    type Device: Device;

    /// Starts an instance. A provider without its driver or without devices succeeds, lists no device and writes to `notes`
    /// what it looked for and where. Options are the knobs declared `at_create`, all of them, defaults filled in; one that it
    /// does not know is an error ([`Options::refuse_unknown`]). May block on files and drivers.
    fn create(host: Host, options: &Options<'_>, notes: Sink<'_>) -> Result<Self>;

    /// The devices, fixed for the life of the instance.
    fn devices(&self) -> Vec<DeviceDesc>;

    /// Opens a device by its number in [`Self::devices`], which the edge has checked. The host opens it once. `context` is a
    /// context of the driver to work in; a provider without contexts refuses one with `OVERT_E_UNSUPPORTED`.
    fn open(&self, index: usize, context: Option<&OvertImport>) -> Result<Self::Device>;

    /// Adds declarations that are made from data rather than registered by a kernel's file. Called once, before any
    /// instance.
    fn declare(_all: &mut Declarations) {}

    /// The recorder of executed commands, which makes the extension `overt.command_recorder` available.
    fn recorder(&self) -> Option<&Recorder> {
        None
    }

    /// Any other extension by name, or null.
    fn extension(&self, _name: &str) -> *const c_void {
        std::ptr::null()
    }
}

/// What the host offers an instance.
#[derive(Clone, Copy)]
pub struct Host {
    raw: *const OvertHost,
}

// SAFETY: the host's struct is constant while the instance lives, and `log` may be called from any thread.
unsafe impl Send for Host {}
// SAFETY: as above.
unsafe impl Sync for Host {}

/// How much a message matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Something failed.
    Error = 1,
    /// Something is not as it should be.
    Warning = 2,
    /// Something worth knowing.
    Information = 3,
    /// For whoever looks closely.
    Detail = 4,
}

impl Host {
    /// # Safety
    /// `raw` is null or lives until the instance is destroyed.
    pub(crate) unsafe fn new(raw: *const OvertHost) -> Self {
        Self { raw }
    }

    /// Hands a message to the host. From any thread.
    pub fn log(&self, level: Level, message: &str) {
        // SAFETY: null, or alive by the rule of `new`.
        if let Some(host) = unsafe { self.raw.as_ref() }
            && let Some(log) = host.log
        {
            // SAFETY: the host's function with the host's context.
            unsafe { log(host.context, level as u32, borrowed(message)) }
        }
    }

    /// The negotiated ABI version.
    pub fn abi_version(&self) -> u32 {
        // SAFETY: null, or alive by the rule of `new`.
        unsafe { self.raw.as_ref() }.map_or(0, |host| host.abi_version)
    }
}

/// Values of the knobs that the provider declared `at_create`.
pub struct Options<'a> {
    items: Vec<(&'a str, AttrValue<'a>)>,
}

impl<'a> Options<'a> {
    /// # Safety
    /// `options` points to `count` options that live for `'a`.
    pub(crate) unsafe fn new(options: *const OvertOption, count: u32) -> Result<Self> {
        let mut items = Vec::with_capacity(count as usize);
        if count > 0 {
            // SAFETY: the caller's promise.
            let first = unsafe { options.as_ref() }
                .ok_or_else(|| Error::invalid("`options` is null with a count above 0"))?;
            let stride = first.size as usize;
            if stride < size_of::<OvertOption>() || !stride.is_multiple_of(8) {
                return Err(Error::abi(format!(
                    "OvertOption has size {stride}; the first version has {}",
                    size_of::<OvertOption>()
                )));
            }
            for i in 0..count as usize {
                // SAFETY: inside the array, whose stride its first element states; text as the host promises.
                items.push(unsafe {
                    let option = &*options.cast::<u8>().add(i * stride).cast::<OvertOption>();
                    (
                        text::read(option.key, "option key")?,
                        read_value(&option.value, "option value")?,
                    )
                });
            }
        }
        Ok(Self { items })
    }

    /// The value of an option; the last one given counts.
    pub fn get(&self, key: &str) -> Option<AttrValue<'a>> {
        self.items
            .iter()
            .rev()
            .find(|(k, _)| *k == key)
            .map(|(_, v)| *v)
    }

    /// An integer option, `None` when it was not given.
    pub fn i64(&self, key: &str) -> Result<Option<i64>> {
        match self.get(key) {
            None | Some(AttrValue::None) => Ok(None),
            Some(AttrValue::I64(v)) => Ok(Some(v)),
            Some(other) => Err(wrong(key, "an integer", other)),
        }
    }

    /// A truth option, `None` when it was not given.
    pub fn bool(&self, key: &str) -> Result<Option<bool>> {
        match self.get(key) {
            None | Some(AttrValue::None) => Ok(None),
            Some(AttrValue::Bool(v)) => Ok(Some(v)),
            Some(other) => Err(wrong(key, "a truth value", other)),
        }
    }

    /// A text option, `None` when it was not given.
    pub fn text(&self, key: &str) -> Result<Option<&'a str>> {
        match self.get(key) {
            None | Some(AttrValue::None) => Ok(None),
            Some(AttrValue::Str(v)) => Ok(Some(v)),
            Some(other) => Err(wrong(key, "text", other)),
        }
    }

    /// All options in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, AttrValue<'a>)> + '_ {
        self.items.iter().copied()
    }

    /// An error that names the first option outside `known`.
    pub fn refuse_unknown(&self, known: &[&str]) -> Result<()> {
        match self.items.iter().find(|(k, _)| !known.contains(k)) {
            None => Ok(()),
            Some((key, _)) => Err(Error::invalid(format!(
                "unknown option `{key}`; known: {}",
                if known.is_empty() {
                    "none".into()
                } else {
                    known.join(", ")
                }
            ))),
        }
    }
}

fn wrong(key: &str, wanted: &str, got: AttrValue<'_>) -> Error {
    Error::invalid(format!("option `{key}` is {got:?}; wanted {wanted}"))
}
