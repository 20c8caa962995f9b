//! Reads architecture names as people write them.

use overt_sdk::{Arch, Error, FeatureState, Result};

/// `sm_86` is family sm, 8.6; `gfx90a` is family gfx, 9.0 stepping 10; `:xnack-` states a feature; anything else is a family of its own.
pub fn parse(text: &str) -> Result<Arch> {
    let bad = || Error::invalid(format!("`{text}` is no architecture"));
    let mut parts = text.split(':');
    let name = parts.next().unwrap_or_default();
    let mut arch = if let Some(version) = name.strip_prefix("sm_") {
        let digits: String = version.chars().take_while(char::is_ascii_digit).collect();
        let (major, minor) = digits
            .split_at_checked(digits.len().wrapping_sub(1))
            .ok_or_else(bad)?;
        let number = |digits: &str| digits.parse().map_err(|_| bad());
        Arch::new(text.to_owned(), "sm", number(major)?, number(minor)?, 0)
    } else if let Some(version) = name.strip_prefix("gfx") {
        if version.len() < 3 || !version.is_ascii() {
            return Err(bad());
        }
        let (major, rest) = version.split_at(version.len() - 2);
        let hex = |digit: &str| u32::from_str_radix(digit, 16).map_err(|_| bad());
        let major = major.parse().map_err(|_| bad())?;
        Arch::new(
            text.to_owned(),
            "gfx",
            major,
            hex(&rest[..1])?,
            hex(&rest[1..])?,
        )
    } else if name.is_empty() {
        return Err(bad());
    } else {
        Arch::new(text.to_owned(), name.to_owned(), 1, 0, 0)
    };
    for feature in parts {
        let (name, state) = match (feature.strip_suffix('+'), feature.strip_suffix('-')) {
            (Some(name), _) => (name, FeatureState::On),
            (_, Some(name)) => (name, FeatureState::Off),
            _ => return Err(bad()),
        };
        arch = arch.feature(name.to_owned(), state);
    }
    Ok(arch)
}
