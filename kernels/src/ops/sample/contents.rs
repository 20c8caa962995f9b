//! Rules on contents.

use crate::host::HostCall;
use crate::op::ContentError;
use crate::ops::support::{View, symbol};

pub(super) fn check(call: &HostCall) -> Result<(), ContentError> {
    for (name, most) in [
        ("temperature", f64::MAX),
        ("top_p", f64::MAX),
        ("min_p", 1.0),
    ] {
        let values = View::of(call, name);
        for t in 0..symbol(call, "T") {
            let value = values.at(&[t]);
            // Written so that a NaN is refused too.
            if !(value >= 0.0 && value <= most) {
                return Err(ContentError {
                    operand: name.to_owned(),
                    index: vec![t],
                    what: format!("{value}"),
                    wanted: if most == 1.0 {
                        "0 to 1".to_owned()
                    } else {
                        "a finite number of at least 0".to_owned()
                    },
                });
            }
        }
    }
    Ok(())
}
