//! A provider of two host devices with small kernels whose behaviour the call states.

use overt_sdk::declare::{Image, ImageDecl, OwnOp};
use overt_sdk::host::{Body, HostDevice, HostKernel, Job, Launch, Recorder};
use overt_sdk::{Arch, CallView, DeviceDesc, Error, Host, Options, Provider, Result, Sink};
use std::sync::atomic::{AtomicU32, Ordering};

pub static PANIC_IN: AtomicU32 = AtomicU32::new(0);
pub const IN_CREATE: u32 = 1;
pub const IN_OPEN: u32 = 2;

pub static IMAGE: Image = Image {
    id: "fake.host",
    digest: [7; 32],
};
overt_sdk::image!(ImageDecl::host(&IMAGE, ArchPattern::family("fake")));

/// Adds the attribute to every element.
pub static SHIFT: OwnOp = OwnOp {
    name: "fake:shift.1",
    schema: "fake:shift.1(inout x: f32[N]); by: i64",
    oracle: OwnOp::oracle(|call: &CallView<'_>| {
        let x = call.operand(0)?;
        let by = call.attr_i64(0)? as f64;
        let values = x.as_mut_ptr::<f64>()?;
        for i in 0..x.elements() as usize {
            // SAFETY: an oracle's operands are contiguous `f64` in host memory.
            unsafe { *values.add(i) += by }
        }
        Ok(())
    }),
};

pub static SHIFT_BODY: Body = Body {
    symbol: "fake_shift",
    image: &IMAGE,
    run: |job: &Job<'_>| {
        let x = job.view(0)?;
        let by = job.call().attr_i64(0)? as f64;
        for i in 0..x.shape()[0] {
            x.store(i, x.load(i) + by);
        }
        Ok(())
    },
};

/// A body that the kernel below does not declare.
pub static OTHER_BODY: Body = Body {
    symbol: "fake_other",
    image: &IMAGE,
    run: |_| Ok(()),
};

pub static FAIL_BODY: Body = Body {
    symbol: "fake_fail",
    image: &IMAGE,
    run: |job| match job.call().attr_i64(0)? {
        0 => Err(Error::internal("the input was bad")),
        1 => panic!("a panic in a body"),
        _ => Ok(()),
    },
};

/// Sleeps for the attribute's number of milliseconds.
pub static SLEEP_BODY: Body = Body {
    symbol: "fake_sleep",
    image: &IMAGE,
    run: |job| {
        let ms = job.call().attr_i64(0)? as u64;
        std::thread::sleep(std::time::Duration::from_millis(ms));
        Ok(())
    },
};

overt_sdk::kernel! {
    id: "fake/shift/plain",
    op: &SHIFT,
    tier: Reference,
    doc: "adds in place",
    images: [IMAGE.id],
    entries: [SHIFT_BODY.symbol],
    flags: CAPTURE_SAFE | DETERMINISTIC | IN_PLACE,
    body: HostKernel::new(|launch: &mut Launch<'_>| launch.run(&SHIFT_BODY, [1, 1, 1])),
}

overt_sdk::kernel! {
    id: "fake/shift/liar",
    op: &SHIFT,
    tier: Tuned,
    needs: [
        fact("N").at_least(8).source("one vector"),
        fact("x.dtype").is_in([F32, BF16]),
        fact("N").below(value_of("knob.fake.limit")),
        fact("device.arch").fits([ArchPattern::family("fake").with("fast")]),
    ],
    images: [IMAGE.id],
    entries: [SHIFT_BODY.symbol],
    body: HostKernel::new(|launch: &mut Launch<'_>| {
        launch.run_with(&OTHER_BODY, [2, 3, 4], &[1, 2])?;
        launch.run(&SHIFT_BODY, [1, 1, 1])
    }),
}

