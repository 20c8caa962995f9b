//! Rules on contents.

use crate::host::HostCall;
use crate::op::ContentError;
use crate::ops::support::{View, f64_attr, symbol};
use std::collections::HashMap;

pub(super) fn check(call: &HostCall) -> Result<(), ContentError> {
    for scale in ["k_scale", "v_scale"] {
        let value = f64_attr(call, scale);
        if !value.is_finite() || value == 0.0 {
            return Err(ContentError {
                operand: scale.to_owned(),
                index: Vec::new(),
                what: format!("the attribute is {value}"),
                wanted: "a finite number other than 0".to_owned(),
            });
        }
    }
    let slots = View::of(call, "slots");
    let (pages, page) = (symbol(call, "N"), symbol(call, "P"));
    let fault = |t: i64, what: String, wanted: String| ContentError {
        operand: "slots".to_owned(),
        index: vec![t],
        what,
        wanted,
    };
    let mut taken = HashMap::new();
    for t in 0..symbol(call, "T") {
        let slot = slots.integer(&[t]);
        if slot < 0 {
            continue;
        }
        if page == 0 || slot / page >= pages {
            let what = format!("slot {slot} is outside the cache of {pages} pages of {page}");
            return Err(fault(
                t,
                what,
                format!(
                    "a negative slot, or one below {}",
                    pages.saturating_mul(page)
                ),
            ));
        }
        if let Some(earlier) = taken.insert(slot, t) {
            let what = format!("slot {slot} is the slot of token {earlier} too");
            return Err(fault(
                t,
                what,
                "a slot of its own for each token".to_owned(),
            ));
        }
    }
    Ok(())
}
