//! Rules on contents.

use crate::host::HostCall;
use crate::op::ContentError;
use crate::ops::support::{View, symbol};

pub(super) fn check(call: &HostCall) -> Result<(), ContentError> {
    let fault = |operand: &str, index: i64, what: String, wanted: &str| ContentError {
        operand: operand.to_owned(),
        index: vec![index],
        what,
        wanted: wanted.to_owned(),
    };
    let (pairs, width) = (symbol(call, "F"), symbol(call, "D"));
    if 2 * pairs > width {
        return Err(fault(
            "inv_freq",
            width / 2,
            format!("{pairs} frequencies for heads of {width}"),
            "at most one for each two elements of a head",
        ));
    }
    let positions = View::of(call, "positions");
    for t in 0..symbol(call, "T") {
        let position = positions.integer(&[t]);
        if position < 0 {
            let what = format!("position {position} is negative");
            return Err(fault("positions", t, what, "a position of at least 0"));
        }
    }
    let frequencies = View::of(call, "inv_freq");
    for i in 0..pairs {
        let frequency = frequencies.at(&[i]);
        if !frequency.is_finite() {
            let what = format!("frequency {frequency} is not finite");
            return Err(fault("inv_freq", i, what, "a finite frequency"));
        }
    }
    Ok(())
}
