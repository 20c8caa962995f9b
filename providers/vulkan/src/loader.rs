//! The loader and the instance.

use ash::vk;
use overt_sdk::{Error, Result};
use parking_lot::Mutex;
use std::ffi::{CStr, c_void};

/// Where the loader is looked for when no option names a file.
const LOADERS: [&str; 2] = ["libvulkan.so.1", "libvulkan.so"];

/// Least version of a device whose kernels can run: timeline semaphores and buffer device addresses are core there.
pub const LEAST_VERSION: u32 = vk::API_VERSION_1_2;

/// An instance of Vulkan, alive as long as something of it is used.
pub struct Instance {
    pub raw: ash::Instance,
    // Dropped after `drop` has destroyed the instance: it keeps the library open.
    entry: ash::Entry,
    messenger: Option<(ash::ext::debug_utils::Instance, vk::DebugUtilsMessengerEXT)>,
    heard: Box<Heard>,
}

/// What loader, drivers and layers have said.
#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

/// Messages kept at most; a layer that repeats itself must not fill memory.
const MOST_HEARD: usize = 64;

/// Why there is no instance.
pub enum Absent {
    /// No loader, or no driver that it could use: a machine without Vulkan.
    Nothing(String),
    /// Something else.
    Failed(Error),
}

impl Instance {
    /// Opens the loader, the named one or the system's, and makes an instance with the layers asked for.
    pub fn new(loader: &str, validation: bool) -> Result<Instance, Absent> {
        let entry = open(loader)?;
        // SAFETY: the entry's functions are the loader's.
        let version = unsafe { entry.try_enumerate_instance_version() };
        let version = version
            .map_err(|e| Absent::Failed(failed("vkEnumerateInstanceVersion", e)))?
            .unwrap_or(vk::API_VERSION_1_0);
        if version < LEAST_VERSION {
            return Err(Absent::Nothing(format!(
                "the Vulkan loader speaks {}; {} is needed",
                shown(version),
                shown(LEAST_VERSION)
            )));
        }
        let extensions = extensions(&entry)?;
        let heard = Box::<Heard>::default();
        let speaks = extensions
            .iter()
            .any(|name| name.as_c_str() == ash::ext::debug_utils::NAME);
        let mut names = Vec::new();
        if speaks {
            names.push(ash::ext::debug_utils::NAME.as_ptr());
        }
        let application = vk::ApplicationInfo::default()
            .application_name(c"overt")
            .engine_name(c"overt")
            // The newest that is asked for anywhere; a device states its own.
            .api_version(vk::API_VERSION_1_3.max(LEAST_VERSION).min(version));
        let layers = match validation {
            true => vec![VALIDATION.as_ptr()],
            false => Vec::new(),
        };
        let mut to_us = messages(&heard);
        let mut info = vk::InstanceCreateInfo::default()
            .application_info(&application)
            .enabled_extension_names(&names)
            .enabled_layer_names(&layers);
        if speaks {
            info = info.push_next(&mut to_us);
        }
        // SAFETY: all that the info points to lives until the call returns, and the callback's data as long as the instance.
        let raw = match unsafe { entry.create_instance(&info, None) } {
            Ok(raw) => raw,
            Err(vk::Result::ERROR_INCOMPATIBLE_DRIVER) => {
                let mut words = "the Vulkan loader found no driver that it can use".to_owned();
                for said in heard.0.lock().drain(..) {
                    words += &format!("; it said: {said}");
                }
                return Err(Absent::Nothing(words));
            }
            Err(vk::Result::ERROR_LAYER_NOT_PRESENT) => {
                return Err(Absent::Failed(Error::missing(format!(
                    "the layer {} is asked for by `vulkan.validation` and not installed (Debian package vulkan-validationlayers)",
                    VALIDATION.to_string_lossy()
                ))));
            }
            Err(e) => return Err(Absent::Failed(failed("vkCreateInstance", e))),
        };
        let messenger = speaks.then(|| {
            let utils = ash::ext::debug_utils::Instance::new(&entry, &raw);
            // SAFETY: the callback's data lives in the instance, behind a box, until the messenger is destroyed.
            unsafe { utils.create_debug_utils_messenger(&messages(&heard), None) }
                .ok()
                .map(|messenger| (utils, messenger))
        });
        Ok(Instance {
            raw,
            entry,
            messenger: messenger.flatten(),
            heard,
        })
    }

