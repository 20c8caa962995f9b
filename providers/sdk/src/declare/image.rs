//! Images: compiled code, for which architectures, and what is in it.

use crate::arch::ArchPattern;
use overt_abi::{OVERT_IMAGE_BINARY, OVERT_IMAGE_HOST, OVERT_IMAGE_JIT};
use std::borrow::Cow;

/// The identity of an image, as receipts name it. A `static` of the provider; every body of host code points to one.
#[derive(Debug)]
pub struct Image {
    /// Unique in the provider.
    pub id: &'static str,
    /// SHA-256 of the code; for host code, of its sources and compiler.
    pub digest: [u8; 32],
}

impl Image {
    /// The first eight bytes of the digest, as a receipt carries them.
    pub const fn short_digest(&self) -> u64 {
        let d = &self.digest;
        u64::from_ne_bytes([d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7]])
    }
}

/// What an image holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageKind {
    /// Machine code of a device.
    Binary,
    /// Code that the driver compiles at load.
    Jit,
    /// Host machine code inside the provider.
    Host,
}

impl ImageKind {
    pub(crate) const fn raw(self) -> u32 {
        match self {
            Self::Binary => OVERT_IMAGE_BINARY,
            Self::Jit => OVERT_IMAGE_JIT,
            Self::Host => OVERT_IMAGE_HOST,
        }
    }
}

/// What one symbol uses, as its compiler reported it. `None` is *not reported*, which is not zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// The symbol.
    pub symbol: Cow<'static, str>,
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
    /// Largest block, in threads.
    pub max_block: Option<u32>,
}

/// The declaration of an image.
#[derive(Clone, Debug)]
pub struct ImageDecl {
    pub(crate) id: Cow<'static, str>,
    pub(crate) digest: [u8; 32],
    pub(crate) kind: ImageKind,
    pub(crate) pattern: ArchPattern,
    pub(crate) code_bytes: u64,
    pub(crate) symbols: Vec<Cow<'static, str>>,
    pub(crate) resources: Vec<Resources>,
    pub(crate) not_built: Cow<'static, str>,
}

impl ImageDecl {
    /// An image and what it runs on.
    pub fn new(
        id: impl Into<Cow<'static, str>>,
        digest: [u8; 32],
        kind: ImageKind,
        pattern: ArchPattern,
    ) -> Self {
        Self {
            id: id.into(),
            digest,
            kind,
            pattern,
            code_bytes: 0,
            symbols: Vec::new(),
            resources: Vec::new(),
            not_built: "".into(),
        }
    }

    /// Host code inside the provider. Its symbols are those that kernels with this image declare as entries; the SDK adds
    /// them when it gathers the table.
    pub fn host(image: &'static Image, pattern: ArchPattern) -> Self {
        Self::new(image.id, image.digest, ImageKind::Host, pattern)
    }

    /// Size of the code in bytes.
    #[must_use]
    pub fn code_bytes(mut self, bytes: u64) -> Self {
        self.code_bytes = bytes;
        self
    }

    /// Symbols in it.
    #[must_use]
    pub fn symbols<S: Into<Cow<'static, str>>>(
        mut self,
        symbols: impl IntoIterator<Item = S>,
    ) -> Self {
        self.symbols = symbols.into_iter().map(Into::into).collect();
        self
    }

    /// What its symbols use.
    #[must_use]
    pub fn resources(mut self, resources: Vec<Resources>) -> Self {
        self.resources = resources;
        self
    }

    /// Declared, but not built: why.
    #[must_use]
    pub fn not_built(mut self, why: impl Into<Cow<'static, str>>) -> Self {
        self.not_built = why.into();
        self
    }
}
