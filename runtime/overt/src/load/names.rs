//! Grammars of names that cross the line.

/// The grammar of a provider's name, in words.
pub(super) const PROVIDER_GRAMMAR: &str = "a small letter, then small letters, digits or `_`";

/// `[a-z][a-z0-9_]*`
pub(super) fn is_provider(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_lowercase())
        && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

/// The grammar of an op's name, in words.
pub(super) const OP_GRAMMAR: &str =
    "`op.version` or `provider:op.version`, of small letters, digits and `_`";

/// `[provider:]op.version`, split into the name without its version and the number.
pub(super) fn op(name: &str) -> Option<(&str, u32)> {
    let (base, version) = name.rsplit_once('.')?;
    let own = match base.split_once(':') {
        Some((provider, own)) if is_provider(provider) => own,
        Some(_) => return None,
        None => base,
    };
    let plain = !version.starts_with('+') && (version == "0" || !version.starts_with('0'));
    (is_provider(own) && plain)
        .then(|| version.parse().ok())
        .flatten()
        .map(|version| (base, version))
}

/// The grammar of the last part of a kernel's id, in words.
pub(super) const KERNEL_GRAMMAR: &str = "letters, digits, `_`, `-` or `.`";

/// The last part of a kernel's id.
pub(super) fn is_kernel(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}

/// The grammar of a knob's id, in words.
pub(super) const KNOB_GRAMMAR: &str = "small letters, digits and `_`, in parts joined by `.`";

/// `attn.decode.kv_splits`
pub(super) fn is_knob(id: &str) -> bool {
    id.split('.').all(is_provider)
}

/// `major << 16 | minor` of `major.minor`.
pub(super) fn version(text: &str) -> Option<u32> {
    let (major, minor) = text.split_once('.')?;
    let (major, minor): (u16, u16) = (major.parse().ok()?, minor.parse().ok()?);
    Some(u32::from(major) << 16 | u32::from(minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_their_grammar() {
        assert!(is_provider("cpu") && is_provider("a1_b"));
        for bad in ["", "1a", "Cpu", "a-b", "a/b", "é"] {
            assert!(!is_provider(bad), "{bad}");
        }
        assert_eq!(op("matmul_bt.1"), Some(("matmul_bt", 1)));
        assert_eq!(op("mine:scale.12"), Some(("mine:scale", 12)));
        for bad in [
            "matmul_bt",
            "matmul_bt.",
            "matmul_bt.01",
            "matmul_bt.+1",
            ".1",
            ":x.1",
            "a:b:c.1",
            "matmul.bt.1",
        ] {
            assert_eq!(op(bad), None, "{bad}");
        }
        assert!(is_knob("attn.decode.kv_splits") && !is_knob("attn..x") && !is_knob(""));
        assert_eq!(version("0.1"), Some(1));
        assert_eq!(version("2.3"), Some(0x2_0003));
        assert_eq!(version("1"), None);
    }
}
