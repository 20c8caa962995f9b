//! Instruction-set features that this CPU *and* its operating system enable, by the names the Rust compiler uses.
//!
//! A library whose compiled-in baseline needs more than that must not even be opened: its constructors could already hold
//! the instruction that kills the process.

/// Whether a feature is enabled: `None` for a name that this host cannot test.
pub fn enabled(feature: &str) -> Option<bool> {
    table()
        .iter()
        .find(|(name, _)| *name == feature)
        .map(|(_, on)| *on)
}

/// All features that are enabled, in a fixed order.
pub fn enabled_features() -> Vec<&'static str> {
    table()
        .into_iter()
        .filter(|(_, on)| *on)
        .map(|(name, _)| name)
        .collect()
}

macro_rules! detected {
    ($test:ident: $($name:tt)*) => {
        vec![$(($name, std::arch::$test!($name))),*]
    };
}

#[cfg(target_arch = "x86_64")]
fn table() -> Vec<(&'static str, bool)> {
    let mut features = detected!(is_x86_feature_detected:
        "fxsr" "sse" "sse2" "sse3" "ssse3" "sse4.1" "sse4.2" "sse4a" "popcnt" "aes" "pclmulqdq" "rdrand" "rdseed" "tbm" "lzcnt"
        "bmi1" "bmi2" "adx" "cmpxchg16b" "movbe" "sha" "avx" "avx2" "f16c" "fma" "xsave" "xsaveopt" "xsaves" "xsavec" "gfni"
        "vaes" "vpclmulqdq" "avxvnni" "avxifma" "avxneconvert" "avxvnniint8" "avxvnniint16" "avx512f" "avx512cd" "avx512bw"
        "avx512dq" "avx512vl" "avx512ifma" "avx512vbmi" "avx512vbmi2" "avx512vnni" "avx512bitalg" "avx512vpopcntdq"
        "avx512bf16" "avx512fp16" "avx512vp2intersect");
    // Every x86-64 CPU has these two; the compiler lists them in its baseline, and there is no test for them.
    features.push(("x87", true));
    features.push(("cmpxchg8b", true));
    features
}

#[cfg(target_arch = "aarch64")]
fn table() -> Vec<(&'static str, bool)> {
    detected!(is_aarch64_feature_detected:
        "neon" "fp" "asimd" "pmull" "aes" "sha2" "sha3" "sm4" "crc" "lse" "lse2" "rdm" "rcpc" "rcpc2" "dotprod" "fhm" "fp16"
        "bf16" "i8mm" "sve" "sve2" "fcma" "jsconv" "dit" "flagm" "ssbs" "sb" "paca" "pacg" "dpb" "dpb2" "frintts" "bti" "mte")
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn table() -> Vec<(&'static str, bool)> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_program_was_compiled_for_is_enabled_and_nonsense_is_unknown() {
        #[cfg(target_arch = "x86_64")]
        assert_eq!(enabled("sse2"), Some(true));
        #[cfg(target_arch = "aarch64")]
        assert_eq!(enabled("neon"), Some(true));
        assert_eq!(enabled("avx1024"), None);
    }
}
