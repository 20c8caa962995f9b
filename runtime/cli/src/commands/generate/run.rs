//! The texts as they come, and when they came.

use super::interrupt::Interrupt;
use crate::exit::Failure;
use crate::out::Out;
use overt_engine::text::{Decoder, SpecialText, Tokenizer};
use overt_engine::{Engine, Finish, Produced, SequenceId};
use std::time::{Duration, Instant};

/// One prompt's text.
pub struct Text {
    pub id: SequenceId,
    pub prompt_tokens: usize,
    pub tokens: Vec<u32>,
    pub text: String,
    pub finish: Option<Finish>,
    /// From the start of the first pass.
    pub first_token: Option<Duration>,
    decoder: Option<Decoder>,
}

/// All of them.
pub struct Run {
    pub texts: Vec<Text>,
    pub load: Duration,
    /// Until every prompt had its first token, and from then on to the end.
    pub prompts: Duration,
    pub rest: Duration,
    /// Tokens that were produced in the latter.
    pub rest_tokens: u64,
}

impl Run {
    pub fn new(
        tokenizer: &Tokenizer,
        prompts: &[Vec<u32>],
        ids: &[SequenceId],
        load: Duration,
    ) -> Run {
        let texts = prompts.iter().zip(ids).map(|(prompt, id)| Text {
            id: *id,
            prompt_tokens: prompt.len(),
            tokens: Vec::new(),
            text: String::new(),
            finish: None,
            first_token: None,
            decoder: Some(Decoder::new(tokenizer, SpecialText::Hide)),
        });
        Run {
            texts: texts.collect(),
            load,
            prompts: Duration::ZERO,
            rest: Duration::ZERO,
            rest_tokens: 0,
        }
    }

    /// Runs the engine until all texts are whole or the user wants an end.
    pub fn go(
        &mut self,
        engine: &mut Engine,
        interrupt: &Interrupt,
        out: &mut Out,
    ) -> Result<(), Failure> {
        let started = Instant::now();
        let ended = self.steps(engine, interrupt, out, started);
        self.rest = started.elapsed() - self.prompts;
        // What a text holds of a last character is given out however it ended.
        for number in 0..self.texts.len() {
            self.end(number, out);
        }
        ended
    }

    /// Whether any token came.
    pub fn produced(&self) -> bool {
        self.texts.iter().any(|text| !text.tokens.is_empty())
    }

    fn steps(
        &mut self,
        engine: &mut Engine,
        interrupt: &Interrupt,
        out: &mut Out,
        started: Instant,
    ) -> Result<(), Failure> {
        while engine.is_busy() && !interrupt.came() && !out.is_closed() {
            let all_begun = self.texts.iter().all(|text| text.first_token.is_some());
            let produced = engine.step()?;
            let now = started.elapsed();
            for one in &produced {
                self.take(one, now, out)?;
            }
            if all_begun {
                self.rest_tokens += produced.len() as u64;
            } else {
                self.prompts = now;
            }
        }
        Ok(())
    }

    fn take(&mut self, produced: &Produced, now: Duration, out: &mut Out) -> Result<(), Failure> {
        let alone = self.texts.len() == 1;
        let Some(number) = self.texts.iter().position(|t| t.id == produced.sequence) else {
            return Ok(());
        };
        let text = &mut self.texts[number];
        text.first_token.get_or_insert(now);
        text.tokens.push(produced.token);
        if let Some(decoder) = &mut text.decoder {
            let piece = decoder.push(produced.token)?;
            if alone {
                out.stream(&piece);
            }
            text.text.push_str(&piece);
        }
        if produced.finish.is_some() {
            text.finish = produced.finish;
            self.end(number, out);
        }
        Ok(())
    }

    /// The end of a text: several are printed whole, one after another.
    fn end(&mut self, number: usize, out: &mut Out) {
        let several = self.texts.len() > 1;
        let text = &mut self.texts[number];
        let Some(decoder) = text.decoder.take() else {
            return;
        };
        if text.tokens.is_empty() {
            return;
        }
        let last = decoder.finish();
        text.text.push_str(&last);
        if several {
            out.stream(&format!("--- {}\n{}\n", number + 1, text.text));
        } else {
            out.stream(&last);
            out.stream("\n");
        }
    }
}
