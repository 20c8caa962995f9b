//! Architectures: whether a device lies in a pattern.

use crate::load::decl::{Arch, ArchPattern, ArchRule, FeatureState};
use std::fmt;

/// Whether `device` lies in `pattern`. Names are never compared. A feature that the device does not state fails a state that
/// the pattern needs, since unknown is not yes.
pub(crate) fn admits(pattern: &ArchPattern, device: &Arch) -> bool {
    let from = &pattern.arch;
    if from.family != device.family {
        return false;
    }
    let (want, have) = (
        (from.major, from.minor, from.stepping),
        (device.major, device.minor, device.stepping),
    );
    let version = match pattern.rule {
        ArchRule::Exact => want == have,
        ArchRule::SameMajorFromMinor => want.0 == have.0 && (have.1, have.2) >= (want.1, want.2),
        ArchRule::From => have >= want,
        ArchRule::Family => true,
    };
    version
        && from
            .features
            .iter()
            .filter(|f| f.state != FeatureState::Any)
            .all(|needed| {
                device
                    .features
                    .iter()
                    .any(|f| f.name == needed.name && f.state == needed.state)
            })
}

/// The pattern as people write it: `sm_90a`, `sm_80..` (same major), `sm_80+` (any later), `sm_*`, features behind a colon.
impl fmt::Display for ArchPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rule {
            ArchRule::Exact => f.write_str(&self.arch.name)?,
            ArchRule::SameMajorFromMinor => write!(f, "{}..", self.arch.name)?,
            ArchRule::From => write!(f, "{}+", self.arch.name)?,
            ArchRule::Family => write!(f, "any {}", self.arch.family)?,
        }
        let needed: Vec<String> = self
            .arch
            .features
            .iter()
            .filter(|x| x.state != FeatureState::Any)
            .map(|x| {
                format!(
                    "{}{}",
                    x.name,
                    if x.state == FeatureState::On {
                        "+"
                    } else {
                        "-"
                    }
                )
            })
            .filter(|text| !self.arch.name.contains(text.as_str()))
            .collect();
        if needed.is_empty() {
            Ok(())
        } else {
            write!(f, ":{}", needed.join(":"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::decl::ArchFeature;

    fn arch(
        name: &str,
        family: &str,
        v: (u32, u32, u32),
        features: &[(&str, FeatureState)],
    ) -> Arch {
        Arch {
            name: name.into(),
            family: family.into(),
            major: v.0,
            minor: v.1,
            stepping: v.2,
            features: features
                .iter()
                .map(|(n, s)| ArchFeature {
                    name: (*n).into(),
                    state: *s,
                })
                .collect(),
        }
    }

    #[test]
    fn images_run_where_their_rule_says() {
        use FeatureState::{Any, Off, On};
        let pattern = |rule, arch| ArchPattern { rule, arch };
        let sm = |major, minor| arch("sm", "sm", (major, minor, 0), &[]);
        let cases = [
            // sm_90a runs on 9.0 alone.
            (pattern(ArchRule::Exact, sm(9, 0)), sm(9, 0), true),
            (pattern(ArchRule::Exact, sm(9, 0)), sm(10, 0), false),
            // sm_80 runs on all of 8.x.
            (
                pattern(ArchRule::SameMajorFromMinor, sm(8, 0)),
                sm(8, 9),
                true,
            ),
            (
                pattern(ArchRule::SameMajorFromMinor, sm(8, 6)),
                sm(8, 0),
                false,
            ),
            (
                pattern(ArchRule::SameMajorFromMinor, sm(8, 0)),
                sm(9, 0),
                false,
            ),
            // Code that the driver compiles runs on anything later.
            (pattern(ArchRule::From, sm(8, 0)), sm(12, 0), true),
            (pattern(ArchRule::From, sm(9, 0)), sm(8, 9), false),
            (pattern(ArchRule::Family, sm(0, 0)), sm(5, 0), true),
            (
                pattern(ArchRule::Family, sm(0, 0)),
                arch("gfx942", "gfx", (9, 4, 2), &[]),
                false,
            ),
            // gfx12010 is not gfx1201, and gfx1201:xnack- is.
            (
                pattern(ArchRule::Exact, arch("gfx1201", "gfx", (12, 0, 1), &[])),
                arch("gfx12010", "gfx", (120, 1, 0), &[]),
                false,
            ),
            (
                pattern(ArchRule::Exact, arch("gfx1201", "gfx", (12, 0, 1), &[])),
                arch("gfx1201:xnack-", "gfx", (12, 0, 1), &[("xnack", Off)]),
                true,
            ),
            // gfx942:xnack+ does not run where xnack is off, nor where nobody says.
            (
                pattern(
                    ArchRule::Exact,
                    arch("gfx942:xnack+", "gfx", (9, 4, 2), &[("xnack", On)]),
                ),
                arch("gfx942", "gfx", (9, 4, 2), &[("xnack", Off)]),
                false,
            ),
            (
                pattern(
                    ArchRule::Exact,
                    arch("gfx942:xnack+", "gfx", (9, 4, 2), &[("xnack", On)]),
                ),
                arch("gfx942", "gfx", (9, 4, 2), &[("xnack", Any)]),
                false,
            ),
            (
                pattern(
                    ArchRule::Exact,
                    arch("gfx942:xnack+", "gfx", (9, 4, 2), &[("xnack", On)]),
                ),
                arch(
                    "gfx942",
                    "gfx",
                    (9, 4, 2),
                    &[("xnack", On), ("sramecc", On)],
                ),
                true,
            ),
            (
                pattern(
                    ArchRule::Exact,
                    arch("gfx942", "gfx", (9, 4, 2), &[("xnack", Any)]),
                ),
                arch("gfx942", "gfx", (9, 4, 2), &[]),
                true,
            ),
        ];
        for (pattern, device, expected) in cases {
            assert_eq!(
                admits(&pattern, &device),
                expected,
                "{pattern} on {}",
                device.name
            );
        }
    }

    #[test]
    fn patterns_read_as_people_write_them() {
        let sm80 = arch("sm_80", "sm", (8, 0, 0), &[]);
        let text = |rule| {
            ArchPattern {
                rule,
                arch: sm80.clone(),
            }
            .to_string()
        };
        assert_eq!(text(ArchRule::Exact), "sm_80");
        assert_eq!(text(ArchRule::SameMajorFromMinor), "sm_80..");
        assert_eq!(text(ArchRule::From), "sm_80+");
        let gfx = arch("gfx942", "gfx", (9, 4, 2), &[("xnack", FeatureState::On)]);
        assert_eq!(
            ArchPattern {
                rule: ArchRule::Exact,
                arch: gfx
            }
            .to_string(),
            "gfx942:xnack+"
        );
    }
}
