//! Embedding the runtime: load providers, dispatch a call, and hold what ran against what was wanted.

use overt::{Call, Policy, Runtime, Tensor, Witness, dtype};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Looks where docs/loading.md says. Strict: a fallback is an error, and nothing runs.
    let runtime = Runtime::builder().policy(Policy::strict()).start()?;
    let device = runtime.device("cpu")?;
    let stream = runtime.stream(&device)?;

    // matmul_bt.1: out[m,n] is the sum over k of a[m,k] * b[n,k].
    let a = Tensor::empty(&device, dtype::F32, &[2, 3])?;
    let b = Tensor::empty(&device, dtype::F32, &[2, 3])?;
    let out = Tensor::empty(&device, dtype::F32, &[2, 2])?;
    stream.write(&a, &bytes(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))?;
    stream.write(&b, &bytes(&[1.0, 0.0, 0.0, 1.0, 1.0, 1.0]))?;

    let op = runtime.op("matmul_bt.1")?;
    let witness = Witness::new();
    let call = Call::new(&op)
        .operand("a", &a)?
        .operand("b", &b)?
        .operand("out", &out)?
        .witnessed(&witness);

    // Selects, launches and counts; returns when the work is enqueued.
    let launched = stream.dispatch(&call)?;
    let receipt = stream.last_receipt();
    println!("{} launched {}", launched.kernel(&runtime), receipt.entry);

    // A witness vouches only for work that a synchronise has seen end.
    stream.sync()?;
    witness.assert_only(&launched.kernel(&runtime), 1)?;
    println!("{:?}", floats(&stream.read_vec(&out)?));

    // For the same call again and again: the selection is settled once.
    let plan = runtime.plan(&call, &device)?;
    for _ in 0..3 {
        plan.launch(&stream)?;
    }
    stream.sync()?;
    for count in runtime.counts() {
        let (selected, completed) = (count.counts.selected, count.counts.completed);
        println!(
            "{}: selected {selected}, completed {completed}",
            count.kernel
        );
    }

    // Why this kernel, and why no other.
    println!("{}", runtime.explain_call(&call, &device)?);
    Ok(())
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_ne_bytes())
        .collect()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    let (values, _) = bytes.as_chunks::<4>();
    values
        .iter()
        .map(|value| f32::from_ne_bytes(*value))
        .collect()
}
