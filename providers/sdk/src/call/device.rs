//! A device's description, as a guard callback reads it.

use super::{AttrValue, read_value};
use crate::{Error, Result, text};
use overt_abi::{OVERT_FEATURE_ANY, OvertArch, OvertDeviceInfo};

/// What the host knows of a device, which need not be open or even present.
#[derive(Clone, Copy)]
pub struct DeviceView<'a> {
    raw: &'a OvertDeviceInfo,
}

impl<'a> DeviceView<'a> {
    /// # Safety
    /// `raw` is null or points to a description that, with all it points to, lives for `'a`.
    pub(crate) unsafe fn from_abi(raw: *const OvertDeviceInfo) -> Result<Self> {
        // SAFETY: the caller's promise.
        let raw = unsafe { raw.as_ref() }.ok_or_else(|| Error::invalid("`device` is null"))?;
        if (raw.size as usize) < size_of::<OvertDeviceInfo>() {
            return Err(Error::abi(format!(
                "OvertDeviceInfo has size {}; the first version has {}",
                raw.size,
                size_of::<OvertDeviceInfo>()
            )));
        }
        Ok(Self { raw })
    }

    /// A fact by its name without `device.`, `None` where the description has none of that name.
    pub fn fact(&self, name: &str) -> Option<AttrValue<'a>> {
        if self.raw.facts.is_null() {
            return None;
        }
        (0..self.raw.fact_count as usize).find_map(|i| {
            // SAFETY: inside the list; its text lives as long as the description. Facts are atoms, so their size is the stride.
            unsafe {
                let fact = &*self.raw.facts.add(i);
                (text::read(fact.name, "fact").ok()? == name)
                    .then(|| read_value(&fact.value, name).ok())?
            }
        })
    }

    /// Family, major, minor and stepping of the architecture.
    pub fn arch(&self) -> Option<(&'a str, u32, u32, u32)> {
        // SAFETY: null, or lives as long as the description.
        unsafe {
            let arch: &OvertArch = self.raw.arch.as_ref()?;
            let family = text::read(arch.family, "arch family").ok()?;
            Some((family, arch.major, arch.minor, arch.stepping))
        }
    }

    /// Whether a feature of the architecture is in the wanted state; `false` when it is not stated.
    pub fn feature(&self, name: &str, on: bool) -> bool {
        // SAFETY: null, or lives as long as the description; the first element states the stride.
        unsafe {
            let Some(arch) = self.raw.arch.as_ref() else {
                return false;
            };
            let Some(first) = arch.features.as_ref() else {
                return false;
            };
            let stride = first.size as usize;
            (0..arch.feature_count as usize).any(|i| {
                let feature = &*arch
                    .features
                    .cast::<u8>()
                    .add(i * stride)
                    .cast::<overt_abi::OvertArchFeature>();
                let wanted = if on {
                    overt_abi::OVERT_FEATURE_ON
                } else {
                    overt_abi::OVERT_FEATURE_OFF
                };
                feature.state != OVERT_FEATURE_ANY
                    && feature.state == wanted
                    && text::read(feature.name, "feature") == Ok(name)
            })
        }
    }
}
