//! Entries of kernels.

use super::{DeviceBox, ObjectBox, check_out, entry, reference, sized, void, write};
use crate::call::CallView;
use crate::declare::KernelDecl;
use crate::device::Device;
use crate::receipt::Receipt;
use crate::{Error, Result};
use overt_abi::*;
use std::ffi::c_void;

/// A kernel with its declaration, for messages.
pub(crate) struct Opened<K> {
    pub(crate) kernel: K,
    pub(crate) decl: &'static KernelDecl,
}

type KernelBox<D> = ObjectBox<D, Opened<<D as Device>::Kernel>>;
type StreamBox<D> = ObjectBox<D, <D as Device>::Stream>;

pub(crate) unsafe extern "C" fn open<D: Device>(
    device: *mut OvertDevice,
    kernel_index: u32,
    kernel: *mut *mut OvertKernel,
    sink: *const OvertSink,
) -> OvertStatus {
    entry(sink, || {
        check_out(kernel, "kernel")?;
        // SAFETY: objects.
        let device: &DeviceBox<D> = unsafe { reference(device, "device") }?;
        let shared = &device.shared;
        let decl = shared.kernels.get(kernel_index as usize).ok_or_else(|| {
            Error::invalid(format!(
                "no kernel {kernel_index}; the table has {}",
                shared.kernels.len()
            ))
        })?;
        if !decl.not_built.is_empty() {
            return Err(Error::unsupported(format!(
                "kernel `{}` was not built: {}",
                decl.id, decl.not_built
            )));
        }
        let object = Opened {
            kernel: shared.device.open_kernel(decl)?,
            decl,
        };
        let made: Box<KernelBox<D>> = Box::new(ObjectBox {
            object,
            shared: shared.clone(),
        });
        // SAFETY: outs.
        unsafe { write(kernel, "kernel", Box::into_raw(made).cast()) }
    })
}

pub(crate) unsafe extern "C" fn close<D: Device>(kernel: *mut OvertKernel) {
    if kernel.is_null() {
        return;
    }
    // SAFETY: objects; handed over.
    let boxed = unsafe { Box::from_raw(kernel.cast::<KernelBox<D>>()) };
    let host = boxed.shared.host;
    void("kernel_close", Some(host), || drop(boxed));
}

pub(crate) unsafe extern "C" fn prepare<D: Device>(
    kernel: *mut OvertKernel,
    call: *const OvertCall,
    plan: *mut *mut c_void,
    sink: *const OvertSink,
) -> OvertStatus {
    entry(sink, || {
        check_out(plan, "plan")?;
        // SAFETY: objects, arguments.
        let (kernel, call): (&KernelBox<D>, _) =
            unsafe { (reference(kernel, "kernel")?, CallView::from_abi(call)?) };
        let made = kernel.shared.device.prepare(&kernel.object.kernel, &call)?;
        let raw = made.map_or(std::ptr::null_mut(), |p| Box::into_raw(Box::new(p)).cast());
        // SAFETY: outs.
        unsafe { write(plan, "plan", raw) }
    })
}

pub(crate) unsafe extern "C" fn release_plan<D: Device>(
    kernel: *mut OvertKernel,
    plan: *mut c_void,
) {
    if plan.is_null() {
        return;
    }
    // SAFETY: objects; the plan is handed over.
    let (boxed, host) = unsafe {
        (
            Box::from_raw(plan.cast::<D::Plan>()),
            kernel
                .cast::<KernelBox<D>>()
                .as_ref()
                .map(|k| k.shared.host),
        )
    };
    void("kernel_release_plan", host, || drop(boxed));
}

pub(crate) unsafe extern "C" fn workspace<D: Device>(
    kernel: *mut OvertKernel,
    call: *const OvertCall,
    need: *mut OvertWorkspaceNeed,
    sink: *const OvertSink,
) -> OvertStatus {
    entry(sink, || {
        // SAFETY: objects, arguments, outs (whose size was checked).
        unsafe {
            sized(need, "need")?;
            let kernel: &KernelBox<D> = reference(kernel, "kernel")?;
            let call = CallView::from_abi(call)?;
            let found = kernel
                .shared
                .device
                .workspace(&kernel.object.kernel, &call)?;
            (*need).bytes = found.bytes;
            (*need).alignment = found.alignment;
        }
        Ok(())
    })
}

