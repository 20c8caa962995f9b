//! Splits text into words before byte pairs are merged, in the way that a file names: merges never reach over a word's end.
//!
//! The patterns are facts of the models' own tokenizers (the `pre_tokenizer` of their `tokenizer.json`; GPT-2's is that of its first release),
//! and the names and the pattern of `default` are those of llama.cpp, which writes the files. What follows differs from their text in one
//! point: `\s+(?!\S)|\s+`, which leaves the last space of a run to the word after it, is `\s+` here and a rule in code, so that the
//! patterns need no look-ahead and an engine whose time is linear in any text can run them.

use super::error::{TextError, shown};
use regex::Regex;

/// A way to split.
#[derive(Debug)]
pub(super) struct Splitter {
    stages: Vec<Stage>,
    /// Whether a word that is a token as it stands is not merged from its letters.
    pub(super) whole_words: bool,
    /// Whether texts get a beginning token where the file does not say.
    pub(super) add_bos: bool,
}

/// One pattern: its matches are words, and so is what lies between them.
#[derive(Debug)]
struct Stage {
    pattern: Regex,
    spaces: Spaces,
}

/// What becomes of a match that is a run of spaces with something after it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Spaces {
    /// It stays whole.
    Whole,
    /// Its last character is left to the word after it.
    LeaveLast,
    /// The same, but one that ends in a line break stays whole, since another part of the pattern made it.
    LeaveLastButBreaks,
}

/// GPT-2's words: contractions; letters, digits or other characters, each with at most one space before; spaces.
const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+";

/// Llama 3's: contractions of either case; letters after any one character; three digits at most; line breaks by themselves.
const LLAMA3: &str = r"'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+";

/// Qwen 2's: the same, digit by digit.
const QWEN2: &str = r"'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+";

/// The ways by name: `(names, patterns, a word that is a token stays whole, a beginning token by default)`.
type Way = (
    &'static [&'static str],
    &'static [(&'static str, Spaces)],
    bool,
    bool,
);

const WAYS: [Way; 5] = [
    (
        &["default"],
        &[
            (r"[\p{P}$+<=>^~|]+", Spaces::Whole),
            (GPT2, Spaces::LeaveLast),
            (r"\p{N}+", Spaces::Whole),
            (r"[0-9][0-9][0-9]", Spaces::Whole),
        ],
        false,
        false,
    ),
    (&["gpt-2"], &[(GPT2, Spaces::LeaveLast)], false, false),
    (
        &["llama-bpe", "llama3", "llama-v3"],
        &[(LLAMA3, Spaces::LeaveLastButBreaks)],
        true,
        true,
    ),
    (
        &["qwen2", "deepseek-r1-qwen"],
        &[(QWEN2, Spaces::LeaveLastButBreaks)],
        false,
        false,
    ),
    (
        &["smollm"],
        &[(r"\p{N}", Spaces::Whole), (GPT2, Spaces::LeaveLast)],
        false,
        false,
    ),
];

impl Splitter {
    /// The way of this name; `default` where the file names none.
    pub(super) fn new(name: Option<&str>) -> Result<Splitter, TextError> {
        let name = name.unwrap_or("default");
        let Some((_, patterns, whole_words, add_bos)) =
            WAYS.iter().find(|(names, ..)| names.contains(&name))
        else {
            let known: Vec<&str> = WAYS
                .iter()
                .flat_map(|(names, ..)| *names)
                .copied()
                .collect();
            return Err(TextError::UnknownSplitter {
                name: shown(name.as_bytes()),
                known: known.join(", "),
            });
        };
        let stages = patterns
            .iter()
            .map(|(pattern, spaces)| Stage {
                pattern: Regex::new(pattern).expect("the pattern is written above"),
                spaces: *spaces,
            })
            .collect();
        Ok(Splitter {
            stages,
            whole_words: *whole_words,
            add_bos: *add_bos,
        })
    }

    /// The words of a text, in order; together they are the text.
    pub(super) fn words<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let mut words = vec![text];
        for stage in &self.stages {
            let mut next = Vec::with_capacity(words.len().max(text.len() / 4));
            for word in words {
                stage.split(word, &mut next);
            }
            words = next;
        }
        words
    }
}

impl Stage {
    fn split<'t>(&self, text: &'t str, out: &mut Vec<&'t str>) {
        let mut done = 0;
        while let Some(found) = self.pattern.find_at(text, done) {
            if done < found.start() {
                out.push(&text[done..found.start()]);
            }
            let end = found.start() + self.kept(found.as_str(), found.end() < text.len());
            out.push(&text[found.start()..end]);
            done = end;
        }
        if done < text.len() {
            out.push(&text[done..]);
        }
    }

    /// How many bytes of a match are its word. Of all matches only runs of spaces, and of line breaks, end in a space.
    fn kept(&self, found: &str, more: bool) -> usize {
        let mut from_end = found.char_indices().rev();
        match from_end.next() {
            Some((start, last))
                if more
                    && start > 0
                    && last.is_whitespace()
                    && match self.spaces {
                        Spaces::Whole => false,
                        Spaces::LeaveLast => true,
                        Spaces::LeaveLastButBreaks => !matches!(last, '\r' | '\n'),
                    } =>
            {
                start
            }
            _ => found.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words<'t>(way: &str, text: &'t str) -> Vec<&'t str> {
        Splitter::new(Some(way)).unwrap().words(text)
    }

    #[test]
    fn the_last_space_of_a_run_goes_to_the_next_word() {
        assert_eq!(words("gpt-2", "a   b"), ["a", "  ", " b"]);
        assert_eq!(words("gpt-2", "a \n\n b "), ["a", " \n\n", " b", " "]);
        assert_eq!(words("gpt-2", "a\n\nb"), ["a", "\n", "\n", "b"]);
        assert_eq!(words("qwen2", "a\n\nb"), ["a", "\n\n", "b"]);
        assert_eq!(words("qwen2", "a \n  b"), ["a", " \n", " ", " b"]);
        assert_eq!(words("gpt-2", "  "), ["  "]);
    }

    #[test]
    fn digits_are_grouped_as_the_way_says() {
        assert_eq!(words("gpt-2", " 12345"), [" 12345"]);
        assert_eq!(words("smollm", " 123"), [" ", "1", "2", "3"]);
        assert_eq!(words("qwen2", " 123"), [" ", "1", "2", "3"]);
        assert_eq!(words("llama-bpe", "12345"), ["123", "45"]);
        assert_eq!(words("default", "x12345"), ["x", "123", "45"]);
    }

    #[test]
    fn contractions_differ_by_case() {
        assert_eq!(words("gpt-2", "IT'S it's"), ["IT", "'", "S", " it", "'s"]);
        assert_eq!(words("llama3", "IT'S it's"), ["IT", "'S", " it", "'s"]);
    }

    #[test]
    fn nothing_is_lost_and_no_word_is_empty() {
        let text = "a  \n\t b\u{a0}\u{a0}c é漢😀 '' 12ⅷ²  \r\n\r\n end \u{2003}";
        for (names, ..) in WAYS {
            let words = words(names[0], text);
            assert_eq!(words.concat(), text, "{names:?}");
            assert!(words.iter().all(|word| !word.is_empty()), "{names:?}");
        }
    }

    #[test]
    fn an_unknown_way_is_named_with_those_that_are_known() {
        let error = Splitter::new(Some("tekken\u{1b}")).unwrap_err().to_string();
        assert!(error.contains(r"`tekken\u{1b}`"), "{error}");
        assert!(
            error.contains("smollm") && error.contains("qwen2"),
            "{error}"
        );
    }
}
