//! Rules on contents.

use crate::host::HostCall;
use crate::op::ContentError;
use crate::ops::support::{View, symbol};

pub(super) fn check(call: &HostCall) -> Result<(), ContentError> {
    let (chosen, experts) = (View::of(call, "experts"), symbol(call, "E"));
    for t in 0..symbol(call, "T") {
        for s in 0..symbol(call, "S") {
            let expert = chosen.integer(&[t, s]);
            if expert >= experts {
                return Err(ContentError {
                    operand: "experts".to_owned(),
                    index: vec![t, s],
                    what: format!("expert {expert}"),
                    wanted: format!("a negative number for none, or one below {experts}"),
                });
            }
        }
    }
    Ok(())
}
