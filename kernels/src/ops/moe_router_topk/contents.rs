//! Rules on contents and attributes.

use crate::host::HostCall;
use crate::op::ContentError;
use crate::ops::support::{View, f64_attr, i64_attr, symbol};

pub(super) fn check(call: &HostCall) -> Result<(), ContentError> {
    attrs(call)?;
    let (tokens, experts) = (symbol(call, "T"), symbol(call, "E"));
    if let Some(bias) = View::optional(call, "bias") {
        for e in 0..experts {
            let value = bias.at(&[e]);
            if !value.is_finite() {
                return fault("bias", &[e], value.to_string(), "a finite number");
            }
        }
    }
    let logits = View::of(call, "logits");
    for t in 0..tokens {
        let mut any = symbol(call, "S") == 0;
        for e in 0..experts {
            let value = logits.at(&[t, e]);
            if value.is_nan() || value == f64::INFINITY {
                return fault("logits", &[t, e], value.to_string(), "a number below +∞");
            }
            any |= value.is_finite();
        }
        if !any {
            let what = "a row of −∞ alone".to_owned();
            return fault("logits", &[t], what, "a finite number in each row");
        }
    }
    Ok(())
}

fn attrs(call: &HostCall) -> Result<(), ContentError> {
    let (experts, wanted) = (symbol(call, "E"), symbol(call, "S"));
    let groups = i64_attr(call, "groups");
    if groups < 1 || experts % groups != 0 {
        let wanted = format!("at least 1, and a divisor of {experts} experts");
        return fault("groups", &[], groups.to_string(), &wanted);
    }
    let size = experts / groups;
    let of = |name: &str, most: i64| {
        let value = i64_attr(call, name);
        if (1..=most.max(1)).contains(&value) {
            Ok(value)
        } else {
            fault(
                name,
                &[],
                value.to_string(),
                &format!("1 to {}", most.max(1)),
            )
            .map(|()| 0)
        }
    };
    let top_groups = of("top_groups", groups)?;
    of("group_score", size)?;
    if wanted > top_groups * size {
        let what = format!("{wanted} experts of {top_groups} groups of {size}");
        return fault("experts", &[], what, "no more than there are");
    }
    let scale = f64_attr(call, "scale");
    if !scale.is_finite() {
        return fault("scale", &[], scale.to_string(), "a finite number");
    }
    Ok(())
}

fn fault(operand: &str, index: &[i64], what: String, wanted: &str) -> Result<(), ContentError> {
    Err(ContentError {
        operand: operand.to_owned(),
        index: index.to_vec(),
        what,
        wanted: wanted.to_owned(),
    })
}
