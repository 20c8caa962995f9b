//! What a provider declares, copied out of its memory into owned, safe types.
//!
//! Everything here has been checked: text is UTF-8, names follow their grammar, tables are complete. What the host does not
//! understand about a single kernel or image does not lose the others: it is kept in `unusable`, and such a kernel is a
//! candidate like any other that can never be chosen. Values are immutable after loading and may be read from any thread.

use overt_abi::{
    OVERT_KERNEL_ALLOCATES, OVERT_KERNEL_CAPTURE_SAFE, OVERT_KERNEL_DETERMINISTIC,
    OVERT_KERNEL_HOST_SYNC, OVERT_KERNEL_IN_PLACE, OVERT_KERNEL_LAUNCH_EMPTY, OvertDType,
    OvertGuardCallback, OvertOracle,
};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A typed value: of a fact, an attribute, a knob, or inside a clause.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value: an absent attribute, a fact that is not known.
    None,
    /// A truth value.
    Bool(bool),
    /// A signed integer.
    I64(i64),
    /// A float.
    F64(f64),
    /// Text.
    Str(String),
    /// An element type.
    DType(OvertDType),
    /// Only inside a clause: the full name of another fact, whose value is meant.
    Fact(String),
    /// An architecture.
    Arch(Arch),
    /// Only inside a clause: a set of architectures.
    Pattern(ArchPattern),
}

/// What a device is. Compared by family, version and features, never by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arch {
    /// The name as people write it. Shown, never compared.
    pub name: String,
    /// The family inside which versions compare: `sm`, `gfx`, `x86-64`.
    pub family: String,
    /// Major version.
    #[serde(default)]
    pub major: u32,
    /// Minor version.
    #[serde(default)]
    pub minor: u32,
    /// Stepping; 0 where the family has none.
    #[serde(default)]
    pub stepping: u32,
    /// Features with their states, in the provider's order. One name appears once.
    #[serde(default)]
    pub features: Vec<ArchFeature>,
}

/// One feature of an architecture and its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchFeature {
    /// The name, for example `xnack` or `avx2`.
    pub name: String,
    /// Its state on a device, or the state that a pattern needs.
    pub state: FeatureState,
}

/// State of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FeatureState {
    /// On a device: not stated. In a pattern: either will do.
    Any,
    /// Present and enabled.
    On,
    /// Absent or disabled.
    Off,
}

/// A set of architectures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchPattern {
    /// How `arch` is meant.
    pub rule: ArchRule,
    /// Where the rule starts from. Its features are states that a device must *state* to have.
    pub arch: Arch,
}

/// Rule of an [`ArchPattern`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArchRule {
    /// This very version and stepping.
    Exact,
    /// The same major version, from this minor up.
    SameMajorFromMinor,
    /// This version or any later one of the family.
    From,
    /// Every version of the family.
    Family,
}

/// Comparison of a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cmp {
    /// The fact equals the value.
    Is,
    /// The fact differs from the value.
    IsNot,
    /// The fact is one of the values.
    In,
    /// The fact is none of the values.
    NotIn,
    /// The fact is at least the value.
    AtLeast,
    /// The fact is at most the value.
    AtMost,
    /// The fact is below the value.
    Below,
    /// The fact is above the value.
    Above,
    /// The integer fact is a multiple of the value.
    MultipleOf,
    /// The architecture fact lies in one of the patterns.
    Arch,
}

/// One test of one fact.
#[derive(Clone, Debug, PartialEq)]
pub struct ClauseDecl {
    /// The fact's full name.
    pub fact: String,
    /// The comparison.
    pub cmp: Cmp,
    /// Exactly one value, except for [`Cmp::In`], [`Cmp::NotIn`] and [`Cmp::Arch`], which have at least one. For `Arch` all
    /// are [`Value::Pattern`], and nowhere else does a pattern occur.
    pub values: Vec<Value>,
    /// Where a number comes from; empty if not stated.
    pub source: String,
}

