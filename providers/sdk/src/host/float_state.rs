//! The processor's floating-point modes while a caller's thread executes bodies.
//!
//! A host may have set its own: flushing denormals to zero, another rounding. On such a thread bodies would give other results than
//! on the stream's worker.

/// The modes that Rust code is compiled for, until this is dropped; then the caller's again.
#[must_use]
pub(crate) struct Entered {
    #[cfg(target_arch = "x86_64")]
    before: u32,
    #[cfg(target_arch = "aarch64")]
    before: u64,
}

/// The state that a thread starts with: all exceptions masked, round to nearest, denormals kept.
#[cfg(target_arch = "x86_64")]
static DEFAULT: u32 = 0x1f80;

#[cfg(target_arch = "x86_64")]
pub(crate) fn enter() -> Entered {
    use std::arch::asm;
    let mut before = 0u32;
    // SAFETY: stores and loads the control register from four bytes of this frame; it becomes what compiled code assumes.
    unsafe {
        asm!("stmxcsr [{}]", in(reg) &raw mut before, options(nostack));
        asm!("ldmxcsr [{}]", in(reg) &raw const DEFAULT, options(nostack, readonly));
    }
    Entered { before }
}

#[cfg(target_arch = "x86_64")]
impl Drop for Entered {
    fn drop(&mut self) {
        // SAFETY: the value was read from the register of this thread; no floating-point work of ours follows before the
        // caller has it back.
        unsafe {
            std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const self.before, options(nostack, readonly));
        }
    }
}

#[cfg(target_arch = "aarch64")]
pub(crate) fn enter() -> Entered {
    use std::arch::asm;
    let before: u64;
    // SAFETY: reads the control register and writes the value that a thread starts with.
    unsafe {
        asm!("mrs {}, fpcr", out(reg) before, options(nomem, nostack));
        asm!("msr fpcr, {}", in(reg) 0u64, options(nomem, nostack));
    }
    Entered { before }
}

#[cfg(target_arch = "aarch64")]
impl Drop for Entered {
    fn drop(&mut self) {
        // SAFETY: the value was read from the register of this thread.
        unsafe {
            std::arch::asm!("msr fpcr, {}", in(reg) self.before, options(nomem, nostack));
        }
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) fn enter() -> Entered {
    Entered {}
}
