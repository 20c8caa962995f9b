//! Features of the live CPU.
//!
//! A feature is on when CPUID names it *and* the operating system keeps the registers that it needs, as XGETBV tells: the
//! standard library's detection tests both, so AVX-512 on a system that does not save its registers is off here. It reads no
//! environment.

use overt_sdk::{Error, Result};

/// Features that the description states, each with its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Features {
    states: Vec<(&'static str, bool)>,
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Vec<(&'static str, bool)> {
    macro_rules! states {
        ($($name:tt),* $(,)?) => {
            vec![$(($name, std::arch::is_x86_feature_detected!($name))),*]
        };
    }
    states![
        "sse3",
        "ssse3",
        "sse4.1",
        "sse4.2",
        "popcnt",
        "avx",
        "avx2",
        "bmi1",
        "bmi2",
        "f16c",
        "fma",
        "lzcnt",
        "movbe",
        "avx512f",
        "avx512bw",
        "avx512cd",
        "avx512dq",
        "avx512vl",
        "avx512vnni",
        "avx512bf16",
        "avx512fp16",
    ]
}

#[cfg(target_arch = "aarch64")]
fn detect() -> Vec<(&'static str, bool)> {
    macro_rules! states {
        ($($name:tt),* $(,)?) => {
            vec![$(($name, std::arch::is_aarch64_feature_detected!($name))),*]
        };
    }
    states!["neon", "fp16", "bf16", "dotprod", "i8mm", "sve", "sve2"]
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn detect() -> Vec<(&'static str, bool)> {
    Vec::new()
}

impl Features {
    /// What this CPU and its operating system offer.
    pub fn live() -> Self {
        Self { states: detect() }
    }

    /// Fewer features: `all`, `none`, or the names to keep, with commas. Nothing is switched on that is not there.
    ///
    /// # Errors
    /// A name that is no feature of this family.
    pub fn masked(mut self, mask: &str) -> Result<Self> {
        let mask = mask.trim();
        let keep: Vec<&str> = match mask {
            "all" => return Ok(self),
            "none" | "" => Vec::new(),
            names => names.split(',').map(str::trim).collect(),
        };
        if let Some(unknown) = keep
            .iter()
            .find(|k| !self.states.iter().any(|(n, _)| n == *k))
        {
            let known: Vec<&str> = self.states.iter().map(|(n, _)| *n).collect();
            return Err(Error::invalid(format!(
                "option `cpu.features`: `{unknown}` is no feature; known: all, none, {}",
                known.join(", ")
            )));
        }
        for (name, on) in &mut self.states {
            *on &= keep.contains(name);
        }
        Ok(self)
    }

    /// Every feature and its state.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, bool)> + '_ {
        self.states.iter().copied()
    }

    fn have(&self, names: &[&str]) -> bool {
        names
            .iter()
            .all(|n| self.states.iter().any(|(name, on)| name == n && *on))
    }

    /// The microarchitecture level, 1 to 4, of x86-64 by the features that are on; 8 for aarch64, which is all Armv8; 0
    /// elsewhere.
    pub fn level(&self) -> u32 {
        if cfg!(target_arch = "aarch64") {
            return 8;
        }
        if cfg!(not(target_arch = "x86_64")) {
            return 0;
        }
        let levels: [&[&str]; 3] = [
            &["sse3", "ssse3", "sse4.1", "sse4.2", "popcnt"],
            &[
                "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "lzcnt", "movbe",
            ],
            &["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"],
        ];
        1 + levels.iter().take_while(|names| self.have(names)).count() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_takes_away_and_never_adds() {
        let live = Features::live();
        assert_eq!(live.clone().masked("all").unwrap(), live);
        let none = live.clone().masked("none").unwrap();
        assert!(none.all().all(|(_, on)| !on));
        let one = live.all().next().unwrap().0;
        let kept = live.clone().masked(&format!(" {one} ")).unwrap();
        for ((name, on), (_, was)) in kept.all().zip(live.all()) {
            assert_eq!(on, was && name == one, "{name}");
        }
        let every: Vec<&str> = live.all().map(|(n, _)| n).collect();
        assert_eq!(live.clone().masked(&every.join(",")).unwrap(), live);
    }

    #[test]
    fn an_unknown_name_is_refused_by_name() {
        let error = Features::live().masked("avx2,avx9").unwrap_err();
        assert!(error.message.contains("avx9"), "{error}");
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn levels_follow_the_mask() {
        let live = Features::live();
        assert_eq!(live.clone().masked("none").unwrap().level(), 1);
        assert!(
            live.clone()
                .masked("sse3,ssse3,sse4.1,sse4.2,popcnt")
                .unwrap()
                .level()
                <= 2
        );
        assert!((1..=4).contains(&live.level()));
    }
}
