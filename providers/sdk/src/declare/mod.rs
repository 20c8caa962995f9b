//! Declarations: kernels, images, knobs and ops, each registered in its own file and gathered when the provider is queried.

mod clause;
mod gather;
mod image;
mod kernel;
mod knob;
mod op;

pub use clause::{Clause, Fact, fact};
pub use gather::Declarations;
pub(crate) use gather::table;
pub use image::{Image, ImageDecl, ImageKind, Resources};
pub use kernel::{KernelDecl, Tier, flags};
pub use knob::KnobDecl;
pub use op::{OpRef, OwnOp};

/// One registration: a function that builds a declaration. Made by [`crate::kernel!`], [`crate::image!`] and
/// [`crate::knob!`].
#[doc(hidden)]
pub struct Registration {
    pub file: &'static str,
    pub declare: fn() -> Declared,
}

/// What a registration builds.
#[doc(hidden)]
pub enum Declared {
    Kernel(KernelDecl),
    Image(ImageDecl),
    Knob(KnobDecl),
}

inventory::collect!(Registration);

/// The words that a declaration is written with, imported inside [`crate::kernel!`], [`crate::image!`] and
/// [`crate::knob!`].
pub mod words {
    pub use super::Tier::{Portable, Reference, Tuned};
    pub use super::flags::*;
    pub use super::{ImageKind, Resources, fact};
    pub use crate::arch::{Arch, ArchPattern};
    pub use crate::dtypes::*;
    pub use crate::value::{Value, value_of};
}

/// Declares a kernel and registers it, in the kernel's own file.
///
/// ```ignore
/// overt_sdk::kernel! {
///     id: "cpu/matmul_bt/avx2",
///     op: &overt_kernels::ops::matmul_bt::OP,
///     tier: Tuned,
///     priority: 20,
///     doc: "dot products with 8 lanes",
///     handles: ["bias"],
///     images: [AVX2.id],
///     entries: [BODY.symbol],
///     needs: [
///         fact("K").at_least(8).source("one vector"),
///         fact("a.dtype").is_in([F32, BF16]),
///         fact("a.inner_contiguous").is(true),
///     ],
///     numeric_class: "cpu.matmul_bt.avx2",
///     flags: CAPTURE_SAFE | DETERMINISTIC,
///     body: HostKernel::new(launch),
/// }
/// ```
///
/// Each field is a method of [`KernelDecl`] of the same name; `id` comes first, alone on its line, as a string literal.
/// **That line is what a scan of the sources looks for**: a line `kernel! {` (with or without a path before it) followed by a
/// line `id: "…",`. The id's first part names the provider, and only that provider's table holds the kernel.
#[macro_export]
macro_rules! kernel {
    (id: $id:literal, op: $op:expr, tier: $tier:expr $(, $field:ident : $value:expr)* $(,)?) => {
        $crate::__private::inventory::submit! {
            $crate::declare::Registration {
                file: file!(),
                declare: || {
                    #[allow(unused_imports)]
                    use $crate::declare::words::*;
                    $crate::declare::Declared::Kernel(
                        $crate::declare::KernelDecl::new($id, $op, $tier)
                            .file(file!())
                            $(.$field($value))*,
                    )
                },
            }
        }
    };
}

/// Registers an image that is described by an expression of type [`ImageDecl`]. A table holds the images that its kernels
/// name.
#[macro_export]
macro_rules! image {
    ($image:expr) => {
        $crate::__private::inventory::submit! {
            $crate::declare::Registration {
                file: file!(),
                declare: || {
                    #[allow(unused_imports)]
                    use $crate::declare::words::*;
                    $crate::declare::Declared::Image($image)
                },
            }
        }
    };
}

/// Declares a knob and registers it. Each field after `id` and `default` is a method of [`KnobDecl`]. A table holds the knobs
/// whose id begins with the provider's name and a dot, and those that its kernels list or name in a clause.
///
/// ```ignore
/// overt_sdk::knob! {
///     id: "attn.decode.kv_splits",
///     default: 8,
///     doc: "how many parts one sequence is cut into",
///     range: 1..=64,
/// }
/// ```
#[macro_export]
macro_rules! knob {
    (id: $id:literal, default: $default:expr $(, $field:ident : $value:expr)* $(,)?) => {
        $crate::__private::inventory::submit! {
            $crate::declare::Registration {
                file: file!(),
                declare: || {
                    #[allow(unused_imports)]
                    use $crate::declare::words::*;
                    $crate::declare::Declared::Knob(
                        $crate::declare::KnobDecl::new($id, $default)$(.$field($value))*,
                    )
                },
            }
        }
    };
}
