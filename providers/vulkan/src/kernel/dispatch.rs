//! One launch, before its shader is compiled for it.

use super::Shader;
use crate::device::PUSH_BYTES;
use overt_sdk::{Error, Result};

/// Words of push constants.
pub const WORDS: usize = PUSH_BYTES as usize / 4;

/// Where an address comes from that a launch fills in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The first element of an operand.
    Operand(usize),
    /// A byte of the workspace.
    Workspace(u64),
}

/// A launch of a shader: constants that it is compiled with, words that it is given, and the grid.
///
/// Words are pushed in the order of the calls, as the shader's push constants declare them. An address takes two words and begins at an even
/// one.
pub struct Dispatch {
    pub shader: &'static Shader,
    pub block: [u32; 3],
    pub constants: Vec<u32>,
    pub shared_bytes: u32,
    pub words: [u32; WORDS],
    pub used: usize,
    pub addresses: Vec<(usize, Source)>,
    pub groups: [u32; 3],
    overflow: bool,
}

impl Dispatch {
    /// A launch of this shader with blocks of so many invocations.
    pub fn new(shader: &'static Shader, block: u32) -> Dispatch {
        Dispatch {
            shader,
            block: [block, 1, 1],
            constants: Vec::new(),
            shared_bytes: 0,
            words: [0; WORDS],
            used: 0,
            addresses: Vec::new(),
            groups: [0; 3],
            overflow: false,
        }
    }

    /// Constants that the shader is compiled with: ids 3 and up, in order. 0 to 2 are the block's size.
    #[must_use]
    pub fn constants(mut self, constants: &[u32]) -> Dispatch {
        self.constants = constants.to_vec();
        self
    }

    /// Shared memory of a block in bytes, as the shader with these constants declares it.
    #[must_use]
    pub fn shared(mut self, bytes: u32) -> Dispatch {
        self.shared_bytes = bytes;
        self
    }

    /// A word.
    #[must_use]
    pub fn u32(mut self, word: u32) -> Dispatch {
        match self.words.get_mut(self.used) {
            Some(place) => *place = word,
            None => self.overflow = true,
        }
        self.used += 1;
        self
    }

    /// A signed word.
    #[must_use]
    pub fn i32(self, word: i32) -> Dispatch {
        self.u32(word as u32)
    }

    /// A float.
    #[must_use]
    pub fn f32(self, value: f64) -> Dispatch {
        self.u32((value as f32).to_bits())
    }

    /// A float in two words whose sum is it to 48 bits: its nearest f32, and what that leaves.
    #[must_use]
    pub fn f32_pair(self, value: f64) -> Dispatch {
        let high = value as f32;
        self.u32(high.to_bits()).f32(if high.is_finite() {
            value - f64::from(high)
        } else {
            0.0
        })
    }

    /// An operand's address; zero where the operand is absent.
    #[must_use]
    pub fn operand(self, number: usize) -> Dispatch {
        self.address(Source::Operand(number))
    }

    /// An address in the workspace, bytes from its beginning.
    #[must_use]
    pub fn workspace(self, offset: u64) -> Dispatch {
        self.address(Source::Workspace(offset))
    }

    fn address(mut self, source: Source) -> Dispatch {
        if !self.used.is_multiple_of(2) {
            self = self.u32(0);
        }
        self.addresses.push((self.used, source));
        self.u32(0).u32(0)
    }

    /// So many blocks in each direction.
    #[must_use]
    pub fn groups(mut self, groups: [u32; 3]) -> Dispatch {
        self.groups = groups;
        self
    }

    /// So many blocks in all. The shader numbers them by `group_number()` and has to leave out those from the count on.
    ///
    /// # Errors
    /// More than two directions of a grid can hold.
    pub fn blocks(self, count: i64, most: [u32; 3]) -> Result<Dispatch> {
        let wide = i64::from(most[0].min(65_535));
        let high = count.div_euclid(wide) + i64::from(count.rem_euclid(wide) > 0);
        if count < 0 || high > i64::from(most[1]) {
            return Err(Error::launch(format!(
                "{count} blocks; the grid holds {wide} by {}",
                most[1]
            )));
        }
        Ok(self.groups([count.min(wide) as u32, high.max(1) as u32, 1]))
    }

    /// What is wrong with it, if anything.
    pub(super) fn check(&self, limits: &crate::physical::Limits) -> Result<()> {
        let name = self.shader.symbol;
        if self.overflow {
            return Err(Error::internal(format!(
                "`{name}` is given {} words; {WORDS} is the most",
                self.used
            )));
        }
        let over = |what: &str, got: u32, most: u32| {
            Err(Error::launch(format!(
                "`{name}`: {what} is {got}; this device takes {most}"
            )))
        };
        for i in 0..3 {
            if self.groups[i] > limits.groups[i] {
                return over("the grid", self.groups[i], limits.groups[i]);
            }
            if self.block[i] > limits.block[i] {
                return over("the block", self.block[i], limits.block[i]);
            }
        }
        let invocations = self.block.iter().product();
        if invocations > limits.invocations {
            return over("the block", invocations, limits.invocations);
        }
        if self.shared_bytes > limits.shared_bytes {
            return over("shared memory", self.shared_bytes, limits.shared_bytes);
        }
        Ok(())
    }
}
