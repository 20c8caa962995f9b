//! A running provider.

use super::DeviceInfo;
use crate::error::Error;
use crate::ffi::{Words, text};
use crate::load::decl::{KnobDecl, ProviderDecl, Value};
use crate::load::{LoadedProvider, read_device_info};
use crate::memory::Retired;
use overt_abi::{
    OVERT_OK, OvertDeviceInfo, OvertHost, OvertInstance, OvertOption, OvertProviderApi,
    OvertStatus, OvertStr,
};
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;

/// More devices than any machine has; a provider that states more is broken.
const MAX_DEVICES: u32 = 1024;

/// One instance of a provider. Ends when the last device, stream, tensor or graph of it is gone.
pub(crate) struct Instance {
    pub(crate) provider: Arc<LoadedProvider>,
    raw: NonNull<OvertInstance>,
    /// What the provider said while starting: what it looked for, and where.
    pub(crate) words: String,
    pub(crate) retired: Arc<Retired>,
    // Must live as long as the instance, at a fixed place.
    _host: Box<HostTable>,
}

struct HostTable {
    table: OvertHost,
    name: String,
}

// SAFETY: `raw` is used through entries that the ABI lets any thread call; `_host` is only read, by the provider, whose log
// entry may come from any thread and reads an immutable string.
unsafe impl Send for Instance {}
// SAFETY: as above.
unsafe impl Sync for Instance {}

impl Instance {
    /// Starts a provider with the values of the knobs that it wants at creation.
    pub(crate) fn start(
        provider: Arc<LoadedProvider>,
        knobs: &dyn Fn(&KnobDecl) -> Value,
    ) -> Result<Arc<Instance>, Error> {
        let create = entry(
            provider.api.provider_create,
            &provider.decl,
            "provider_create",
        )?;
        let mut host = Box::new(HostTable {
            table: OvertHost {
                size: size_of::<OvertHost>() as u32,
                abi_version: provider.decl.abi_version,
                context: std::ptr::null_mut(),
                log: Some(log),
            },
            name: provider.decl.name.clone(),
        });
        host.table.context = std::ptr::from_ref(&host.name).cast_mut().cast();
        let values: Vec<(&str, Value)> = provider
            .decl
            .knobs
            .iter()
            .filter(|k| k.at_create)
            .map(|k| (k.id.as_str(), knobs(k)))
            .collect();
        let options: Vec<OvertOption> = values
            .iter()
            .map(|(id, value)| OvertOption {
                size: size_of::<OvertOption>() as u32,
                reserved: 0,
                key: text(id),
                value: crate::value::raw(value),
            })
            .collect();
        let mut words = Words::default();
        let sink = words.sink();
        let mut raw = std::ptr::null_mut();
        // SAFETY: the host table lives in the box that the instance keeps; options, sink and out-pointer are valid for the call.
        let status = unsafe {
            create(
                &host.table,
                options.as_ptr(),
                options.len() as u32,
                &mut raw,
                &sink,
            )
        };
        let words = words.take();
        let raw = match (status, NonNull::new(raw)) {
            (OVERT_OK, Some(raw)) => raw,
            (OVERT_OK, None) => {
                return Err(Error::provider(
                    &provider.decl.name,
                    "provider_create",
                    status,
                    "it returned no instance".into(),
                ));
            }
            _ => {
                return Err(Error::provider(
                    &provider.decl.name,
                    "provider_create",
                    status,
                    words,
                ));
            }
        };
        Ok(Arc::new(Instance {
            provider,
            raw,
            words,
            retired: Arc::default(),
            _host: host,
        }))
    }

    pub(crate) fn raw(&self) -> *mut OvertInstance {
        self.raw.as_ptr()
    }

    pub(crate) fn api(&self) -> &OvertProviderApi {
        &self.provider.api
    }

    pub(crate) fn name(&self) -> &str {
        &self.provider.decl.name
    }

    /// Turns a status into a result.
    pub(crate) fn check(
        &self,
        name: &'static str,
        status: OvertStatus,
        words: &mut Words,
    ) -> Result<(), Error> {
        if status == OVERT_OK {
            Ok(())
        } else {
            Err(Error::provider(self.name(), name, status, words.take()))
        }
    }
}

/// A device that an instance described.
pub(crate) struct Found {
    pub(super) info: DeviceInfo,
    pub(super) raw: *const OvertDeviceInfo,
}

impl Instance {
    /// Asks for every device.
    pub(crate) fn devices(&self) -> Result<Vec<Found>, Error> {
        let decl = &self.provider.decl;
        let count_entry = entry(self.api().device_count, decl, "device_count")?;
        let info_entry = entry(self.api().device_info, decl, "device_info")?;
        let mut words = Words::default();
        let sink = words.sink();
        let mut count = 0;
        // SAFETY: the instance is the provider's own; out-pointer and sink are valid for the call.
        let status = unsafe { count_entry(self.raw(), &mut count, &sink) };
        self.check("device_count", status, &mut words)?;
        if count > MAX_DEVICES {
            let why = format!("it states {count} devices; this host takes at most {MAX_DEVICES}");
            return Err(Error::provider(self.name(), "device_count", status, why));
        }
        (0..count)
            .map(|index| {
                let mut raw = std::ptr::null();
                // SAFETY: as above, with an index below the count.
                let status = unsafe { info_entry(self.raw(), index, &mut raw, &sink) };
                self.check("device_info", status, &mut words)?;
                let info = read_device_info(raw).map_err(|e| {
                    Error::provider(
                        self.name(),
                        "device_info",
                        status,
                        format!("device {index}: {e}"),
                    )
                })?;
                Ok(Found { info, raw })
            })
            .collect()
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if let Some(destroy) = self.provider.api.provider_destroy {
            // SAFETY: devices hold this instance, so all of them are closed; the pointer is the provider's own, passed once.
            unsafe { destroy(self.raw.as_ptr()) };
        }
    }
}

impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Instance")
            .field("provider", &self.name())
            .finish_non_exhaustive()
    }
}

/// A required entry: the loader has refused providers without it, so its absence is only an error of this host.
pub(crate) fn entry<F>(
    entry: Option<F>,
    decl: &ProviderDecl,
    name: &'static str,
) -> Result<F, Error> {
    entry.ok_or_else(|| Error::Unsupported {
        provider: decl.name.clone(),
        entry: name,
    })
}

unsafe extern "C" fn log(context: *mut c_void, level: u32, piece: OvertStr) {
    if context.is_null() || piece.data.is_null() {
        return;
    }
    // SAFETY: the context is the name inside the instance's host table, which lives until `provider_destroy` has returned.
    let provider = unsafe { &*context.cast::<String>() };
    // SAFETY: the provider vouches for the text for the duration of this call.
    let bytes = unsafe { std::slice::from_raw_parts(piece.data, piece.len as usize) };
    let message = String::from_utf8_lossy(bytes);
    match level {
        1 => tracing::error!(provider, "{message}"),
        2 => tracing::warn!(provider, "{message}"),
        3 => tracing::info!(provider, "{message}"),
        _ => tracing::debug!(provider, "{message}"),
    }
}