/// Tier of a kernel, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Written for speed on some architecture and shape.
    Tuned,
    /// Fast enough everywhere its broad guard holds.
    Portable,
    /// Right over the whole schema, at any speed.
    Reference,
    /// The provider stated a tier that this host does not know. The kernel is unusable; it ranks last so that no selection
    /// counts as a fallback from it.
    Unknown,
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Tier::Tuned => "tuned",
            Tier::Portable => "portable",
            Tier::Reference => "reference",
            Tier::Unknown => "unknown",
        })
    }
}

/// Optional flags of a kernel. Unknown bits are kept and ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct KernelFlags(pub u32);

impl KernelFlags {
    /// `launch` may be recorded while its stream captures.
    pub fn capture_safe(self) -> bool {
        self.0 & OVERT_KERNEL_CAPTURE_SAFE != 0
    }
    /// `launch` allocates device memory.
    pub fn allocates(self) -> bool {
        self.0 & OVERT_KERNEL_ALLOCATES != 0
    }
    /// `launch` waits for the device.
    pub fn host_sync(self) -> bool {
        self.0 & OVERT_KERNEL_HOST_SYNC != 0
    }
    /// The same call on the same device gives the same bits in every run.
    pub fn deterministic(self) -> bool {
        self.0 & OVERT_KERNEL_DETERMINISTIC != 0
    }
    /// Outputs may be exactly an input where the schema allows it.
    pub fn in_place(self) -> bool {
        self.0 & OVERT_KERNEL_IN_PLACE != 0
    }
    /// An empty call is still to be launched.
    pub fn launch_empty(self) -> bool {
        self.0 & OVERT_KERNEL_LAUNCH_EMPTY != 0
    }
}

/// The last test of a kernel, which clauses cannot express.
#[derive(Clone, Debug)]
pub struct GuardDecl {
    /// The function, inside the library, which is never unloaded. Pure; any thread.
    pub call: OvertGuardCallback,
    /// Full names of the facts that it reads.
    pub reads: Vec<String>,
    /// Why clauses do not suffice. Never empty.
    pub reason: String,
}

/// One kernel as declared.
#[derive(Clone, Debug)]
pub struct KernelDecl {
    /// Its index in the provider's table: the number that `kernel_open` takes, and its place in [`ProviderDecl::kernels`].
    pub index: u32,
    /// `provider/op/name`, unique in the provider.
    pub id: String,
    /// The op with its version. Declared in [`ProviderDecl::ops`], unless the kernel is unusable for that reason.
    pub op: String,
    /// Tier.
    pub tier: Tier,
    /// Higher is preferred inside one tier.
    pub priority: i32,
    /// Optional flags.
    pub flags: KernelFlags,
    /// Attributes and optional operands honoured at any value.
    pub handles: Vec<String>,
    /// The clauses that the host understands, in the provider's order.
    pub clauses: Vec<ClauseDecl>,
    /// Ids of images that hold it. Empty: the kernel needs none.
    pub images: Vec<String>,
    /// Symbols that a launch may report. Empty only for a kernel that is not built or unusable.
    pub entries: Vec<String>,
    /// Ids of the knobs whose values `launch` reads, in the order of the call's knobs.
    pub knobs: Vec<String>,
    /// The class of bit-equal kernels, if it promises one.
    pub numeric_class: Option<String>,
    /// Why it was declared and not built; `None` when it was built.
    pub not_built: Option<String>,
    /// One line of documentation.
    pub doc: String,
    /// The callback, if there is one.
    pub guard: Option<GuardDecl>,
    /// Instruction classes that the body must hold, as `arch-family:class`.
    pub must_hold: Vec<String>,
    /// What the host does not understand or the provider got wrong about this kernel. Not empty: it can never be chosen, and
    /// each entry is a reason to show.
    pub unusable: Vec<Unusable>,
}

