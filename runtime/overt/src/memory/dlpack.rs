//! Tensors from and to other frameworks, without a copy, as DLPack 1.x.
//!
//! Whoever holds a DLPack struct owns a reference to the memory and gives it back by calling the struct's deleter once. Neither
//! direction waits: the two sides agree on streams themselves, as the DLPack protocol says.

use super::{Allocation, MAX_RANK, Tensor, View};
use crate::error::Error;
use crate::load::decl::Value;
use crate::registry::Device;
use overt_abi::dlpack::{
    DLDevice, DLManagedTensorVersioned, DLPACK_FLAG_BITMASK_READ_ONLY, DLPackVersion, DLTensor,
};
use overt_abi::{OVERT_IMPORT_DEVICE_POINTER, OVERT_IMPORT_HOST_POINTER, OvertDType};
use overt_kernels::dtype;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;

/// The version that is produced, and whose major version is taken.
const VERSION: DLPackVersion = DLPackVersion { major: 1, minor: 1 };
/// DLPack's number for host memory.
const DL_CPU: i32 = 1;

/// Why a tensor cannot go through DLPack.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DlpackError {
    /// The backend has no addresses, or its device has no number in DLPack.
    #[error("{device}: {what}, and DLPack needs it")]
    Device {
        /// The device.
        device: String,
        /// What is missing.
        what: &'static str,
    },
    /// A block-quantised format or a packed layout, which DLPack has no words for.
    #[error("DLPack cannot say what this memory holds: {what}")]
    Format {
        /// What it is.
        what: String,
    },
    /// The struct is of another major version. Its deleter has been called.
    #[error("the struct is of DLPack {major}.{minor}; this host takes 1.x")]
    Version {
        /// Its major version.
        major: u32,
        /// Its minor version.
        minor: u32,
    },
    /// The struct says where the memory lies, and that is not the device asked for.
    #[error("the memory lies on DLPack device {got:?}; {device} is {wanted:?}")]
    OtherDevice {
        /// Type and index in the struct.
        got: (i32, i32),
        /// Type and index of the device.
        wanted: (i32, i32),
        /// The device.
        device: String,
    },
    /// A null pointer where there must be none, or a rank above the greatest.
    #[error("the struct is malformed: {what}")]
    Malformed {
        /// What is wrong.
        what: &'static str,
    },
}

/// A tensor given out as DLPack. Dropped without being handed on, it calls its own deleter.
pub struct OwnedDlpack(NonNull<DLManagedTensorVersioned>);

// SAFETY: the struct and what it keeps alive are `Send`; the deleter may be called on any thread.
unsafe impl Send for OwnedDlpack {}

/// What a produced struct keeps.
struct Produced {
    managed: DLManagedTensorVersioned,
    shape: [i64; MAX_RANK],
    strides: [i64; MAX_RANK],
    _allocation: Arc<Allocation>,
}

impl Tensor {
    /// Gives the tensor out. The memory stays until the consumer calls the deleter. Type, shape, strides, offset and the read-only
    /// flag go over as they are.
    pub fn to_dlpack(&self) -> Result<OwnedDlpack, Error> {
        let device = dl_device(self.device())?;
        let base = self.allocation.address();
        if base == 0 {
            return Err(no(self.device(), "its memory has no addresses"));
        }
        if dtype::is_block_format(self.view.dtype) || self.view.dtype.code >= 128 {
            let what = dtype::Shown(self.view.dtype).to_string();
            return Err(DlpackError::Format { what }.into());
        }
        if self.view.layout != 0 {
            let what = format!("a weight in the packed layout {:x}", self.view.layout);
            return Err(DlpackError::Format { what }.into());
        }
        let mut produced = Box::new(Produced {
            managed: DLManagedTensorVersioned {
                version: VERSION,
                manager_ctx: std::ptr::null_mut(),
                deleter: Some(delete),
                flags: if self.view.read_only {
                    DLPACK_FLAG_BITMASK_READ_ONLY
                } else {
                    0
                },
                dl_tensor: DLTensor {
                    data: std::ptr::with_exposed_provenance_mut(base as usize),
                    device,
                    ndim: self.view.rank as i32,
                    dtype: self.view.dtype,
                    shape: std::ptr::null_mut(),
                    strides: std::ptr::null_mut(),
                    byte_offset: self.view.byte_offset,
                },
            },
            shape: self.view.shape,
            strides: self.view.strides,
            _allocation: self.allocation.clone(),
        });
        produced.managed.dl_tensor.shape = produced.shape.as_mut_ptr();
        produced.managed.dl_tensor.strides = produced.strides.as_mut_ptr();
        let raw = Box::into_raw(produced);
        // SAFETY: `raw` was just made from a box, so it is valid and not null; its first use is to name itself as the context.
        unsafe {
            (*raw).managed.manager_ctx = raw.cast();
            Ok(OwnedDlpack(NonNull::new_unchecked(&raw mut (*raw).managed)))
        }
    }

