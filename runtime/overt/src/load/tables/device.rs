//! Device descriptions, read with the same distrust as declarations. They are asked for after loading, from an instance.

use super::read::{At, Reader};
use crate::load::decl::{Arch, Value};
use crate::load::fault::NegotiateError;
use crate::load::memory::Memory;
use overt_abi::*;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a device is, as its driver states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// The driver does not say, or says something that this host does not know.
    Unknown,
    /// A real device.
    Hardware,
    /// A driver that computes on the CPU.
    Software,
    /// An interpreter of another device's machine code.
    Interpreted,
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            DeviceKind::Unknown => "unknown",
            DeviceKind::Hardware => "hardware",
            DeviceKind::Software => "software",
            DeviceKind::Interpreted => "interpreted",
        })
    }
}

/// A named value of a device.
#[derive(Clone, Debug, PartialEq)]
pub struct FactDecl {
    /// The name without `device.`.
    pub name: String,
    /// The value; never a fact reference or a pattern.
    pub value: Value,
}

/// A device as its provider describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceDecl {
    /// What it is.
    pub kind: DeviceKind,
    /// The host may address its allocations while no work on them is pending.
    pub host_addressable: bool,
    /// Peer access may be asked.
    pub peer: bool,
    /// `uuid:…` or `pci:…`; never empty.
    pub id: String,
    /// Marketing name.
    pub name: String,
    /// Driver and its version.
    pub driver: String,
    /// PCI address, empty if unknown.
    pub pci: String,
    /// Its architecture.
    pub arch: Arch,
    /// Features and limits; names are unique.
    pub facts: Vec<FactDecl>,
    /// Memory in bytes, 0 if unknown.
    pub memory_bytes: u64,
}

/// Copies what `device_info` answered. The pointer is the provider's and is not trusted; what it reaches must not change
/// during the call. Where the platform has no checked reader (see the loader's notes) a wild pointer is undefined behaviour.
pub fn read_device_info(pointer: *const OvertDeviceInfo) -> Result<DeviceDecl, NegotiateError> {
    let memory = Memory::open();
    let reader = Reader { memory: &memory };
    let at = At::root("device");
    let raw = reader.one(pointer, &at)?;
    let id = reader.text(raw.id, &at.field("id"))?;
    if id.is_empty() {
        return Err(NegotiateError::Name {
            at: "device.id".into(),
            found: id,
            wanted: "`uuid:…` or `pci:…`, equal in every library that sees this device".into(),
        });
    }
    let wrong = |at: &At<'_>, what: String| NegotiateError::Value {
        at: at.to_string(),
        what,
    };
    let arch_at = at.field("arch");
    let arch = reader
        .arch(raw.arch, &arch_at)?
        .map_err(|what| wrong(&arch_at, what))?;
    let facts_at = at.field("facts");
    let mut facts: Vec<FactDecl> = Vec::new();
    for (index, fact) in reader
        .atoms(raw.facts, raw.fact_count, &facts_at)?
        .into_iter()
        .enumerate()
    {
        let at = facts_at.element(index);
        let name = reader.text(fact.name, &at.field("name"))?;
        let value = reader
            .typed(fact.value, &at.field("value"))?
            .map_err(|what| wrong(&at, what))?;
        if name.is_empty() || matches!(value, Value::Fact(_) | Value::Pattern(_)) {
            return Err(wrong(
                &at,
                format!("fact `{name}` is {value:?}; wanted a name and a plain value"),
            ));
        }
        if let Some(first) = facts.iter().position(|f| f.name == name) {
            return Err(NegotiateError::Duplicate {
                what: "facts of a device",
                name,
                first,
                second: index,
            });
        }
        facts.push(FactDecl { name, value });
    }
    Ok(DeviceDecl {
        kind: match raw.kind {
            OVERT_DEVICE_HARDWARE => DeviceKind::Hardware,
            OVERT_DEVICE_SOFTWARE => DeviceKind::Software,
            OVERT_DEVICE_INTERPRETED => DeviceKind::Interpreted,
            _ => DeviceKind::Unknown,
        },
        host_addressable: raw.flags & OVERT_DEVICE_FLAG_HOST_ADDRESSABLE != 0,
        peer: raw.flags & OVERT_DEVICE_FLAG_PEER != 0,
        id,
        name: reader.text(raw.name, &at.field("name"))?,
        driver: reader.text(raw.driver, &at.field("driver"))?,
        pci: reader.text(raw.pci, &at.field("pci"))?,
        arch,
        facts,
        memory_bytes: raw.memory_bytes,
    })
}
