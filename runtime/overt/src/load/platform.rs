//! The few facts about this process that neither the standard library nor rustix states.
//!
//! Each is one call of the C library. rustix offers `AT_SECURE` only in its unstable `runtime` feature and the glibc version
//! not at all, so both are declared here instead of bringing a crate for two functions.

use std::path::PathBuf;

/// Effective user of this process.
pub(super) fn effective_user() -> u32 {
    #[cfg(unix)]
    {
        rustix::process::geteuid().as_raw()
    }
    #[cfg(not(unix))]
    {
        0
    }
}

/// Why this process has privileges that its starter lacks, or `None` if it has none. In such a process an environment
/// variable is input from somebody who may not be trusted with them.
pub fn privileged() -> Option<String> {
    #[cfg(unix)]
    {
        use rustix::process::{getegid, geteuid, getgid, getuid};
        let (real, effective) = (getuid().as_raw(), geteuid().as_raw());
        if real != effective {
            return Some(format!(
                "effective user {effective} differs from real user {real}"
            ));
        }
        let (real, effective) = (getgid().as_raw(), getegid().as_raw());
        if real != effective {
            return Some(format!(
                "effective group {effective} differs from real group {real}"
            ));
        }
    }
    #[cfg(target_os = "linux")]
    {
        unsafe extern "C" {
            safe fn getauxval(kind: std::ffi::c_ulong) -> std::ffi::c_ulong;
        }
        const AT_SECURE: std::ffi::c_ulong = 23;
        if getauxval(AT_SECURE) != 0 {
            return Some("the kernel started it in secure-execution mode (AT_SECURE)".into());
        }
    }
    None
}

/// Version of the C library this process runs on as `(major, minor)`, or `None` where it is not glibc.
pub fn glibc_version() -> Option<(u32, u32)> {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        unsafe extern "C" {
            safe fn gnu_get_libc_version() -> *const std::ffi::c_char;
        }
        // SAFETY: glibc returns a pointer to a static terminated string.
        let text = unsafe { std::ffi::CStr::from_ptr(gnu_get_libc_version()) };
        parse_glibc(text.to_str().ok()?)
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    {
        None
    }
}

/// `(2, 36)` of `2.36`; a third part is ignored.
pub fn parse_glibc(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split('.');
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next()?.parse().ok()?;
    Some((major, minor))
}

/// The sanitizer whose runtime this process carries, or empty. Asked of the symbols of the program itself, since stable Rust
/// does not say how it was compiled.
pub(super) fn sanitizer() -> &'static str {
    #[cfg(unix)]
    {
        let program = libloading::os::unix::Library::this();
        for (symbol, name) in [
            (c"__asan_init", "address"),
            (c"__hwasan_init", "hwaddress"),
            (c"__tsan_init", "thread"),
            (c"__msan_init", "memory"),
        ] {
            // SAFETY: only the symbol's existence is used; nothing is read through it or called.
            if unsafe { program.get::<*const std::ffi::c_void>(symbol) }.is_ok() {
                return name;
            }
        }
    }
    ""
}

/// Where the dynamic loader looks for a library that is named without a folder, besides its cache and the run path of the
/// library that needs it. Empty where the loader does not say.
pub(super) fn loader_folders() -> Vec<PathBuf> {
    #[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
    {
        glibc_loader_folders()
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64")))]
    {
        Vec::new()
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
fn glibc_loader_folders() -> Vec<PathBuf> {
    use std::ffi::{CStr, OsStr, c_char, c_int, c_uint, c_void};
    use std::os::unix::ffi::OsStrExt;

    // `Dl_serinfo` of <dlfcn.h>: a header, then `count` entries in place.
    #[repr(C)]
    struct Header {
        size: usize,
        count: c_uint,
    }
    #[repr(C)]
    struct Entry {
        name: *const c_char,
        flags: c_uint,
    }
    const RTLD_DI_SERINFO: c_int = 4;
    const RTLD_DI_SERINFOSIZE: c_int = 5;
    unsafe extern "C" {
        fn dlinfo(handle: *mut c_void, request: c_int, answer: *mut c_void) -> c_int;
    }

    let program = libloading::os::unix::Library::this().into_raw();
    let mut header = Header { size: 0, count: 0 };
    // SAFETY: the handle is the program's own, and this request writes one header.
    if unsafe { dlinfo(program, RTLD_DI_SERINFOSIZE, (&raw mut header).cast()) } != 0
        || header.size > 1 << 20
    {
        return Vec::new();
    }
    // A vector of u64 has the alignment of both structs.
    let mut room = vec![0u64; header.size.max(size_of::<Header>()).div_ceil(8)];
    let base = room.as_mut_ptr().cast::<u8>();
    // SAFETY: `room` is large enough for a header and aligned for it.
    unsafe {
        base.cast::<Header>().write(Header {
            size: header.size,
            count: header.count,
        })
    };
    // SAFETY: `room` has the size that the loader asked for, stated in its header as this request wants it.
    if unsafe { dlinfo(program, RTLD_DI_SERINFO, base.cast()) } != 0 {
        return Vec::new();
    }
    let most = header.size.saturating_sub(size_of::<Header>()) / size_of::<Entry>();
    (0..(header.count as usize).min(most))
        .filter_map(|index| {
            // SAFETY: the loader wrote `count` entries after the header, all inside `room`.
            let entry = unsafe {
                base.add(size_of::<Header>())
                    .cast::<Entry>()
                    .add(index)
                    .read()
            };
            if entry.name.is_null() {
                return None;
            }
            // SAFETY: the name is terminated and lies in `room` or in the loader's own static memory.
            let name = unsafe { CStr::from_ptr(entry.name) };
            Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glibc_versions_are_read_by_number() {
        assert_eq!(parse_glibc("2.36"), Some((2, 36)));
        assert_eq!(parse_glibc("2.4.1"), Some((2, 4)));
        assert!(parse_glibc("2.4") < parse_glibc("2.36"));
        assert_eq!(parse_glibc("two"), None);
    }

    #[test]
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    fn this_process_states_its_c_library_and_loader_folders() {
        assert!(glibc_version().is_some_and(|v| v >= (2, 17)));
        let folders = loader_folders();
        assert!(
            folders
                .iter()
                .any(|f| f.starts_with("/lib") || f.starts_with("/usr/lib")),
            "{folders:?}"
        );
    }
}