overt_sdk::kernel! {
    id: "fake/shift/fails",
    op: &SHIFT,
    tier: Portable,
    images: [IMAGE.id],
    entries: [FAIL_BODY.symbol],
    flags: CAPTURE_SAFE,
    body: HostKernel::new(|launch: &mut Launch<'_>| launch.run(&FAIL_BODY, [1, 1, 1])),
}

overt_sdk::kernel! {
    id: "fake/shift/sleeps",
    op: &SHIFT,
    tier: Portable,
    images: [IMAGE.id],
    entries: [SLEEP_BODY.symbol],
    body: HostKernel::new(|launch: &mut Launch<'_>| launch.run(&SLEEP_BODY, [1, 1, 1])),
}

overt_sdk::kernel! {
    id: "fake/shift/refuses",
    op: &SHIFT,
    tier: Portable,
    images: [IMAGE.id],
    entries: [SHIFT_BODY.symbol],
    body: HostKernel::new(|launch: &mut Launch<'_>| {
        launch.run(&SHIFT_BODY, [1, 1, 1])?;
        match launch.call().attr_i64(0)? {
            0 => panic!("a panic in a launch"),
            _ => Err(Error::launch("not today")),
        }
    }),
}

overt_sdk::kernel! {
    id: "fake/shift/prepared",
    op: &SHIFT,
    tier: Portable,
    images: [IMAGE.id],
    entries: [SHIFT_BODY.symbol],
    flags: CAPTURE_SAFE,
    guard: ("a limit that no clause states", &["N"], |_device: &overt_sdk::DeviceView<'_>, call: &CallView<'_>| {
        let n = call.operand(0).and_then(|x| x.dim(0)).map_err(|e| e.to_string())?;
        if n == 13 { Err(format!("N is {n}")) } else { Ok(()) }
    }),
    body: HostKernel::new(|launch: &mut Launch<'_>| {
        match launch.plan::<i64>() {
            Some(41) => launch.run(&SHIFT_BODY, [1, 1, 1]),
            other => Err(Error::launch(format!("plan {other:?}"))),
        }
    })
    .prepare(|_, _| Ok(Some(Box::new(41i64)))),
}

overt_sdk::kernel! {
    id: "other/shift/foreign",
    op: &SHIFT,
    tier: Portable,
    entries: ["never"],
}

overt_sdk::knob! {
    id: "fake.limit",
    default: 4096,
    doc: "vectors below it take the tuned path",
    range: 1..=65536,
}

overt_sdk::knob! {
    id: "fake.devices",
    default: 2,
    doc: "how many devices there are",
    range: 0..=4,
    at_create: true,
}

overt_sdk::knob! {
    id: "unused.knob",
    default: true,
}

pub struct Fake {
    recorder: Recorder,
    devices: i64,
}

unsafe fn broken_copy(target: *mut u8, _source: *const u8, len: usize) {
    // SAFETY: the target is valid for the length.
    unsafe { target.write_bytes(0, len) }
}

impl Provider for Fake {
    const NAME: &'static str = "fake";
    const VERSION: &'static str = "1.2.3";
    type Device = HostDevice;

    fn create(_: Host, options: &Options<'_>, notes: Sink<'_>) -> Result<Self> {
        assert!(
            PANIC_IN.load(Ordering::SeqCst) != IN_CREATE,
            "a panic in create"
        );
        options.refuse_unknown(&["fake.devices"])?;
        notes.write("two fakes");
        Ok(Self {
            recorder: Recorder::default(),
            devices: options.i64("fake.devices")?.unwrap_or(2),
        })
    }

    fn devices(&self) -> Vec<DeviceDesc> {
        (0..self.devices)
            .map(|i| {
                let mut desc = DeviceDesc::new(
                    format!("uuid:fake-{i}"),
                    format!("fake {i}"),
                    Arch::new("fake-1", "fake", 1, 0, 0),
                );
                desc.facts.push(("cores".into(), 4i64.into()));
                desc
            })
            .collect()
    }

    fn open(
        &self,
        index: usize,
        context: Option<&overt_sdk::abi::OvertImport>,
    ) -> Result<HostDevice> {
        assert!(
            PANIC_IN.load(Ordering::SeqCst) != IN_OPEN,
            "a panic in open"
        );
        if context.is_some() {
            return Err(Error::unsupported("host memory has no contexts"));
        }
        // Device 1 cannot fetch what others hold.
        Ok(if index == 1 {
            HostDevice::with_peer_copy((), &self.recorder, broken_copy)
        } else {
            HostDevice::new((), &self.recorder)
        })
    }

    fn recorder(&self) -> Option<&Recorder> {
        Some(&self.recorder)
    }
}
