//! What a provider declares: kernels, images and knobs. All of it is static: it lives as long as the library.

use crate::{
    OvertArchPattern, OvertCall, OvertClause, OvertDeviceInfo, OvertSink, OvertStatus, OvertStr,
    OvertValue,
};

/// A kernel: one implementation of one op.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OvertKernelDecl {
    /// `sizeof(OvertKernelDecl)` as the provider knows it.
    pub size: u32,
    /// One of the `OVERT_TIER_…` tiers.
    pub tier: u32,
    /// The stable id `provider/op/name`, the op without its version: `cpu/matmul_bt/avx2`.
    pub id: OvertStr,
    /// The op with its version: `matmul_bt.1`.
    pub op: OvertStr,
    /// Orders kernels of one tier; higher is preferred.
    pub priority: i32,
    /// `OVERT_KERNEL_…` flags. Optional: an unknown one is ignored.
    pub flags: u32,
    /// Flags that the host must understand, or refuse the kernel. None is defined yet.
    pub required: u32,
    /// Number of `handles`.
    pub handles_count: u32,
    /// Attributes and optional operands that the kernel honours at any value. One that is not listed must be at its default
    /// (absent, for an operand), or the kernel is rejected.
    pub handles: *const OvertStr,
    /// The guard, besides what `handles` and `images` imply.
    pub clauses: *const OvertClause,
    /// Number of `clauses`.
    pub clause_count: u32,
    /// Number of `images`.
    pub image_count: u32,
    /// Ids of the images that hold this kernel. The runtime adds the clause that one of them runs on the device.
    pub images: *const OvertStr,
    /// Every symbol that a launch of this kernel may report.
    pub entries: *const OvertStr,
    /// Number of `entries`, at least one.
    pub entry_count: u32,
    /// Number of `knobs`.
    pub knob_count: u32,
    /// Ids of the knobs whose values `launch` reads, in the order of [`OvertCall::knobs`].
    pub knobs: *const OvertStr,
    /// Names the class of kernels that give bit-equal rows however the batch is composed. Empty: no such promise.
    pub numeric_class: OvertStr,
    /// Not empty: the kernel is declared but was not built, and why.
    pub not_built: OvertStr,
    /// What it is, in one line.
    pub doc: OvertStr,
    /// A last test that clauses cannot express, or null. Pure: a function of the device's description, the declared facts and
    /// nothing else. The device need not be open or even present, and handles and addresses in the call may be 0; alignments
    /// hold.
    /// Answers [`crate::OVERT_OK`] or [`crate::OVERT_E_REJECTED`] with a reason. Threads: any. Does not block, and calls back only the sink.
    pub guard: Option<OvertGuardCallback>,
    /// Facts that `guard` reads, so that selections can be cached.
    pub guard_reads: *const OvertStr,
    /// Number of `guard_reads`.
    pub guard_read_count: u32,
    /// Number of `must_hold`.
    pub must_hold_count: u32,
    /// Why clauses do not suffice. Needed with `guard`.
    pub guard_reason: OvertStr,
    /// Instruction classes that the compiled body must hold, as `arch-family:class`, checked when the provider is built.
    pub must_hold: *const OvertStr,
}

/// The type of [`OvertKernelDecl::guard`].
pub type OvertGuardCallback = unsafe extern "C" fn(
    device: *const OvertDeviceInfo,
    call: *const OvertCall,
    sink: *const OvertSink,
) -> OvertStatus;

/// Written for speed on some architecture and shape; preferred wherever its guard holds.
pub const OVERT_TIER_TUNED: u32 = 1;
/// Fast enough everywhere its broad guard holds.
pub const OVERT_TIER_PORTABLE: u32 = 2;
/// Right over the whole schema, at any speed.
pub const OVERT_TIER_REFERENCE: u32 = 3;

/// `launch` may be recorded while its stream captures.
pub const OVERT_KERNEL_CAPTURE_SAFE: u32 = 1;
/// `launch` allocates device memory.
pub const OVERT_KERNEL_ALLOCATES: u32 = 2;
/// `launch` waits for the device.
pub const OVERT_KERNEL_HOST_SYNC: u32 = 4;
/// The same call on the same device gives the same bits in every run.
pub const OVERT_KERNEL_DETERMINISTIC: u32 = 8;
/// Outputs may be exactly an input of the same shape and strides, where the schema allows it.
pub const OVERT_KERNEL_IN_PLACE: u32 = 16;
/// An empty call (an output with no elements) is still to be launched. Without it the host launches nothing then.
pub const OVERT_KERNEL_LAUNCH_EMPTY: u32 = 32;

