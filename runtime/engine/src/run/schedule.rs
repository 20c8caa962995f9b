//! Which tokens go into the next pass.
//!
//! Every running sequence gets its next token first, so that none waits for another's prompt; what room is left goes to prompts, in the order
//! in which they came. A sequence gets all the pages that it can ever need when it begins, so none is stopped half way.

use super::cache::Pages;
use super::sequence::{Request, Sequence, SequenceId};
use crate::forward::Batch;
use std::collections::VecDeque;

pub(super) struct Schedule {
    pub waiting: VecDeque<(SequenceId, Request)>,
    pub running: Vec<Sequence>,
    pub pages: Pages,
    /// Sequences at once, tokens of a pass, tokens of a page, columns of the table.
    pub sequences: usize,
    pub chunk: usize,
    pub page: usize,
    pub columns: usize,
}

/// A batch and whose it is.
pub(super) struct Planned {
    pub batch: Batch,
    /// By request: place among the running, and the number of its tokens in this pass.
    pub taken: Vec<(usize, usize)>,
    /// By drawn row: place among the running.
    pub drawn: Vec<usize>,
}

impl Schedule {
    /// Begins what can begin.
    pub fn admit(&mut self) {
        while self.running.len() < self.sequences
            && let Some((_, request)) = self.waiting.front()
            && let Some(pages) = self.pages.take(request.prompt.len() + request.tokens)
        {
            let (id, request) = self.waiting.pop_front().expect("looked at above");
            self.running.push(Sequence {
                id,
                tokens: request.prompt.clone(),
                request,
                cached: 0,
                pages,
            });
        }
    }

    /// The next pass; of no tokens when nothing runs.
    pub fn plan(&self) -> Planned {
        let mut planned = Planned {
            batch: Batch::default(),
            taken: Vec::new(),
            drawn: Vec::new(),
        };
        planned.batch.query_start.push(0);
        let decodes = |s: &Sequence| s.tokens.len() - s.cached == 1 && s.cached > 0;
        for decoding in [true, false] {
            for (place, sequence) in self.running.iter().enumerate() {
                if decodes(sequence) == decoding {
                    self.add(&mut planned, place, sequence);
                }
            }
        }
        planned
    }

    fn add(&self, planned: &mut Planned, place: usize, sequence: &Sequence) {
        let batch = &mut planned.batch;
        let room = self.chunk.max(self.sequences) - batch.ids.len();
        let left = sequence.tokens.len() - sequence.cached;
        let count = left.min(room).min(self.chunk);
        if count == 0 {
            return;
        }
        for position in sequence.cached..sequence.cached + count {
            let page = sequence.pages[position / self.page];
            batch.ids.push(sequence.tokens[position] as i32);
            batch.positions.push(position as i32);
            batch
                .slots
                .push(i64::from(page) * self.page as i64 + (position % self.page) as i64);
        }
        batch.query_start.push(batch.ids.len() as i32);
        batch.seq_lens.push((sequence.cached + count) as i32);
        let row = batch.block_table.len();
        batch.block_table.extend(&sequence.pages);
        // Behind a sequence's last page nothing is read.
        batch.block_table.resize(row + self.columns, 0);
        planned.taken.push((place, count));
        if count == left {
            let sampling = sequence.request.sampling;
            batch.last.push(batch.ids.len() as i32 - 1);
            batch.temperature.push(sampling.temperature);
            batch.top_k.push(sampling.top_k);
            batch.top_p.push(sampling.top_p);
            batch.min_p.push(sampling.min_p);
            batch.seed.push(sampling.seed);
            batch.draw.push(sequence.produced() as i64);
            planned.drawn.push(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Sampling;

    fn schedule(chunk: usize, pages: usize) -> Schedule {
        Schedule {
            waiting: VecDeque::new(),
            running: Vec::new(),
            pages: Pages::new(pages, 4),
            sequences: 2,
            chunk,
            page: 4,
            columns: 5,
        }
    }

    fn ask(schedule: &mut Schedule, id: u64, prompt: std::ops::Range<u32>, tokens: usize) {
        let request = Request {
            prompt: prompt.collect(),
            tokens,
            sampling: Sampling::default(),
            stop: vec![],
        };
        schedule.waiting.push_back((SequenceId(id), request));
    }

    /// Takes a pass as done: tokens are cached, and each drawn row gives token 99.
    fn done(schedule: &mut Schedule, planned: &Planned) {
        for (place, count) in &planned.taken {
            schedule.running[*place].cached += count;
        }
        for place in &planned.drawn {
            schedule.running[*place].push(99);
        }
    }

    #[test]
    fn prompts_are_cut_in_chunks_and_decoding_goes_first() {
        let mut schedule = schedule(5, 10);
        ask(&mut schedule, 1, 10..12, 6);
        schedule.admit();
        let first = schedule.plan();
        assert_eq!(first.batch.ids, [10, 11]);
        assert_eq!(first.batch.last, [1]);
        done(&mut schedule, &first);
        ask(&mut schedule, 2, 20..29, 3);
        schedule.admit();
        let second = schedule.plan();
        assert_eq!(second.batch.ids, [99, 20, 21, 22, 23]);
        assert_eq!(second.batch.positions, [2, 0, 1, 2, 3]);
        assert_eq!(second.batch.query_start, [0, 1, 5]);
        assert_eq!(second.batch.seq_lens, [3, 4]);
        // Only the first has its whole sequence in this pass.
        assert_eq!(
            (second.batch.last.as_slice(), second.drawn.as_slice()),
            (&[0][..], &[0][..])
        );
        done(&mut schedule, &second);
        let third = schedule.plan();
        assert_eq!(third.batch.ids, [99, 24, 25, 26, 27]);
        assert_eq!(third.batch.seq_lens, [4, 8]);
        done(&mut schedule, &third);
        let fourth = schedule.plan();
        assert_eq!(fourth.batch.ids, [99, 28]);
        assert_eq!(fourth.batch.last, [0, 1]);
        // Pages of the two are disjoint, and a slot is its page's.
        let rows: Vec<&[i32]> = fourth.batch.block_table.chunks(5).collect();
        assert!(rows[0][..2].iter().all(|page| !rows[1][..3].contains(page)));
        assert_eq!(fourth.batch.slots[0], i64::from(rows[0][1]) * 4);
        assert_eq!(fourth.batch.slots[1], i64::from(rows[1][2]) * 4);
    }

    #[test]
    fn what_does_not_fit_waits_and_pages_come_back() {
        let mut schedule = schedule(8, 3);
        ask(&mut schedule, 1, 0..4, 4);
        ask(&mut schedule, 2, 0..4, 4);
        schedule.admit();
        assert_eq!((schedule.running.len(), schedule.waiting.len()), (1, 1));
        assert_eq!(schedule.pages.free(), 1);
        let mut gone = schedule.running.remove(0);
        schedule.pages.give_back(&mut gone.pages);
        schedule.admit();
        assert_eq!((schedule.running.len(), schedule.waiting.len()), (1, 0));
    }

    #[test]
    fn nothing_running_is_an_empty_pass() {
        let planned = schedule(8, 3).plan();
        assert!(planned.batch.ids.is_empty() && planned.taken.is_empty());
    }
}