    /// Takes in a tensor of another framework, whose memory lies on `device`. The struct's deleter is called once no tensor of it and
    /// no work on it is left; on an error, at once.
    ///
    /// # Safety
    ///
    /// `managed` is a valid DLPack struct that the caller owns and hands over: it must not use it, nor call the deleter, after this.
    /// Its memory is as the struct says until the deleter is called.
    pub unsafe fn from_dlpack(
        device: &Device,
        managed: NonNull<DLManagedTensorVersioned>,
    ) -> Result<Tensor, Error> {
        let owner = Consumed(managed);
        // SAFETY: the caller vouches for the struct; the version comes first in every version and may always be read.
        let version = unsafe { (*managed.as_ptr()).version };
        if version.major != VERSION.major {
            return Err(DlpackError::Version {
                major: version.major,
                minor: version.minor,
            }
            .into());
        }
        // SAFETY: the major version is ours, so the layout is.
        let (tensor, flags) = unsafe { ((*managed.as_ptr()).dl_tensor, (*managed.as_ptr()).flags) };
        let wanted = dl_device(device)?;
        if tensor.device != wanted {
            return Err(DlpackError::OtherDevice {
                got: (tensor.device.device_type, tensor.device.device_id),
                wanted: (wanted.device_type, wanted.device_id),
                device: device.name().to_owned(),
            }
            .into());
        }
        let view = view_of(&tensor)?;
        let view = if flags & DLPACK_FLAG_BITMASK_READ_ONLY != 0 {
            view.read_only()
        } else {
            view
        };
        let bytes =
            tensor
                .byte_offset
                .checked_add(view.span_bytes)
                .ok_or(DlpackError::Malformed {
                    what: "the byte offset wraps",
                })?;
        if tensor.data.is_null() && view.span_bytes > 0 {
            return Err(DlpackError::Malformed {
                what: "the data pointer is null",
            }
            .into());
        }
        if view.span_bytes == 0 {
            // Nothing to import: an empty tensor has no memory of its own. The owner is told at once.
            return Tensor::over(
                Allocation::new(device, 1, 0, super::MemoryKind::Device)?,
                view,
                0,
            );
        }
        let kind = if wanted.device_type == DL_CPU {
            OVERT_IMPORT_HOST_POINTER
        } else {
            OVERT_IMPORT_DEVICE_POINTER
        };
        // SAFETY: the caller vouches that the memory is as the struct says until the deleter is called, which waits for this
        // allocation and all work on it.
        let allocation = unsafe { Allocation::import(device, kind, tensor.data as u64, bytes) }?;
        let allocation = allocation.owned_by(Box::new(move || drop(owner)));
        Tensor::over(Arc::new(allocation), view, tensor.byte_offset)
    }
}

impl OwnedDlpack {
    /// The struct, to be handed to a consumer, who calls its deleter.
    pub fn into_raw(self) -> NonNull<DLManagedTensorVersioned> {
        let raw = self.0;
        std::mem::forget(self);
        raw
    }
}

impl Drop for OwnedDlpack {
    fn drop(&mut self) {
        drop(Consumed(self.0));
    }
}

/// A struct that is to be given back.
struct Consumed(NonNull<DLManagedTensorVersioned>);

// SAFETY: the protocol lets the deleter be called on any thread, once.
unsafe impl Send for Consumed {}
// SAFETY: nothing is done through a shared reference.
unsafe impl Sync for Consumed {}

impl Drop for Consumed {
    fn drop(&mut self) {
        // SAFETY: this is the only owner, and the deleter stands at the same place in every version.
        unsafe {
            if let Some(deleter) = (*self.0.as_ptr()).deleter {
                deleter(self.0.as_ptr());
            }
        }
    }
}

unsafe extern "C" fn delete(managed: *mut DLManagedTensorVersioned) {
    if managed.is_null() {
        return;
    }
    // SAFETY: the context is the box that `to_dlpack` leaked, and the consumer calls this once.
    drop(unsafe { Box::from_raw((*managed).manager_ctx.cast::<Produced>()) });
}

/// DLPack's number of a device: stated by the provider as facts, or host memory where that is what the device works on.
fn dl_device(device: &Device) -> Result<DLDevice, Error> {
    let fact = |name: &str| {
        device
            .info()
            .facts
            .iter()
            .find(|f| f.name == name)
            .and_then(|f| match f.value {
                Value::I64(i) => i32::try_from(i).ok(),
                _ => None,
            })
    };
    match (fact("dlpack.device_type"), device.info().host_addressable) {
        (Some(device_type), _) => Ok(DLDevice {
            device_type,
            device_id: fact("dlpack.device_id").unwrap_or(0),
        }),
        (None, true) => Ok(DLDevice {
            device_type: DL_CPU,
            device_id: 0,
        }),
        (None, false) => Err(no(device, "its provider states no `dlpack.device_type`")),
    }
}

fn no(device: &Device, what: &'static str) -> Error {
    DlpackError::Device {
        device: device.name().to_owned(),
        what,
    }
    .into()
}

fn view_of(tensor: &DLTensor) -> Result<View, Error> {
    let rank = usize::try_from(tensor.ndim).map_err(|_| DlpackError::Malformed {
        what: "the rank is negative",
    })?;
    if rank > MAX_RANK {
        return Err(DlpackError::Malformed {
            what: "the rank is above 8",
        }
        .into());
    }
    if rank > 0 && tensor.shape.is_null() {
        return Err(DlpackError::Malformed {
            what: "the shape is null",
        }
        .into());
    }
    let list = |pointer: *mut i64| {
        let mut values = [0; MAX_RANK];
        if !pointer.is_null() {
            // SAFETY: the struct vouches for `ndim` values, and `ndim` was checked against the room.
            unsafe { std::ptr::copy_nonoverlapping(pointer, values.as_mut_ptr(), rank) };
        }
        values
    };
    let dtype: OvertDType = tensor.dtype;
    let shape = list(tensor.shape);
    Ok(if tensor.strides.is_null() {
        View::contiguous(dtype, &shape[..rank])?
    } else {
        View::strided(dtype, &shape[..rank], &list(tensor.strides)[..rank])?
    })
}

impl std::fmt::Debug for OwnedDlpack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("OwnedDlpack")
            .field(&self.0.as_ptr().cast::<c_void>())
            .finish()
    }
}