/// A call of these tensors and knobs, for the entries that have no call of their own.
fn side_call(operands: &[OvertTensor], knobs: *const OvertValue, knob_count: u32) -> OvertCall {
    OvertCall {
        size: size_of::<OvertCall>() as u32,
        flags: 0,
        operand_count: operands.len() as u32,
        attr_count: 0,
        operands: operands.as_ptr(),
        attrs: std::ptr::null(),
        knobs,
        knob_count,
        reserved: 0,
        workspace: std::ptr::null(),
        plan: std::ptr::null_mut(),
    }
}

/// # Safety
/// arguments.
unsafe fn tensor(raw: *const OvertTensor, what: &str) -> Result<OvertTensor> {
    // SAFETY: arguments.
    let mut copy = unsafe {
        sized(raw, what)?;
        *reference::<OvertTensor, _>(raw, what)?
    };
    copy.size = size_of::<OvertTensor>() as u32;
    Ok(copy)
}

pub(crate) unsafe extern "C" fn weights_layout<D: Device>(
    kernel: *mut OvertKernel,
    operand: u32,
    weight: *const OvertTensor,
    knobs: *const OvertValue,
    knob_count: u32,
    layout: *mut OvertWeightsLayout,
    sink: *const OvertSink,
) -> OvertStatus {
    entry(sink, || {
        // SAFETY: objects, arguments, outs (whose size was checked).
        unsafe {
            sized(layout, "layout")?;
            let kernel: &KernelBox<D> = reference(kernel, "kernel")?;
            let operands = [tensor(weight, "weight")?];
            let call = side_call(&operands, knobs, knob_count);
            let call = CallView::from_abi(&call)?;
            let device = &kernel.shared.device;
            let found = device
                .weights_layout(&kernel.object.kernel, operand, &call.operand(0)?, &call)?
                .ok_or_else(|| {
                    Error::unsupported(format!(
                        "kernel `{}` takes operand {operand} in the plain layout",
                        kernel.object.decl.id
                    ))
                })?;
            (*layout).key = found.key;
            (*layout).bytes = found.bytes;
            (*layout).alignment = found.alignment;
        }
        Ok(())
    })
}

/// Runs an entry that fills a receipt, and stores the receipt whether it succeeded or not.
fn with_receipt(
    receipt: *mut OvertReceipt,
    sink: *const OvertSink,
    f: impl FnOnce(&mut Receipt) -> Result<()>,
) -> OvertStatus {
    let mut done = Receipt::empty();
    let mut writable = false;
    let status = entry(sink, || {
        // SAFETY: arguments.
        unsafe { sized(receipt, "receipt") }?;
        writable = true;
        f(&mut done)
    });
    if writable {
        // SAFETY: outs; the size was checked.
        done.store(unsafe { &mut *receipt });
    }
    status
}

pub(crate) unsafe extern "C" fn weights_pack<D: Device>(
    kernel: *mut OvertKernel,
    stream: *mut OvertStream,
    operand: u32,
    source: *const OvertTensor,
    packed: *const OvertTensor,
    knobs: *const OvertValue,
    knob_count: u32,
    receipt: *mut OvertReceipt,
    sink: *const OvertSink,
) -> OvertStatus {
    with_receipt(receipt, sink, |receipt| {
        // SAFETY: objects, arguments; the call lives to the end of this closure.
        unsafe {
            let kernel: &KernelBox<D> = reference(kernel, "kernel")?;
            let stream: &StreamBox<D> = reference(stream, "stream")?;
            let operands = [tensor(source, "source")?, tensor(packed, "packed")?];
            let call = side_call(&operands, knobs, knob_count);
            let call = CallView::from_abi(&call)?;
            kernel.shared.device.weights_pack(
                &kernel.object.kernel,
                &stream.object,
                operand,
                &call,
                receipt,
            )
        }
    })
}

pub(crate) unsafe extern "C" fn launch<D: Device>(
    kernel: *mut OvertKernel,
    stream: *mut OvertStream,
    call: *const OvertCall,
    receipt: *mut OvertReceipt,
    sink: *const OvertSink,
) -> OvertStatus {
    with_receipt(receipt, sink, |receipt| {
        // SAFETY: objects, arguments. A plan was made by `prepare` of this table.
        unsafe {
            let kernel: &KernelBox<D> = reference(kernel, "kernel")?;
            let stream: &StreamBox<D> = reference(stream, "stream")?;
            let call = CallView::from_abi(call)?;
            let plan = call.plan_ptr().cast::<D::Plan>().as_ref();
            kernel
                .shared
                .device
                .launch(&kernel.object.kernel, &stream.object, &call, plan, receipt)
        }
    })
}
