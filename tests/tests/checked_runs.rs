//! Checked mode reads what the rules of each op read, and lets every good call pass.

use overt::Error;
use overt::kernels::ops;
use overt_tests::problems;
use overt_tests::run::Uploaded;
use overt_tests::start;

#[test]
fn good_calls_of_every_op_pass_their_own_rules() {
    let runtime = start::cpu().checked(true).start().unwrap();
    let stream = runtime.stream(&runtime.device("cpu").unwrap()).unwrap();
    let mut ran = 0;
    for op in ops::ALL {
        for geometry in (op.geometries)().into_iter().step_by(9) {
            let host = problems::filled(op, &geometry, 3);
            let elements: i64 = host
                .operands
                .iter()
                .flatten()
                .map(|t| t.shape.iter().product::<i64>())
                .sum();
            if elements > 1 << 20 {
                continue;
            }
            let uploaded = Uploaded::new(&stream, host).unwrap();
            stream
                .dispatch(&uploaded.call())
                .unwrap_or_else(|error| panic!("{}: {geometry:?}: {error}", op.name));
            ran += 1;
        }
    }
    stream.sync().unwrap();
    assert!(ran > 100, "{ran}");
}

#[test]
fn a_frequency_that_is_no_number_is_named_before_anything_runs() {
    let runtime = start::cpu().checked(true).start().unwrap();
    let stream = runtime.stream(&runtime.device("cpu").unwrap()).unwrap();
    let geometry = (ops::rope::OP.geometries)().remove(0);
    let mut host = problems::filled(&ops::rope::OP, &geometry, 3);
    let number = host.schema.operand("inv_freq").unwrap();
    let frequencies = host.operands[number].as_mut().unwrap();
    frequencies.bytes[..4].copy_from_slice(&f32::NAN.to_le_bytes());
    let uploaded = Uploaded::new(&stream, host).unwrap();
    match stream.dispatch(&uploaded.call()) {
        Err(Error::Content { op, error }) => {
            assert_eq!(op, "rope.1");
            assert!(error.to_string().contains("inv_freq"), "{error}");
        }
        other => panic!("{other:?}"),
    }
}
