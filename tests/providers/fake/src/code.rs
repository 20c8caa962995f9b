//! Images, and the way from a launch to its body, where misbehaviours happen.

use crate::context::Context;
use overt_sdk::declare::Image;
use overt_sdk::host::{Body, Job, Launch};
use overt_sdk::{Error, Result};

/// Host code that belongs to no architecture. Kernels that run on every device of this provider name no image, so it is not declared.
pub static ANY: Image = Image {
    id: "fake.any",
    digest: [1; 32],
};

/// An image that no kernel names.
pub static STRAY: Image = Image {
    id: "fake.stray",
    digest: [9; 32],
};

/// A body that no kernel declares.
pub static FOREIGN: Body = Body {
    symbol: "fake_foreign",
    image: &ANY,
    run: |_| Ok(()),
};

/// Enqueues `body`, or what the instance was told to do instead. `reference` is the body of the op's reference kernel; `stray` is
/// `body` as if it lay in an image that its kernel does not name.
pub fn launch(
    launch: &mut Launch<'_>,
    body: &'static Body,
    reference: &'static Body,
    stray: Option<&'static Body>,
    grid: [u32; 3],
) -> Result<()> {
    let context = launch.context::<Context>()?;
    let has = |word: &str| context.has(word);
    if has("unsupported") {
        return Err(Error::unsupported("this shape is not supported after all"));
    }
    if has("refuse") {
        return Err(Error::launch("the driver refuses the launch"));
    }
    if has("lie_nothing") {
        return Ok(());
    }
    if has("lie_symbol") {
        return launch.run(reference, grid);
    }
    if has("lie_foreign") {
        return launch.run(&FOREIGN, grid);
    }
    if has("lie_image")
        && let Some(stray) = stray
    {
        return launch.run(stray, grid);
    }
    let second = has("lie_second");
    launch.run(body, grid)?;
    if second {
        launch.run(reference, grid)?;
    }
    Ok(())
}

/// What every body does first.
pub fn begin(job: &Job<'_>) -> Result<()> {
    let context = job.context::<Context>()?;
    context.entry("body");
    if context.has("fail_async") {
        return Err(Error::internal("the device raised a fault"));
    }
    Ok(())
}
