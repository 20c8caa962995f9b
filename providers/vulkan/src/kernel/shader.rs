//! Shaders as they lie in this library.

use crate::physical::{FAMILY, Features};
use overt_sdk::declare::{Image, ImageDecl, ImageKind};
use overt_sdk::{ArchPattern, Error, Result};

/// The bytes of SPIR-V.
pub struct Code<T: ?Sized>(pub T);

/// A compiled shader.
pub struct Shader {
    /// What receipts name.
    pub image: Image,
    /// What a launch of it is called: its name. The entry point inside is `main` in all of them.
    pub symbol: &'static str,
    /// SPIR-V.
    pub code: &'static Code<[u8]>,
}

/// Capabilities of SPIR-V that not every device has, with the feature that stands for each.
const CAPABILITIES: [(u32, &str); 12] = [
    (9, "fp16"),
    (10, "fp64"),
    (11, "int64"),
    (22, "int16"),
    (39, "int8"),
    (4433, "storage16"),
    (4448, "storage8"),
    (5345, "memory_model"),
    (6019, "dot8"),
    (6022, "coopmat"),
    (5116, "bf16"),
    (5118, "bf16_coopmat"),
];

/// `OpCapability`.
const OP_CAPABILITY: u32 = 17;
const MAGIC: u32 = 0x0723_0203;
const HEAD_WORDS: usize = 5;

impl Shader {
    /// The code as words.
    pub fn words(&self) -> Vec<u32> {
        let words = self.code.0.chunks_exact(4);
        words
            .map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]))
            .collect()
    }

    /// Features that the code needs, read from the code itself.
    pub fn needs(&self) -> Vec<&'static str> {
        let words = self.words();
        let mut needs = Vec::new();
        let mut at = HEAD_WORDS;
        // Capabilities come first of all instructions.
        while let Some(head) = words.get(at).filter(|w| **w & 0xffff == OP_CAPABILITY) {
            let named = |w: &u32| CAPABILITIES.iter().find(|(number, _)| number == w);
            if let Some((_, feature)) = words.get(at + 1).and_then(named) {
                needs.push(*feature);
            }
            at += (head >> 16).max(1) as usize;
        }
        needs
    }

    /// An error where a device lacks what the code needs: the guard of the kernel should have said so.
    pub fn fits(&self, features: &Features) -> Result<()> {
        if self.words().first() != Some(&MAGIC) {
            return Err(Error::internal(format!(
                "shader `{}` is no SPIR-V",
                self.symbol
            )));
        }
        match self.needs().into_iter().find(|name| !features.has(name)) {
            None => Ok(()),
            Some(lacking) => Err(Error::unsupported(format!(
                "shader `{}` needs {lacking}, which this device lacks or which is switched off, and the kernel's guard does not say so",
                self.symbol
            ))),
        }
    }

    /// Every shader of this library.
    pub fn all() -> impl Iterator<Item = &'static Shader> {
        crate::shaders::ALL.iter().copied()
    }
}

/// The declaration of a shader's image: code that the driver compiles when it is first used.
pub fn image(shader: &'static Shader) -> ImageDecl {
    ImageDecl::new(
        shader.image.id,
        shader.image.digest,
        ImageKind::Jit,
        ArchPattern::family(FAMILY),
    )
    .code_bytes(shader.code.0.len() as u64)
    .symbols([shader.symbol])
}
