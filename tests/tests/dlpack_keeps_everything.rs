//! DLPack: a tensor goes out and comes back with everything that it said, its memory lives as long as anybody uses it, and what
//! cannot be said or trusted is refused by name.

use overt::dtype::{BF16, F32, FP8_E4M3FN, FP8_E4M3FNUZ, Q8_0};
use overt::{Call, DlpackError, Error, Tensor, View};
use overt_abi::dlpack::{
    DLDevice, DLManagedTensorVersioned, DLPACK_FLAG_BITMASK_READ_ONLY, DLPackVersion, DLTensor,
};
use overt_tests::case;
use overt_tests::start;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

#[test]
fn a_tensor_comes_back_with_type_shape_strides_place_and_read_only_flag() {
    case!("cpu", [], || {
        let runtime = start::cpu().start().unwrap();
        let device = runtime.device("cpu").unwrap();
        for dtype in [F32, BF16, FP8_E4M3FN, FP8_E4M3FNUZ] {
            let whole = Tensor::empty(&device, dtype, &[6, 8, 16]).unwrap();
            for tensor in [
                whole.clone(),
                whole.slice(1, 2, 3).unwrap(),
                whole.slice(0, 4, 2).unwrap().read_only(),
                whole.slice(2, 3, 0).unwrap(),
            ] {
                let out = tensor.to_dlpack().unwrap().into_raw();
                // SAFETY: the struct is alive until its deleter is called.
                let said = unsafe { *out.as_ptr() };
                assert_eq!((said.version.major, said.dl_tensor.dtype), (1, dtype));
                assert_eq!(
                    said.flags & DLPACK_FLAG_BITMASK_READ_ONLY != 0,
                    tensor.view().is_read_only()
                );
                // SAFETY: the struct is handed over, and not used after.
                let back = unsafe { Tensor::from_dlpack(&device, out) }.unwrap();
                assert_eq!(back.dtype(), dtype);
                assert_eq!(
                    (back.shape(), back.view().strides()),
                    (tensor.shape(), tensor.view().strides())
                );
                assert_eq!(back.view().is_read_only(), tensor.view().is_read_only());
                if tensor.view().elements() > 0 {
                    let place = |t: &Tensor| t.allocation().address() + t.view().byte_offset();
                    assert_eq!(place(&back), place(&tensor));
                }
            }
        }
    });
}

#[test]
fn a_kernel_reads_and_writes_foreign_memory_and_its_owner_is_told_once_when_nobody_uses_it() {
    static DELETED: AtomicU32 = AtomicU32::new(0);
    unsafe extern "C" fn deleter(_: *mut DLManagedTensorVersioned) {
        DELETED.fetch_add(1, Ordering::SeqCst);
    }
    case!("cpu", [], || {
        let runtime = start::cpu().start().unwrap();
        let device = runtime.device("cpu").unwrap();
        let stream = runtime.stream(&device).unwrap();
        let mut foreign = [1.5f32; 12];
        let mut shape = [3i64, 4];
        let mut managed = DLManagedTensorVersioned {
            version: DLPackVersion { major: 1, minor: 9 },
            manager_ctx: std::ptr::null_mut(),
            deleter: Some(deleter),
            flags: 0,
            dl_tensor: DLTensor {
                data: foreign.as_mut_ptr().cast(),
                device: DLDevice {
                    device_type: 1,
                    device_id: 0,
                },
                ndim: 2,
                dtype: F32,
                shape: shape.as_mut_ptr(),
                // Before version 1.2, null means contiguous.
                strides: std::ptr::null_mut(),
                byte_offset: 0,
            },
        };
        // SAFETY: the struct and its memory outlive the tensor, as the deleter below shows.
        let x = unsafe { Tensor::from_dlpack(&device, NonNull::from(&mut managed)) }.unwrap();
        let op = runtime.op("add").unwrap();
        let call = Call::new(&op)
            .operand("a", &x)
            .unwrap()
            .operand("b", &x)
            .unwrap();
        let call = call.operand("out", &x).unwrap();
        stream.dispatch(&call).unwrap();
        assert_eq!(DELETED.load(Ordering::SeqCst), 0);
        // The last owner goes while the work may still be pending: the memory is kept until the stream has passed it.
        drop(x);
        stream.sync().unwrap();
        assert_eq!(DELETED.load(Ordering::SeqCst), 1);
        assert_eq!(foreign, [3.0; 12]);
    });
}