/// Compiled code for a set of architectures.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OvertImageDecl {
    /// `sizeof(OvertImageDecl)` as the provider knows it.
    pub size: u32,
    /// One of the `OVERT_IMAGE_…` kinds.
    pub kind: u32,
    /// Unique in the provider: `attn_decode.sm_90a`.
    pub id: OvertStr,
    /// SHA-256 of the code; for host code, of its sources and compiler.
    pub digest: [u8; 32],
    /// What it runs on.
    pub pattern: *const OvertArchPattern,
    /// Size of the code in bytes, 0 if unknown.
    pub code_bytes: u64,
    /// Symbols in it.
    pub symbols: *const OvertStr,
    /// Resources of its symbols, where the compiler reported them.
    pub resources: *const OvertResources,
    /// Number of `symbols`.
    pub symbol_count: u32,
    /// Number of `resources`.
    pub resource_count: u32,
    /// Not empty: declared but not built, and why.
    pub not_built: OvertStr,
}

/// Machine code of a device.
pub const OVERT_IMAGE_BINARY: u32 = 1;
/// Code that the driver compiles at load; shown as such, since what runs is then the driver's.
pub const OVERT_IMAGE_JIT: u32 = 2;
/// Host machine code inside the provider itself.
pub const OVERT_IMAGE_HOST: u32 = 3;

/// What one symbol uses, as its compiler reported it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OvertResources {
    /// `sizeof(OvertResources)` as the provider knows it.
    pub size: u32,
    /// Which members are known: `OVERT_RESOURCE_…` bits. A member whose bit is clear means nothing, not zero.
    pub known: u32,
    /// The symbol.
    pub symbol: OvertStr,
    /// Vector (general) registers of a thread.
    pub registers: u32,
    /// Scalar registers of a wave.
    pub scalar_registers: u32,
    /// Spilled registers.
    pub spills: u32,
    /// Scratch (local) memory of a thread, bytes.
    pub scratch_bytes: u32,
    /// Static shared memory of a block, bytes.
    pub shared_bytes: u32,
    /// Largest block, in threads.
    pub max_block: u32,
}

/// `registers` is known.
pub const OVERT_RESOURCE_REGISTERS: u32 = 1;
/// `scalar_registers` is known.
pub const OVERT_RESOURCE_SCALAR_REGISTERS: u32 = 2;
/// `spills` is known.
pub const OVERT_RESOURCE_SPILLS: u32 = 4;
/// `scratch_bytes` is known.
pub const OVERT_RESOURCE_SCRATCH: u32 = 8;
/// `shared_bytes` is known.
pub const OVERT_RESOURCE_SHARED: u32 = 16;
/// `max_block` is known.
pub const OVERT_RESOURCE_MAX_BLOCK: u32 = 32;

/// A switch that changes what a kernel or a selection does. Only the host's registry reads its origins; a provider gets the
/// value with the call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OvertKnobDecl {
    /// `sizeof(OvertKnobDecl)` as the provider knows it.
    pub size: u32,
    /// The type: [`crate::OVERT_VALUE_BOOL`], `I64` or `STR`.
    pub kind: u32,
    /// The id, lower case, dotted: `attn.decode.kv_splits`.
    pub id: OvertStr,
    /// One line of documentation.
    pub doc: OvertStr,
    /// The default where no entry of `defaults` fits.
    pub default_value: OvertValue,
    /// Defaults for architectures, the first that fits.
    pub defaults: *const OvertKnobDefault,
    /// Allowed texts of a choice; none for free text.
    pub choices: *const OvertStr,
    /// Former names.
    pub former: *const OvertKnobFormer,
    /// Number of `defaults`.
    pub default_count: u32,
    /// Number of `choices`.
    pub choice_count: u32,
    /// Number of `former`.
    pub former_count: u32,
    /// `OVERT_KNOB_…` flags.
    pub flags: u32,
    /// Least integer.
    pub min: i64,
    /// Greatest integer; with `min` equal to it and both 0, there is no range.
    pub max: i64,
}

/// The value is fixed when the instance is made: the host passes it to `provider_create`, and changing it takes a new instance.
/// For what devices and pools depend on: a feature mask, a number of threads, the path of a driver library.
pub const OVERT_KNOB_AT_CREATE: u32 = 1;

/// A knob's default on some architectures, with where the number comes from.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OvertKnobDefault {
    /// `sizeof(OvertKnobDefault)` as the provider knows it.
    pub size: u32,
    /// Reserved, zero.
    pub reserved: u32,
    /// Where it holds.
    pub pattern: *const OvertArchPattern,
    /// The default there.
    pub value: OvertValue,
    /// Where the number comes from.
    pub source: OvertStr,
}

/// A former name of a knob.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OvertKnobFormer {
    /// `sizeof(OvertKnobFormer)` as the provider knows it.
    pub size: u32,
    /// 1: the former name meant the opposite.
    pub inverted: u32,
    /// The former name, as an environment variable or an id.
    pub name: OvertStr,
}
