//! The hooks of `tests/hooks/hooks.c`, as a program under them finds them.

use libloading::os::unix::{Library, Symbol};

/// What an armed thread did.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct HookCounts {
    /// Calls of the allocator, frees included.
    pub allocations: u64,
    /// Reads of the environment.
    pub environment: u64,
    /// Files opened.
    pub files: u64,
    /// Locks of the C library taken.
    pub locks: u64,
    /// Calls of `syscall`, by which Rust's locks wait and wake.
    pub system_calls: u64,
}

/// The hooks of this process.
pub struct Hooks {
    arm: Symbol<unsafe extern "C" fn()>,
    disarm: Symbol<unsafe extern "C" fn(*mut HookCounts)>,
    environment: Symbol<unsafe extern "C" fn(*mut u8, usize) -> usize>,
}

impl Hooks {
    /// The hooks; an error where the process was started without them.
    pub fn find() -> Result<Hooks, libloading::Error> {
        let this = Library::this();
        // SAFETY: these names are those of the hooks alone, whose types these are; the library stays loaded as long as the process.
        unsafe {
            Ok(Hooks {
                arm: this.get("overt_hooks_arm")?,
                disarm: this.get("overt_hooks_disarm")?,
                environment: this.get("overt_hooks_environment")?,
            })
        }
    }

    /// Counts what this thread does in `body`.
    pub fn count(&self, body: impl FnOnce()) -> HookCounts {
        let mut counts = HookCounts::default();
        // SAFETY: the functions touch the thread's own counters, and write one struct.
        unsafe {
            (self.arm)();
            body();
            (self.disarm)(&mut counts);
        }
        counts
    }

    /// Every variable read so far: `library name`.
    pub fn environment(&self) -> Vec<String> {
        let mut text = vec![0; 1 << 16];
        // SAFETY: at most as many bytes as there are get written.
        let length = unsafe { (self.environment)(text.as_mut_ptr(), text.len()) };
        text.truncate(length);
        String::from_utf8_lossy(&text)
            .lines()
            .map(str::to_owned)
            .collect()
    }
}