#[test]
fn what_cannot_be_said_or_trusted_is_refused_and_given_back() {
    static DELETED: AtomicU32 = AtomicU32::new(0);
    unsafe extern "C" fn deleter(_: *mut DLManagedTensorVersioned) {
        DELETED.fetch_add(1, Ordering::SeqCst);
    }
    case!("cpu", [], || {
        let runtime = start::cpu().start().unwrap();
        let device = runtime.device("cpu").unwrap();
        let quantised = Tensor::empty(&device, Q8_0, &[2, 64]).unwrap();
        let error = quantised.to_dlpack().unwrap_err();
        assert!(
            matches!(error, Error::Dlpack(DlpackError::Format { .. }))
                && error.to_string().contains("q8_0"),
            "{error}"
        );
        assert_eq!(
            View::contiguous(Q8_0, &[2, 64]).unwrap().span_bytes(),
            2 * 2 * 34
        );
        let mut data = [0f32; 4];
        let mut shape = [2i64, 2];
        let good = DLManagedTensorVersioned {
            version: DLPackVersion { major: 1, minor: 0 },
            manager_ctx: std::ptr::null_mut(),
            deleter: Some(deleter),
            flags: 0,
            dl_tensor: DLTensor {
                data: data.as_mut_ptr().cast(),
                device: DLDevice {
                    device_type: 1,
                    device_id: 0,
                },
                ndim: 2,
                dtype: F32,
                shape: shape.as_mut_ptr(),
                strides: std::ptr::null_mut(),
                byte_offset: 0,
            },
        };
        let with = |change: &dyn Fn(&mut DLManagedTensorVersioned)| {
            let mut managed = good;
            change(&mut managed);
            let before = DELETED.load(Ordering::SeqCst);
            // SAFETY: the structs are valid but for the fault, which is found before anything behind it is read.
            let error =
                unsafe { Tensor::from_dlpack(&device, NonNull::from(&mut managed)) }.unwrap_err();
            assert_eq!(
                DELETED.load(Ordering::SeqCst),
                before + 1,
                "{error}: not given back once"
            );
            error.to_string()
        };
        for (text, change) in [
            (
                "DLPack 2.0",
                &(|m: &mut DLManagedTensorVersioned| m.version.major = 2) as &dyn Fn(&mut _),
            ),
            ("(2, 1)", &|m: &mut DLManagedTensorVersioned| {
                m.dl_tensor.device = DLDevice {
                    device_type: 2,
                    device_id: 1,
                }
            }),
            ("rank is negative", &|m: &mut DLManagedTensorVersioned| {
                m.dl_tensor.ndim = -1
            }),
            ("rank is above 8", &|m: &mut DLManagedTensorVersioned| {
                m.dl_tensor.ndim = 9
            }),
            ("shape is null", &|m: &mut DLManagedTensorVersioned| {
                m.dl_tensor.shape = std::ptr::null_mut()
            }),
            (
                "data pointer is null",
                &|m: &mut DLManagedTensorVersioned| m.dl_tensor.data = std::ptr::null_mut(),
            ),
            ("wraps", &|m: &mut DLManagedTensorVersioned| {
                m.dl_tensor.byte_offset = u64::MAX
            }),
        ] {
            let error = with(change);
            assert!(error.contains(text), "{error}: wanted {text}");
        }
        let mut vast = [i64::MAX, 2];
        let vast = vast.as_mut_ptr();
        let error = with(&|m: &mut DLManagedTensorVersioned| m.dl_tensor.shape = vast);
        assert!(error.contains("2^63"), "{error}");
    });
}
