//! The images: host code by the instructions it needs. Digests cover all sources, the compiler and its flags.

use overt_sdk::declare::{Image, ImageDecl};
use overt_sdk::hex_digest;

/// The family of what this library is compiled for.
pub const FAMILY: &str = if cfg!(target_arch = "x86_64") {
    "x86-64"
} else if cfg!(target_arch = "aarch64") {
    "aarch64"
} else {
    std::env::consts::ARCH
};

/// Code that every CPU of the family runs.
pub static PORTABLE: Image = Image {
    id: FAMILY,
    digest: hex_digest(env!("OVERT_IMAGE_PORTABLE")),
};

/// Code with AVX2, FMA and F16C.
pub static AVX2: Image = Image {
    id: "x86-64+avx2+fma+f16c",
    digest: hex_digest(env!("OVERT_IMAGE_AVX2")),
};

/// Code with AVX-512 F, BW, VL and DQ beside the AVX2 set.
pub static AVX512: Image = Image {
    id: "x86-64+avx512",
    digest: hex_digest(env!("OVERT_IMAGE_AVX512")),
};

/// Code with AVX-512 VNNI beside the AVX-512 set.
pub static AVX512_VNNI: Image = Image {
    id: "x86-64+avx512+vnni",
    digest: hex_digest(env!("OVERT_IMAGE_AVX512_VNNI")),
};

/// Code with AVX-512 BF16 beside the AVX-512 set.
pub static AVX512_BF16: Image = Image {
    id: "x86-64+avx512+bf16",
    digest: hex_digest(env!("OVERT_IMAGE_AVX512_BF16")),
};

/// Why x86-64 code is not in this library; empty when it is.
pub const NO_X86: &str = if cfg!(target_arch = "x86_64") {
    ""
} else {
    "x86-64 code is compiled for x86-64 targets only"
};

overt_sdk::image!(ImageDecl::host(&PORTABLE, ArchPattern::family(FAMILY)));

overt_sdk::image!(
    ImageDecl::host(
        &AVX2,
        ArchPattern::family("x86-64")
            .with("avx2")
            .with("fma")
            .with("f16c"),
    )
    .not_built(NO_X86)
);

overt_sdk::image!(
    ImageDecl::host(
        &AVX512,
        ArchPattern::family("x86-64")
            .with("avx2")
            .with("fma")
            .with("f16c")
            .with("avx512f")
            .with("avx512bw")
            .with("avx512vl")
            .with("avx512dq"),
    )
    .not_built(NO_X86)
);

overt_sdk::image!(
    ImageDecl::host(
        &AVX512_VNNI,
        ArchPattern::family("x86-64")
            .with("avx2")
            .with("fma")
            .with("f16c")
            .with("avx512f")
            .with("avx512bw")
            .with("avx512vl")
            .with("avx512dq")
            .with("avx512vnni"),
    )
    .not_built(NO_X86)
);

overt_sdk::image!(
    ImageDecl::host(
        &AVX512_BF16,
        ArchPattern::family("x86-64")
            .with("avx2")
            .with("fma")
            .with("f16c")
            .with("avx512f")
            .with("avx512bw")
            .with("avx512vl")
            .with("avx512dq")
            .with("avx512bf16"),
    )
    .not_built(NO_X86)
);
