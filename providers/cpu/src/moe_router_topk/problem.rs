//! Numbers of operands, and attributes, checked.

use overt_sdk::host::Job;
use overt_sdk::{Error, Result};

pub const LOGITS: usize = 0;
pub const BIAS: usize = 1;
pub const WEIGHTS: usize = 2;
pub const EXPERTS: usize = 3;

/// Extents and attributes of a call that fit each other.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    pub tokens: usize,
    pub experts: usize,
    pub wanted: usize,
    pub sigmoid: bool,
    pub groups: usize,
    pub top_groups: usize,
    pub group_score: usize,
    pub renormalise: bool,
    pub scale: f64,
}

impl Rule {
    /// # Errors
    /// Groups that do not divide the experts, or more of anything than there is: what, and what was wanted.
    pub fn of(job: &Job<'_>) -> Result<Self> {
        let call = job.call();
        let logits = call.operand(LOGITS)?;
        let experts = logits.dim(1)?;
        let wanted = call.operand(EXPERTS)?.dim(1)?;
        let (groups, top_groups, group_score) =
            (call.attr_i64(1)?, call.attr_i64(2)?, call.attr_i64(3)?);
        let refuse = |name: &str, value: i64, wanted: String| {
            Err(Error::invalid(format!(
                "attribute `{name}` is {value}; wanted {wanted}"
            )))
        };
        if groups < 1 || experts % groups != 0 {
            return refuse("groups", groups, format!("a divisor of {experts} experts"));
        }
        let size = experts / groups;
        if !(1..=groups).contains(&top_groups) {
            return refuse("top_groups", top_groups, format!("1 to {groups} groups"));
        }
        if !(1..=size.max(1)).contains(&group_score) {
            return refuse("group_score", group_score, format!("1 to {size} experts"));
        }
        if wanted > top_groups * size {
            return Err(Error::invalid(format!(
                "operand `experts` wants {wanted} of each token; there are {top_groups} groups of {size}"
            )));
        }
        Ok(Self {
            tokens: logits.dim(0)? as usize,
            experts: experts as usize,
            wanted: wanted as usize,
            sigmoid: call.attr_bool(0)?,
            groups: groups as usize,
            top_groups: top_groups as usize,
            group_score: group_score as usize,
            renormalise: call.attr_bool(4)?,
            scale: call.attr_f64(5)?,
        })
    }
}
