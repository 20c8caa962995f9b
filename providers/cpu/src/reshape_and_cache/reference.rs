//! Copies keys and values of tokens to their slots. The cache's other elements are not touched.

use crate::images::PORTABLE;
use crate::pool::Pool;
use overt_kernels::ops::reshape_and_cache::OP;
use overt_sdk::host::{Body, HostKernel, HostView, Job, Launch};
use overt_sdk::{Error, Result};
use parking_lot::Mutex;

overt_sdk::kernel! {
    id: "cpu/reshape_and_cache/reference",
    op: &OP,
    tier: Reference,
    doc: "token by token, any strides, page sizes and types; blocks as the format's reference quantises them",
    handles: ["k_scale", "v_scale"],
    images: [PORTABLE.id],
    entries: [BODY.symbol],
    numeric_class: "cpu.reshape_and_cache.reference",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: HostKernel::new(launch),
}

static BODY: Body = Body {
    symbol: "cpu_reshape_and_cache_reference",
    image: &PORTABLE,
    run,
};

fn launch(launch: &mut Launch<'_>) -> Result<()> {
    match launch.call().operand(2)?.dim(0)? {
        // The caches are outputs with elements even where no token is written.
        0 => Ok(()),
        tokens => launch.run(&BODY, [tokens as u32, 1, 1]),
    }
}

fn run(job: &Job<'_>) -> Result<()> {
    let (key, value, slots) = (job.view(0)?, job.view(1)?, job.view(2)?);
    let (k_cache, v_cache) = (job.view(3)?, job.view(4)?);
    let (pages, page) = (k_cache.shape()[0], k_cache.shape()[1]);
    let (k_scale, v_scale) = (job.call().attr_f64(0)?, job.call().attr_f64(1)?);
    let tokens = slots.shape()[0];
    let steps = key.shape()[1] * (key.shape()[2] + value.shape()[2]);
    let bad = Mutex::new(None);
    let pool = job.context::<Pool>()?;
    pool.ranges(tokens as usize, steps as u64, |tokens| {
        for t in tokens.start as i64..tokens.end as i64 {
            let slot = slots.load_int(slots.at([t]));
            if slot < 0 {
                continue;
            }
            // Divided before it is compared, since the number of slots may not fit.
            if page == 0 || slot / page >= pages {
                bad.lock().get_or_insert((t, slot));
                continue;
            }
            let place = [slot / page, slot % page];
            copy(&key, t, &k_cache, place, k_scale);
            copy(&value, t, &v_cache, place, v_scale);
        }
    });
    match bad.into_inner() {
        None => Ok(()),
        Some((t, slot)) => Err(Error::invalid(format!(
            "operand `slots` at [{t}]: {slot}; wanted a slot below {pages} pages of {page}"
        ))),
    }
}

fn copy(from: &HostView<'_>, t: i64, cache: &HostView<'_>, [page, position]: [i64; 2], scale: f64) {
    let bits = from.same_kind(cache) && scale == 1.0;
    let mut row = vec![0.0; from.shape()[2] as usize];
    for h in 0..from.shape()[1] {
        let (source, target) = (from.at([t, h, 0]), cache.at([page, position, h, 0]));
        let (step, stride) = (from.strides()[2], cache.strides()[3]);
        if bits {
            // A NaN keeps its payload.
            for d in 0..row.len() as i64 {
                from.copy_bits(source + d * step, cache, target + d * stride);
            }
        } else {
            from.load_row(source, step, &mut row);
            row.iter_mut().for_each(|value| *value /= scale);
            cache.store_row(target, stride, &row);
        }
    }
}
