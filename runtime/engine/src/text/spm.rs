//! Tokenizers of the kind `llama`: characters are merged into pieces, the neighbouring pair whose piece has the greatest score first.
//!
//! A list of merges in order cannot say this: two pairs may make pieces of one score, and then the leftmost is first, wherever it comes from.
//! So this is no case of byte pairs with ranks, and is done here.

use super::error::{TextError, shown};
use super::pieces::{Pieces, SPACE, TokenKind, byte};
use super::vocabulary::Vocabulary;
use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};

#[derive(Debug)]
pub(super) struct Scored {
    /// Tokens by their text. Their own hash is the standard library's, which a hostile file cannot make slow.
    tokens: HashMap<Box<[u8]>, u32>,
    scores: Vec<f32>,
    /// The token of each byte.
    bytes: [u32; 256],
    /// The longest token, in bytes: a longer pair is no token.
    longest: usize,
    space_prefix: bool,
}

impl Scored {
    pub(super) fn new(vocabulary: &Vocabulary, pieces: &Pieces) -> Result<Scored, TextError> {
        let count = vocabulary.tokens.len();
        if vocabulary.scores.len() != count {
            return Err(TextError::Length {
                array: "the list of scores, which the model `llama` needs,",
                got: vocabulary.scores.len(),
                wanted: count,
            });
        }
        let mut tokens = HashMap::with_capacity(count);
        let mut bytes = [None; 256];
        let mut longest = 0;
        for (token, text) in (0..).zip(&vocabulary.tokens) {
            if vocabulary.scores[token as usize].is_nan() {
                return Err(TextError::Score { token });
            }
            if text.is_empty() {
                continue;
            }
            longest = longest.max(text.len());
            if let Some(first) = tokens.insert(text.clone().into_boxed_slice(), token) {
                return Err(TextError::Twice {
                    first,
                    second: token,
                    text: shown(text),
                });
            }
            if pieces.kind(token)? == TokenKind::Byte
                && let Some(byte) = byte(text)
            {
                bytes[usize::from(byte)] = Some(token);
            }
        }
        let mut fallback = [0; 256];
        for byte in 0..=u8::MAX {
            fallback[usize::from(byte)] = bytes[usize::from(byte)]
                .or_else(|| tokens.get(&[byte][..]).copied())
                .or(vocabulary.unknown)
                .ok_or(TextError::NoByte { byte })?;
        }
        Ok(Scored {
            tokens,
            scores: vocabulary.scores.clone(),
            bytes: fallback,
            longest,
            space_prefix: vocabulary.space_prefix.unwrap_or(true),
        })
    }

    pub(super) fn space_prefix(&self) -> bool {
        self.space_prefix
    }

    /// Appends the tokens of a text in which no special token is looked for. `first`: it begins the whole text or follows a special token.
    pub(super) fn encode(&self, text: &str, first: bool, out: &mut Vec<u32>) {
        let mut marked = String::with_capacity(text.len() + text.len() / 2);
        if first && self.space_prefix {
            marked.push_str(SPACE);
        }
        for character in text.chars() {
            match character {
                ' ' => marked.push_str(SPACE),
                other => marked.push(other),
            }
        }
        let mut chain = Chain::of(&marked);
        let mut queue = BinaryHeap::new();
        for left in 1..chain.links.len() {
            self.offer(&chain, left - 1, &mut queue);
        }
        while let Some(pair) = queue.pop() {
            if chain.still(&pair) {
                let merged = chain.merge(pair.left);
                if let Some(before) = merged.before {
                    self.offer(&chain, before, &mut queue);
                }
                self.offer(&chain, pair.left, &mut queue);
            }
        }
        for piece in chain.pieces() {
            match self.tokens.get(piece) {
                Some(token) => out.push(*token),
                // Only a single character is no token: a pair is merged where it is one.
                None => out.extend(piece.iter().map(|byte| self.bytes[usize::from(*byte)])),
            }
        }
    }

    /// Queues the pair that begins at a link, where its piece is a token.
    fn offer(&self, chain: &Chain<'_>, left: usize, queue: &mut BinaryHeap<Pair>) {
        let Some(text) = chain.pair(left) else { return };
        if text.len() > self.longest {
            return;
        }
        if let Some(token) = self.tokens.get(text) {
            queue.push(Pair {
                score: self.scores[*token as usize],
                left,
                len: text.len(),
            });
        }
    }
}

/// A pair that may be merged: the greatest score first, then the leftmost.
struct Pair {
    score: f32,
    left: usize,
    /// Of both pieces together, in bytes: it differs once either has grown.
    len: usize,
}

impl Ord for Pair {
    fn cmp(&self, other: &Pair) -> Ordering {
        // No score is NaN, and the two zeros are equal.
        let scores = self.score.partial_cmp(&other.score);
        let scores = scores.unwrap_or(Ordering::Equal);
        scores.then(other.left.cmp(&self.left))
    }
}

impl PartialOrd for Pair {
    fn partial_cmp(&self, other: &Pair) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Pair {
    fn eq(&self, other: &Pair) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Pair {}

/// The pieces of a text, each linked to its neighbours.
struct Chain<'t> {
    text: &'t [u8],
    links: Vec<Link>,
}

#[derive(Clone, Copy)]
struct Link {
    at: usize,
    /// In bytes; 0 once it has become part of the piece before.
    len: usize,
    before: Option<usize>,
    after: Option<usize>,
}

impl<'t> Chain<'t> {
    fn of(text: &'t str) -> Chain<'t> {
        let count = text.chars().count();
        let links = text
            .char_indices()
            .enumerate()
            .map(|(number, (at, c))| Link {
                at,
                len: c.len_utf8(),
                before: number.checked_sub(1),
                after: Some(number + 1).filter(|after| *after < count),
            });
        Chain {
            text: text.as_bytes(),
            links: links.collect(),
        }
    }

    /// The text of the piece at a link and the one after it.
    fn pair(&self, left: usize) -> Option<&'t [u8]> {
        let first = self.links[left];
        let second = self.links[first.after?];
        Some(&self.text[first.at..second.at + second.len])
    }

    /// Whether both pieces of a queued pair are as they were.
    fn still(&self, pair: &Pair) -> bool {
        self.links[pair.left].len > 0
            && self
                .pair(pair.left)
                .is_some_and(|text| text.len() == pair.len)
    }

    /// Makes one piece of the piece at a link and the one after it, and returns it.
    fn merge(&mut self, left: usize) -> Link {
        if let Some(right) = self.links[left].after {
            let Link { len, after, .. } = self.links[right];
            self.links[right].len = 0;
            self.links[left].len += len;
            self.links[left].after = after;
            if let Some(after) = after {
                self.links[after].before = Some(left);
            }
        }
        self.links[left]
    }

    fn pieces(&self) -> impl Iterator<Item = &'t [u8]> {
        let whole = self.links.iter().filter(|link| link.len > 0);
        whole.map(|link| &self.text[link.at..link.at + link.len])
    }
}
