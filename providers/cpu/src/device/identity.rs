//! Which CPU it is.

/// A stable id and a name.
pub struct Identity {
    /// Equal on every start: vendor, family, model and stepping. Two sockets of one machine are one device.
    pub id: String,
    /// As the CPU calls itself.
    pub name: String,
}

/// Asks the CPU.
#[cfg(target_arch = "x86_64")]
pub fn read() -> Identity {
    use std::arch::x86_64::__cpuid;
    let first = __cpuid(0);
    let vendor = text(&[first.ebx, first.edx, first.ecx]);
    let version = __cpuid(1).eax;
    let (base_family, base_model) = ((version >> 8) & 15, (version >> 4) & 15);
    // The extended parts count from family 15 on, and for the model from family 6 too.
    let family = if base_family == 15 {
        base_family + ((version >> 20) & 255)
    } else {
        base_family
    };
    let model = if base_family == 6 || base_family == 15 {
        base_model | ((version >> 16) & 15) << 4
    } else {
        base_model
    };
    let stepping = version & 15;
    let mut name = String::new();
    if __cpuid(0x8000_0000).eax >= 0x8000_0004 {
        for leaf in 0x8000_0002..=0x8000_0004 {
            let r = __cpuid(leaf);
            name.push_str(&text(&[r.eax, r.ebx, r.ecx, r.edx]));
        }
    }
    let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
    Identity {
        id: format!("cpuid:{vendor}-{family}-{model}-{stepping}"),
        name: if name.is_empty() { vendor } else { name },
    }
}

#[cfg(target_arch = "x86_64")]
fn text(registers: &[u32]) -> String {
    registers
        .iter()
        .flat_map(|r| r.to_le_bytes())
        .filter(|b| (b' '..0x7f).contains(b))
        .map(char::from)
        .collect()
}

/// Elsewhere the identification registers are the system's; Linux shows them in a file.
#[cfg(not(target_arch = "x86_64"))]
pub fn read() -> Identity {
    let file = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |key: &str| {
        file.lines()
            .filter_map(|l| l.split_once(':'))
            .find(|(k, _)| k.trim() == key)
            .map_or("", |(_, v)| v.trim())
    };
    let parts = [
        "CPU implementer",
        "CPU architecture",
        "CPU variant",
        "CPU part",
        "CPU revision",
    ]
    .map(field);
    Identity {
        id: format!("cpuid:{}", parts.join("-")),
        name: format!("{} CPU {}", std::env::consts::ARCH, parts[3])
            .trim()
            .into(),
    }
}
