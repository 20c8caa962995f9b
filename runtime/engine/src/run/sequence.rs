//! What is asked for, and how far it is.

use crate::error::EngineError;

/// How tokens are drawn. The default is greedy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// Logits are divided by it; 0 takes the greatest.
    pub temperature: f32,
    /// Only so many of the likeliest; 0 for all.
    pub top_k: i32,
    /// Only the likeliest whose probabilities reach this sum; 1 for all.
    pub top_p: f32,
    /// Only those at least so likely, in units of the likeliest; 0 for all.
    pub min_p: f32,
    /// What the draws follow from: the same seed gives the same tokens, whatever else runs.
    pub seed: i64,
}

impl Default for Sampling {
    fn default() -> Sampling {
        Sampling {
            temperature: 0.0,
            top_k: 0,
            top_p: 1.0,
            min_p: 0.0,
            seed: 0,
        }
    }
}

impl Sampling {
    /// Refuses what no token can be drawn by.
    pub(super) fn check(&self) -> Result<(), EngineError> {
        let holds = |holds: bool, option, got: f32, wanted: &str| match holds {
            true => Ok(()),
            false => Err(EngineError::Option {
                option,
                got: got.to_string(),
                wanted: wanted.into(),
            }),
        };
        let Sampling {
            temperature,
            top_k,
            top_p,
            min_p,
            ..
        } = *self;
        holds(
            temperature.is_finite() && temperature >= 0.0,
            "temperature",
            temperature,
            "0, or a number above it",
        )?;
        holds(top_k >= 0, "top_k", top_k as f32, "0, or a number above it")?;
        holds(
            top_p > 0.0 && top_p <= 1.0,
            "top_p",
            top_p,
            "above 0 and at most 1",
        )?;
        holds((0.0..=1.0).contains(&min_p), "min_p", min_p, "0 to 1")
    }
}

/// What to generate.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Tokens to start from, at least one.
    pub prompt: Vec<u32>,
    /// Most tokens to add.
    pub tokens: usize,
    /// How to draw.
    pub sampling: Sampling,
    /// Tokens that end it. They are produced, as the last.
    pub stop: Vec<u32>,
}

/// A sequence of one engine. Not used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SequenceId(pub(super) u64);

/// Why a sequence ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// One of its stop tokens came.
    Stop,
    /// It has as many tokens as were asked for, or as fit the context.
    Length,
}

/// A sequence that has pages.
pub(super) struct Sequence {
    pub id: SequenceId,
    pub request: Request,
    /// Prompt and what was produced.
    pub tokens: Vec<u32>,
    /// How many of them are in the cache.
    pub cached: usize,
    pub pages: Vec<i32>,
}

impl Sequence {
    /// Tokens that were produced.
    pub fn produced(&self) -> usize {
        self.tokens.len() - self.request.prompt.len()
    }

    /// Another token in the place of the last one that was produced, if one was.
    pub fn replace_last(&mut self, token: u32) -> bool {
        let produced = self.produced() > 0;
        if produced && let Some(last) = self.tokens.last_mut() {
            *last = token;
        }
        produced
    }

    /// Takes in a token; whether it was the last.
    pub fn push(&mut self, token: u32) -> Option<Finish> {
        self.tokens.push(token);
        if self.request.stop.contains(&token) {
            Some(Finish::Stop)
        } else if self.produced() >= self.request.tokens {
            Some(Finish::Length)
        } else {
            None
        }
    }
}
