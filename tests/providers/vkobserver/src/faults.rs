//! Calls that fail because a test wants it.

use ash::vk;
use parking_lot::Mutex;
use std::ops::RangeInclusive;
use std::sync::OnceLock;

/// A kind of call that can fail.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Call {
    Submit,
    Allocate,
}

/// What fails, and how.
struct Fault {
    call: Call,
    numbers: RangeInclusive<u64>,
    result: vk::Result,
}

#[derive(Default)]
struct State {
    submits: u64,
    allocations: u64,
    /// Keys of devices that are lost.
    lost: Vec<usize>,
}

static STATE: Mutex<State> = Mutex::new(State {
    submits: 0,
    allocations: 0,
    lost: Vec::new(),
});

/// Which calls fail, from the environment: this is a test's library, not a provider.
fn wanted() -> Option<&'static Fault> {
    static WANTED: OnceLock<Option<Fault>> = OnceLock::new();
    let read = || {
        let text = std::env::var("OVERT_VKOBSERVER_FAIL").ok()?;
        (!text.is_empty()).then(|| parse(&text).unwrap_or_else(|| panic!("no fault: {text}")))
    };
    WANTED.get_or_init(read).as_ref()
}

fn parse(text: &str) -> Option<Fault> {
    let (call, numbers) = text.split_once(':')?;
    let (call, result) = match call {
        "submit" => (Call::Submit, vk::Result::ERROR_DEVICE_LOST),
        "allocate" => (Call::Allocate, vk::Result::ERROR_OUT_OF_DEVICE_MEMORY),
        "allocate_host" => (Call::Allocate, vk::Result::ERROR_OUT_OF_HOST_MEMORY),
        _ => return None,
    };
    let (first, last) = numbers.split_once('-').unwrap_or((numbers, numbers));
    Some(Fault {
        call,
        numbers: first.parse().ok()?..=last.parse().ok()?,
        result,
    })
}

/// Counts a call, and answers the error that it ends in, if it does. A device that is lost stays lost, and no other is; memory that ran out may be
/// there again.
pub fn fails(call: Call, device: usize) -> Option<vk::Result> {
    let mut state = STATE.lock();
    let number = match call {
        Call::Submit => &mut state.submits,
        Call::Allocate => &mut state.allocations,
    };
    *number += 1;
    let number = *number;
    if call == Call::Submit && state.lost.contains(&device) {
        return Some(vk::Result::ERROR_DEVICE_LOST);
    }
    let fault = wanted().filter(|f| f.call == call && f.numbers.contains(&number))?;
    if call == Call::Submit {
        state.lost.push(device);
    }
    Some(fault.result)
}

/// Forgets a device: another may get its key.
pub fn gone(device: usize) {
    STATE.lock().lost.retain(|lost| *lost != device);
}