    /// What was said since the last time.
    pub fn heard(&self) -> Vec<String> {
        std::mem::take(&mut self.heard.0.lock())
    }

    /// The loader's entries.
    pub fn entry(&self) -> &ash::Entry {
        &self.entry
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: everything made from the instance holds it, so all of that is gone.
        unsafe {
            if let Some((utils, messenger)) = self.messenger.take() {
                utils.destroy_debug_utils_messenger(messenger, None);
            }
            self.raw.destroy_instance(None);
        }
    }
}

const VALIDATION: &CStr = c"VK_LAYER_KHRONOS_validation";

fn open(loader: &str) -> Result<ash::Entry, Absent> {
    let names: Vec<&str> = match loader {
        "" => LOADERS.to_vec(),
        named => vec![named],
    };
    let mut tried = Vec::new();
    for name in names {
        // SAFETY: opening the system's Vulkan loader runs its initialisers, which is what it is for.
        match unsafe { ash::Entry::load_from(name) } {
            Ok(entry) => return Ok(entry),
            Err(error) => tried.push(format!("{name}: {error}")),
        }
    }
    let words = format!("no Vulkan loader: {}", tried.join("; "));
    Err(match loader {
        "" => Absent::Nothing(words),
        _ => Absent::Failed(Error::missing(words)),
    })
}

fn extensions(entry: &ash::Entry) -> Result<Vec<std::ffi::CString>, Absent> {
    // SAFETY: the entry's functions are the loader's.
    let found = unsafe { entry.enumerate_instance_extension_properties(None) };
    // Loaders answer so, with an error that names memory, when a driver's description cannot be read.
    let found = found.map_err(|e| {
        Absent::Nothing(format!(
            "the Vulkan loader cannot say what its drivers offer ({e:?}): a file that describes a driver may be damaged"
        ))
    })?;
    Ok(found
        .iter()
        .filter_map(|e| e.extension_name_as_c_str().ok())
        .map(Into::into)
        .collect())
}

fn messages(heard: &Heard) -> vk::DebugUtilsMessengerCreateInfoEXT<'static> {
    vk::DebugUtilsMessengerCreateInfoEXT::default()
        .message_severity(
            vk::DebugUtilsMessageSeverityFlagsEXT::ERROR
                | vk::DebugUtilsMessageSeverityFlagsEXT::WARNING,
        )
        .message_type(
            vk::DebugUtilsMessageTypeFlagsEXT::GENERAL
                | vk::DebugUtilsMessageTypeFlagsEXT::VALIDATION
                | vk::DebugUtilsMessageTypeFlagsEXT::PERFORMANCE,
        )
        .pfn_user_callback(Some(hear))
        .user_data(std::ptr::from_ref(heard).cast_mut().cast())
}

unsafe extern "system" fn hear(
    severity: vk::DebugUtilsMessageSeverityFlagsEXT,
    kinds: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    heard: *mut c_void,
) -> vk::Bool32 {
    // SAFETY: the message lives during the call, and `heard` as long as the messenger.
    unsafe {
        if let (Some(data), Some(heard)) = (data.as_ref(), heard.cast::<Heard>().as_ref())
            && let Some(message) = data.message_as_c_str()
        {
            let mut list = heard.0.lock();
            if list.len() < MOST_HEARD {
                list.push(format!(
                    "{severity:?} {kinds:?}: {}",
                    message.to_string_lossy()
                ));
            }
        }
    }
    vk::FALSE
}

/// A version as people write it.
pub fn shown(version: u32) -> String {
    format!(
        "{}.{}.{}",
        vk::api_version_major(version),
        vk::api_version_minor(version),
        vk::api_version_patch(version)
    )
}

/// An error of a driver's function, with the status that says what the host can do about it.
pub fn failed(function: &str, result: vk::Result) -> Error {
    let words = format!("{function}: {result:?} ({result})");
    match result {
        vk::Result::ERROR_DEVICE_LOST => Error::device_lost(words),
        vk::Result::ERROR_OUT_OF_DEVICE_MEMORY | vk::Result::ERROR_OUT_OF_HOST_MEMORY => {
            Error::out_of_memory(words)
        }
        vk::Result::ERROR_FEATURE_NOT_PRESENT
        | vk::Result::ERROR_EXTENSION_NOT_PRESENT
        | vk::Result::ERROR_LAYER_NOT_PRESENT => Error::unsupported(words),
        _ => Error::internal(words),
    }
}
