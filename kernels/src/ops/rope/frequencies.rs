//! Frequencies of the pairs, for the schemes that models use.

use std::f64::consts::TAU;

/// How frequencies are changed so that a model serves longer contexts than it was trained on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scaling {
    /// Not at all.
    None,
    /// All are divided by `factor`: positions are squeezed.
    Linear {
        /// Length of the new context in units of the old.
        factor: f64,
    },
    /// Llama 3.1: waves that are long against the original context are divided by `factor`, short ones kept, with a linear
    /// transition in the number of waves that the context holds.
    Llama3 {
        /// What long waves are divided by.
        factor: f64,
        /// Waves of which the context holds fewer than this are long.
        low_freq_factor: f64,
        /// Waves of which the context holds more than this are short.
        high_freq_factor: f64,
        /// Tokens of the context that the model was trained on.
        original_context: f64,
    },
    /// YaRN: as above, with a transition that is linear in the number of the pair.
    Yarn {
        /// What long waves are divided by.
        factor: f64,
        /// Tokens of the context that the model was trained on.
        original_context: f64,
        /// Pairs whose wave the context holds more often than this are kept; 32 as a rule.
        beta_fast: f64,
        /// Pairs whose wave the context holds less often than this are divided; 1 as a rule.
        beta_slow: f64,
        /// Whether the transition's ends are rounded outwards to whole pairs, which the original does and GPT-OSS does not.
        truncate: bool,
        /// Weights of the logarithm in the amplitude, above and below the line: DeepSeek's `mscale` and `mscale_all_dim`. `None` is 1
        /// over a line that is 1.
        mscale: Option<(f64, f64)>,
    },
}

/// A parameter that no frequencies can be made of.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("rope frequencies: {what} is {got}; wanted {wanted}")]
pub struct FrequencyError {
    /// The parameter.
    pub what: &'static str,
    /// Its value.
    pub got: f64,
    /// What would be right.
    pub wanted: &'static str,
}

/// The frequencies of the `rotary / 2` pairs, in radians a position: `base ^ (-2i / rotary)`, scaled, each computed in f64 and
/// rounded once to f32.
///
/// # Errors
/// [`FrequencyError`] for an odd width, a base that is not above 1, or parameters of the scaling outside their range.
pub fn inv_freq(base: f64, rotary: usize, scaling: &Scaling) -> Result<Vec<f32>, FrequencyError> {
    require(
        "rotary",
        rotary as f64,
        rotary.is_multiple_of(2),
        "an even width",
    )?;
    require(
        "base",
        base,
        base > 1.0 && base.is_finite(),
        "a number above 1",
    )?;
    check(scaling)?;
    Ok((0..rotary / 2)
        .map(|pair| {
            let plain = base.powf(-2.0 * pair as f64 / rotary as f64);
            scaled(plain, pair as f64, base, rotary as f64, scaling) as f32
        })
        .collect())
}

/// What cosine and sine are multiplied by under this scaling; 1 for all but YaRN.
///
/// # Errors
/// [`FrequencyError`] for parameters outside their range.
pub fn amplitude(scaling: &Scaling) -> Result<f64, FrequencyError> {
    check(scaling)?;
    let Scaling::Yarn { factor, mscale, .. } = *scaling else {
        return Ok(1.0);
    };
    let of = |weight: f64| {
        if factor <= 1.0 {
            1.0
        } else {
            0.1 * weight * factor.ln() + 1.0
        }
    };
    Ok(match mscale {
        None => of(1.0),
        Some((above, below)) => of(above) / of(below),
    })
}

fn scaled(plain: f64, pair: f64, base: f64, rotary: f64, scaling: &Scaling) -> f64 {
    match *scaling {
        Scaling::None => plain,
        Scaling::Linear { factor } => plain / factor,
        Scaling::Llama3 {
            factor,
            low_freq_factor,
            high_freq_factor,
            original_context,
        } => {
            let waves = original_context * plain / TAU;
            let kept =
                ((waves - low_freq_factor) / (high_freq_factor - low_freq_factor)).clamp(0.0, 1.0);
            blend(plain, factor, kept)
        }
        Scaling::Yarn {
            factor,
            original_context,
            beta_fast,
            beta_slow,
            truncate,
            ..
        } => {
            // The pair of which the context holds so many waves.
            let pair_of =
                |waves: f64| rotary * (original_context / (waves * TAU)).ln() / (2.0 * base.ln());
            let (mut first, mut last) = (pair_of(beta_fast), pair_of(beta_slow));
            if truncate {
                (first, last) = (first.floor(), last.ceil());
            }
            (first, last) = (first.max(0.0), last.min(rotary - 1.0));
            // The original's guard against a transition of no width.
            if first == last {
                last += 0.001;
            }
            let divided = ((pair - first) / (last - first)).clamp(0.0, 1.0);
            blend(plain, factor, 1.0 - divided)
        }
    }
}

/// `kept` of the frequency and the rest of its division.
fn blend(plain: f64, factor: f64, kept: f64) -> f64 {
    plain * kept + plain / factor * (1.0 - kept)
}

fn check(scaling: &Scaling) -> Result<(), FrequencyError> {
    let positive = |what, value: f64| {
        require(
            what,
            value,
            value > 0.0 && value.is_finite(),
            "a number above 0",
        )
    };
    match *scaling {
        Scaling::None => Ok(()),
        Scaling::Linear { factor } => positive("factor", factor),
        Scaling::Llama3 {
            factor,
            low_freq_factor,
            high_freq_factor,
            original_context,
        } => {
            positive("factor", factor)?;
            positive("low_freq_factor", low_freq_factor)?;
            positive("original_context", original_context)?;
            require(
                "high_freq_factor",
                high_freq_factor,
                high_freq_factor > low_freq_factor && high_freq_factor.is_finite(),
                "more than low_freq_factor",
            )
        }
        Scaling::Yarn {
            factor,
            original_context,
            beta_fast,
            beta_slow,
            mscale,
            ..
        } => {
            positive("factor", factor)?;
            positive("original_context", original_context)?;
            positive("beta_slow", beta_slow)?;
            require(
                "beta_fast",
                beta_fast,
                beta_fast >= beta_slow && beta_fast.is_finite(),
                "at least beta_slow",
            )?;
            for (what, value) in mscale
                .iter()
                .flat_map(|&(above, below)| [("mscale", above), ("mscale_all_dim", below)])
            {
                require(what, value, value >= 0.0 && value.is_finite(), "at least 0")?;
            }
            Ok(())
        }
    }
}

fn require(
    what: &'static str,
    got: f64,
    holds: bool,
    wanted: &'static str,
) -> Result<(), FrequencyError> {
    if holds {
        Ok(())
    } else {
        Err(FrequencyError { what, got, wanted })
    }
}
