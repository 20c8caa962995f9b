//! What a kernel's launch function sees.

use super::body::{Body, Context, HostPlan, JobData, PARAMS};
use super::command::Command;
use super::device::HostShared;
use super::queue::Queue;
use super::stream::Side;
use crate::call::{CallView, OwnedCall};
use crate::receipt::Receipt;
use crate::{Error, Result};
use std::any::Any;

/// A launch in progress. Bodies given to [`Launch::run`] are enqueued together when the launch function returns `Ok`, and
/// forgotten when it fails; the receipt is theirs.
pub struct Launch<'a> {
    pub(crate) call: CallView<'a>,
    pub(crate) plan: Option<&'a HostPlan>,
    pub(crate) shared: &'a HostShared,
    pub(crate) queue: &'a Queue,
    pub(crate) side: &'a mut Side,
    pub(crate) receipt: Receipt,
}

impl<'a> Launch<'a> {
    /// The call.
    pub fn call(&self) -> CallView<'a> {
        self.call
    }

    /// What the device was made with.
    pub fn context<T: Any>(&self) -> Result<&'a T> {
        Context(&*self.shared.context).get()
    }

    /// What `prepare` made for this problem.
    pub fn plan<T: Any>(&self) -> Option<&'a T> {
        self.plan?.downcast_ref()
    }

    /// Enqueues a body over a grid of independent pieces of work.
    pub fn run(&mut self, body: &'static Body, grid: [u32; 3]) -> Result<()> {
        self.run_with(body, grid, &[])
    }

    /// Like [`Self::run`], with up to 8 words that the body gets from [`super::Job::params`].
    pub fn run_with(&mut self, body: &'static Body, grid: [u32; 3], words: &[u64]) -> Result<()> {
        let mut params = [0; PARAMS];
        params
            .get_mut(..words.len())
            .ok_or_else(|| {
                Error::launch(format!(
                    "`{}`: {} words given to the body; at most {PARAMS}",
                    body.symbol,
                    words.len()
                ))
            })?
            .copy_from_slice(words);
        let mut job = self.job(body);
        job.body = body;
        job.grid = grid;
        job.params = params;
        job.param_count = words.len();
        job.call.fill(&self.call, &self.side.addresses);
        self.side.staged.push(Command::Run(job));
        self.receipt
            .add(body.symbol, body.image.short_digest(), grid, [1, 1, 1], 0);
        Ok(())
    }

    /// A job from those used before, or a new one.
    fn job(&mut self, body: &'static Body) -> Box<JobData> {
        if self.side.jobs.is_empty() && self.side.recording.is_none() {
            std::mem::swap(&mut self.side.jobs, &mut self.queue.state.lock().free);
        }
        self.side.jobs.pop().unwrap_or_else(|| {
            Box::new(JobData {
                body,
                grid: [0; 3],
                params: [0; PARAMS],
                param_count: 0,
                call: OwnedCall::new(),
            })
        })
    }
}
