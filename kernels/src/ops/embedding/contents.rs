//! Rules on contents.

use crate::host::HostCall;
use crate::op::ContentError;
use crate::ops::support::{View, symbol};

pub(super) fn check(call: &HostCall) -> Result<(), ContentError> {
    let (ids, rows) = (View::of(call, "ids"), symbol(call, "V"));
    for t in 0..symbol(call, "T") {
        let id = ids.integer(&[t]);
        if !(0..rows).contains(&id) {
            return Err(ContentError {
                operand: "ids".to_owned(),
                index: vec![t],
                what: format!("id {id} is no row of a table of {rows}"),
                wanted: format!("an id of at least 0 and below {rows}"),
            });
        }
    }
    Ok(())
}