/// Why a declared kernel or image cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// A tier outside the known set.
    #[error(
        "its tier is {found}, which this host does not know; known are 1 (tuned), 2 (portable), 3 (reference)"
    )]
    Tier {
        /// The number stated.
        found: u32,
    },
    /// Required flags outside the known set.
    #[error("it requires flags {found:#x}, which this host does not know; a newer host may")]
    Required {
        /// The unknown bits.
        found: u32,
    },
    /// A clause with an unknown comparison.
    #[error(
        "clause {clause} on `{fact}` uses comparison {found}, which this host does not know; known are 1 to 10"
    )]
    Comparison {
        /// Index of the clause.
        clause: usize,
        /// The fact.
        fact: String,
        /// The number stated.
        found: u32,
    },
    /// A clause whose values are of an unknown kind, the wrong number or in the wrong place.
    #[error("clause {clause} on `{fact}`: {what}")]
    Clause {
        /// Index of the clause.
        clause: usize,
        /// The fact.
        fact: String,
        /// What is wrong and what is wanted.
        what: String,
    },
    /// The kernel names an image that the provider does not declare.
    #[error("it names image `{image}`, which the provider does not declare")]
    ImageNotDeclared {
        /// The id.
        image: String,
    },
    /// The kernel's op is not in the provider's table of ops, so no schema digest stands behind it.
    #[error(
        "its op `{op}` is not among the ops that the provider declares, so no schema digest stands behind it"
    )]
    OpNotDeclared {
        /// The op.
        op: String,
    },
    /// No symbol is declared that a launch could report.
    #[error("it declares no entry, so no receipt of it could be believed")]
    NoEntries,
    /// A guard callback without the reason that the ABI asks for.
    #[error("it has a guard callback and states no reason why clauses do not suffice")]
    GuardWithoutReason,
    /// An image of an unknown kind.
    #[error(
        "image `{image}` is of kind {found}, which this host does not know; known are 1 (binary), 2 (jit), 3 (host)"
    )]
    ImageKind {
        /// The image.
        image: String,
        /// The number stated.
        found: u32,
    },
    /// An image with an unknown rule of compatibility.
    #[error("image `{image}`: {what}")]
    ImagePattern {
        /// The image.
        image: String,
        /// What is wrong and what is wanted.
        what: String,
    },
}

/// Kind of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ImageKind {
    /// Machine code of a device.
    Binary,
    /// Code that the driver compiles at load.
    Jit,
    /// Host machine code inside the provider itself.
    Host,
    /// A kind that this host does not know; the image is unusable.
    Unknown,
}

/// Compiled code for a set of architectures.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageDecl {
    /// Unique in the provider.
    pub id: String,
    /// Its kind.
    pub kind: ImageKind,
    /// SHA-256 of the code; all zero where it was not built.
    pub digest: [u8; 32],
    /// What it runs on. `None` only for an unusable image: its rule is not known, so it runs on nothing.
    pub pattern: Option<ArchPattern>,
    /// Size of the code in bytes, 0 if unknown.
    pub code_bytes: u64,
    /// Symbols in it.
    pub symbols: Vec<String>,
    /// What its symbols use, where the compiler said.
    pub resources: Vec<Resources>,
    /// Why it was declared and not built; `None` when it was built.
    pub not_built: Option<String>,
    /// What the host does not understand about it. Not empty: it runs nowhere.
    pub unusable: Vec<Unusable>,
}

impl ImageDecl {
    /// The first eight bytes of the digest as memory holds them: what a receipt carries.
    pub fn receipt_digest(&self) -> u64 {
        let mut first = [0; 8];
        first.copy_from_slice(&self.digest[..8]);
        u64::from_ne_bytes(first)
    }
}

/// What one symbol uses, as its compiler reported it. `None`: not reported, which is not zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resources {
    /// The symbol.
    pub symbol: String,
    /// Vector (general) registers of a thread.
    pub registers: Option<u32>,
    /// Scalar registers of a wave.
    pub scalar_registers: Option<u32>,
    /// Spilled registers.
    pub spills: Option<u32>,
    /// Scratch memory of a thread, bytes.
    pub scratch_bytes: Option<u32>,
    /// Static shared memory of a block, bytes.
    pub shared_bytes: Option<u32>,
    /// Largest block, threads.
    pub max_block: Option<u32>,
}

