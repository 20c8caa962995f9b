//! `overt devices`.

use crate::args::Global;
use crate::exit::{Exit, Failure};
use crate::out::Out;
use crate::start;
use overt::{DeviceKind, Value};
use serde::Serialize;
use std::fmt::Write;

#[derive(Serialize)]
struct Devices {
    devices: Vec<DeviceView>,
}

#[derive(Serialize)]
struct DeviceView {
    device: String,
    provider: String,
    kind: DeviceKind,
    id: String,
    name: String,
    driver: String,
    pci: String,
    arch: overt::load::decl::Arch,
    memory_bytes: u64,
    host_addressable: bool,
    peer: bool,
    facts: Vec<FactView>,
}

#[derive(Serialize)]
struct FactView {
    fact: String,
    value: serde_json::Value,
}

pub fn command(global: &Global, out: &mut Out) -> Result<Exit, Failure> {
    let runtime = start::runtime(global)?;
    let devices = runtime
        .devices()
        .iter()
        .map(|device| {
            let info = device.info();
            DeviceView {
                device: device.name().to_owned(),
                provider: device.provider().to_owned(),
                kind: info.kind,
                id: info.id.clone(),
                name: info.name.clone(),
                driver: info.driver.clone(),
                pci: info.pci.clone(),
                arch: info.arch.clone(),
                memory_bytes: info.memory_bytes,
                host_addressable: info.host_addressable,
                peer: info.peer,
                facts: info
                    .facts
                    .iter()
                    .map(|f| FactView {
                        fact: format!("device.{}", f.name),
                        value: json(&f.value),
                    })
                    .collect(),
            }
        })
        .collect();
    out.value(&Devices { devices }, text);
    Ok(Exit::Success)
}

fn json(value: &Value) -> serde_json::Value {
    match value {
        Value::None => serde_json::Value::Null,
        Value::Bool(b) => (*b).into(),
        Value::I64(i) => (*i).into(),
        Value::F64(f) => (*f).into(),
        Value::Str(s) => s.clone().into(),
        other => other.to_string().into(),
    }
}

fn text(view: &Devices) -> String {
    if view.devices.is_empty() {
        return "no devices: no provider that runs has one (overt doctor)\n".into();
    }
    let mut t = String::new();
    for d in &view.devices {
        let _ = writeln!(
            t,
            "{}   {}   {}\n  {}, id {}",
            d.device, d.kind, d.arch.name, d.name, d.id
        );
        let memory = d.memory_bytes as f64 / (1u64 << 30) as f64;
        let _ = writeln!(
            t,
            "  memory {memory:.1} GiB, {}, driver {}",
            if d.host_addressable {
                "addressable by the host"
            } else {
                "not addressable by the host"
            },
            if d.driver.is_empty() {
                "not stated"
            } else {
                &d.driver
            }
        );
        for fact in &d.facts {
            let _ = writeln!(t, "    {} = {}", fact.fact, fact.value);
        }
    }
    t
}
