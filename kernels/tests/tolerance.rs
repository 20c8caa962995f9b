//! What a tolerance allows, at its edges.

use overt_kernels::dtype::{BF16, F16, F32};
use overt_kernels::host::HostCall;
use overt_kernels::op::Tolerance;
use overt_kernels::ops;
use std::sync::Arc;

#[test]
fn the_limit_is_the_sum_of_its_parts_and_odd_values_meet_only_themselves() {
    let tolerance = Tolerance {
        absolute: 0.25,
        relative: 0.5,
        floor: 1.0,
        reason: "",
    };
    assert_eq!(Tolerance::scale_of(&[3.0, -4.0, 0.0, 0.0]), 2.5);
    assert_eq!(Tolerance::scale_of(&[]), 0.0);
    // 0.25 · 4 + 0.5 · 2 + 1
    assert!(tolerance.allows(-5.0, -2.0, 4.0) && !tolerance.allows(-5.1, -2.0, 4.0));
    assert!(tolerance.allows(1.0, -2.0, 4.0) && !tolerance.allows(1.1, -2.0, 4.0));
    let (nan, infinity) = (f64::NAN, f64::INFINITY);
    assert!(tolerance.allows(nan, nan, 1.0) && tolerance.allows(infinity, infinity, 1.0));
    for (got, want) in [
        (nan, 0.0),
        (0.0, nan),
        (infinity, 0.0),
        (0.0, infinity),
        (-infinity, infinity),
    ] {
        assert!(!tolerance.allows(got, want, infinity), "{got} for {want}");
    }
}

/// A tolerance below one rounding would fail right kernels; one of many roundings would pass wrong ones.
#[test]
fn every_op_allows_one_rounding_of_the_output_and_little_more() {
    for op in ops::ALL {
        let schema = Arc::new(op.parse().unwrap());
        for geometry in (op.geometries)() {
            let call = HostCall::from_geometry(&schema, &geometry).unwrap();
            let output = schema.outputs()[0];
            let rounding = match call.operands[output].as_ref().unwrap().dtype {
                F32 => -24,
                F16 => -11,
                BF16 => -8,
                // Whole numbers have no rounding, and quantised types state theirs by block.
                _ => continue,
            };
            let tolerance = (op.tolerance)(&call, output);
            let rounding = 2f64.powi(rounding);
            assert!(tolerance.relative >= rounding, "{}", op.name);
            let most = 2.0 * rounding + 2f64.powi(-13);
            assert!(
                tolerance.relative + tolerance.absolute <= most + 2f64.powi(-13),
                "{}: {tolerance:?}",
                op.name
            );
            assert!(tolerance.floor <= 2f64.powi(-24) && tolerance.floor > 0.0);
            assert!(tolerance.reason.len() > 40, "{}: a reason", op.name);
        }
    }
}