/// Type of a knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KnobKind {
    /// On or off.
    Bool,
    /// A signed integer.
    I64,
    /// Text, free or one of the choices.
    Str,
}

/// A declared knob.
#[derive(Clone, Debug, PartialEq)]
pub struct KnobDecl {
    /// The id, lower case, dotted; unique in the provider.
    pub id: String,
    /// Its type.
    pub kind: KnobKind,
    /// One line of documentation.
    pub doc: String,
    /// The default where no entry of `defaults` fits. Of the knob's type.
    pub default: Value,
    /// Defaults for architectures; the first that fits holds. Values of the knob's type.
    pub defaults: Vec<KnobDefault>,
    /// Allowed texts; empty: free text.
    pub choices: Vec<String>,
    /// Former names.
    pub former: Vec<KnobFormer>,
    /// Least and greatest integer, both included; `None`: no range.
    pub range: Option<(i64, i64)>,
    /// Its value is passed when an instance is created, and a change needs a new instance.
    pub at_create: bool,
}

/// A knob's default on some architectures.
#[derive(Clone, Debug, PartialEq)]
pub struct KnobDefault {
    /// Where it holds.
    pub pattern: ArchPattern,
    /// The default there.
    pub value: Value,
    /// Where the number comes from.
    pub source: String,
}

/// A former name of a knob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnobFormer {
    /// The former name, as an environment variable or an id.
    pub name: String,
    /// The former name meant the opposite.
    pub inverted: bool,
}

/// An op that the provider implements or brings.
#[derive(Clone, Debug)]
pub struct OpDecl {
    /// Name with version: `matmul_bt.1`, or `provider:op.N` for an op of the provider's own.
    pub name: String,
    /// Digest of the schema that the provider was built for.
    pub digest: u64,
    /// Schema text of an op of the provider's own; `None` for a common op.
    pub schema: Option<String>,
    /// Oracle of an op of the provider's own; `None`: unverified. Any thread; may take long.
    pub oracle: Option<OvertOracle>,
}

/// What happens when the provider's code panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PanicMode {
    /// Not stated, or a language without panics.
    Unknown,
    /// Panics unwind and are caught at the edge.
    Unwind,
    /// A panic ends the process.
    Abort,
}

/// How a library was built. Empty text: not stated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildInfo {
    /// What a panic does.
    pub panic_mode: PanicMode,
    /// Compiler and its version.
    pub compiler: String,
    /// Least glibc version, as `2.36`.
    pub min_glibc: String,
    /// Sanitizer, empty for none.
    pub sanitizer: String,
    /// Revision of its sources.
    pub revision: String,
    /// Target triple.
    pub target: String,
    /// Build profile.
    pub profile: String,
}

/// Everything that a provider declares.
#[derive(Clone, Debug)]
pub struct ProviderDecl {
    /// The *negotiated* ABI version, `major << 16 | minor`.
    pub abi_version: u32,
    /// The provider's name: `[a-z][a-z0-9_]*`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Ops; names are unique.
    pub ops: Vec<OpDecl>,
    /// Kernels; ids are unique, and a kernel's place is its `index`.
    pub kernels: Vec<KernelDecl>,
    /// Images; ids are unique.
    pub images: Vec<ImageDecl>,
    /// Knobs; ids are unique.
    pub knobs: Vec<KnobDecl>,
    /// How the library was built, if stated.
    pub build: Option<BuildInfo>,
}

impl ProviderDecl {
    /// A kernel by id.
    pub fn kernel(&self, id: &str) -> Option<&KernelDecl> {
        self.kernels.iter().find(|k| k.id == id)
    }

    /// An image by id.
    pub fn image(&self, id: &str) -> Option<&ImageDecl> {
        self.images.iter().find(|i| i.id == id)
    }

    /// An op by name.
    pub fn op(&self, name: &str) -> Option<&OpDecl> {
        self.ops.iter().find(|o| o.name == name)
    }
}

/// `0.1` for a version packed as `major << 16 | minor`.
pub fn abi_version_text(version: u32) -> String {
    format!("{}.{}", version >> 16, version & 0xffff)
}
