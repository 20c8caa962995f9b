//! One call on a device: uploaded, dispatched, read back.

use super::VerifyError;
use super::check::{self, Check, Damage};
use super::wanted::Wanted;
use crate::bind::{Attr, Call, Problem};
use crate::count::Witness;
use crate::error::Error;
use crate::launch::{Launched, Stream};
use crate::memory::{Allocation, MemoryKind, Tensor, View};
use crate::registry::Op;
use overt_kernels::dtype::U8;
use overt_kernels::host::{HostCall, HostTensor};
use overt_kernels::schema::{AttrValue, Role};

/// Bytes of poison in front of and behind each operand. A multiple of every alignment that guards ask for, so that it changes
/// no selection.
const BORDER: u64 = 256;

/// What borders hold. Unlike the 0xff of fresh outputs, so that a row copied one too far shows.
const POISON: u8 = 0xa5;

/// Bytes that are read back at a time when an input is compared.
const CHUNK: u64 = 16 << 20;

/// A call whose operands lie on a device. Keeps the host's copy, which says what was there before.
pub struct Placed {
    op: Op,
    host: HostCall,
    operands: Vec<Option<Operand>>,
}

struct Operand {
    tensor: Tensor,
    before: Tensor,
    behind: Tensor,
}

/// What one dispatch did, by its receipt and its witness.
#[derive(Clone, Debug)]
pub struct Ran {
    /// What was launched.
    pub launched: Launched,
    /// The kernel that the receipt names.
    pub kernel: String,
}

impl Placed {
    /// Allocates and uploads a filled call.
    ///
    /// # Errors
    /// What allocating and copying can report. Nothing was dispatched.
    pub fn new(stream: &Stream, op: &Op, host: HostCall) -> Result<Placed, VerifyError> {
        let operands = host
            .operands
            .iter()
            .map(|operand| {
                operand
                    .as_ref()
                    .map(|t| Operand::new(stream, t))
                    .transpose()
            })
            .collect::<Result<_, Error>>()?;
        let placed = Placed {
            op: op.clone(),
            host,
            operands,
        };
        placed.restore(stream)?;
        Ok(placed)
    }

    /// The call as the host sees it, before it ran.
    pub fn host(&self) -> &HostCall {
        &self.host
    }

    /// Writes everything anew, as it was before the first dispatch: outputs and borders hold poison again.
    pub fn restore(&self, stream: &Stream) -> Result<(), Error> {
        for (operand, host) in self.operands.iter().zip(&self.host.operands) {
            if let (Some(operand), Some(host)) = (operand, host) {
                stream.fill(&operand.before, POISON)?;
                stream.fill(&operand.behind, POISON)?;
                stream.write(&operand.tensor, &host.bytes)?;
            }
        }
        Ok(())
    }

    /// The call on the device.
    pub fn call(&self) -> Result<Call<'_>, Error> {
        let mut call = Call::new(&self.op);
        for (number, operand) in self.operands.iter().enumerate() {
            call.set(number, operand.as_ref().map(|o| &o.tensor));
        }
        for (number, value) in self.host.attrs.iter().enumerate() {
            call.set_attr(number, attr(value))?;
        }
        Ok(call)
    }

    /// The call as a problem, for explaining.
    pub fn problem(&self) -> Result<Problem, Error> {
        Ok(Problem::of(&self.call()?))
    }

    /// Dispatches once, waits, and has a witness vouch that the kernel of the receipt ran, once, and no other did.
    ///
    /// # Errors
    /// [`VerifyError::Runtime`] for a refused or failed call, [`VerifyError::Witness`] when something else ran as well.
    pub fn dispatch(&self, stream: &Stream) -> Result<Ran, VerifyError> {
        self.dispatch_times(stream, 1)
    }

    /// Dispatches several times and waits once.
    ///
    /// # Errors
    /// As [`Placed::dispatch`].
    pub fn dispatch_times(&self, stream: &Stream, times: u64) -> Result<Ran, VerifyError> {
        self.run(stream, times, &[])
    }

    /// The inputs that the kernel which the call selects repacks, by number, in the layout it wants. Waits.
    ///
    /// # Errors
    /// What repacking can report.
    pub(super) fn pack(&self, stream: &Stream) -> Result<Vec<(usize, Tensor)>, VerifyError> {
        let call = self.call()?;
        let mut packed = Vec::new();
        for (number, declared) in self.host.schema.operands.iter().enumerate() {
            let Some(operand) = &self.operands[number] else {
                continue;
            };
            // What has no rows has nothing to lay out otherwise.
            if declared.role != Role::In || operand.tensor.shape().len() < 2 {
                continue;
            }
            let tensor = stream.pack_weight(&call, &declared.name)?;
            if tensor.view.layout != 0 {
                packed.push((number, tensor));
            }
        }
        stream.sync()?;
        Ok(packed)
    }

    /// As [`Placed::dispatch`], with some operands in the layouts of [`Placed::pack`].
    pub(super) fn dispatch_packed(
        &self,
        stream: &Stream,
        packed: &[(usize, Tensor)],
    ) -> Result<Ran, VerifyError> {
        self.run(stream, 1, packed)
    }

    fn run(
        &self,
        stream: &Stream,
        times: u64,
        packed: &[(usize, Tensor)],
    ) -> Result<Ran, VerifyError> {
        let witness = Witness::new();
        let mut call = self.call()?.witnessed(&witness);
        for (number, tensor) in packed {
            call.set(*number, Some(tensor));
        }
        let mut launched = stream.dispatch(&call)?;
        let kernel = launched.kernel(stream.runtime());
        for _ in 1..times {
            launched = stream.dispatch(&call)?;
        }
        stream.sync()?;
        // Empty work launches nothing, and the witness must have seen exactly that.
        let expected = if launched.launches == 0 { 0 } else { times };
        witness.assert_only(&kernel, expected)?;
        Ok(Ran { launched, kernel })
    }

    /// Reads everything back and compares: outputs with the oracle, inputs and gaps and borders with what was there. Waits.
    pub fn check(&self, stream: &Stream, wanted: &Wanted) -> Result<Check, VerifyError> {
        let mut check = Check::default();
        for (number, declared) in self.host.schema.operands.iter().enumerate() {
            let (Some(operand), Some(host)) = (&self.operands[number], &self.host.operands[number])
            else {
                continue;
            };
            let name = &declared.name;
            if declared.role == Role::In {
                if let Some(byte) = operand.first_change(stream, &host.bytes)? {
                    check.damage.push(Damage::Input {
                        operand: name.clone(),
                        byte,
                    });
                }
            } else {
                let bytes = stream.read_vec(&operand.tensor)?;
                if let Some(byte) = check::gap_damage(host, &host.bytes, &bytes)? {
                    check.damage.push(Damage::Gap {
                        operand: name.clone(),
                        byte,
                    });
                }
                if let Some(wanted) = check::find(wanted, number) {
                    check
                        .outputs
                        .push(check::output(name, host, &bytes, wanted)?);
                }
            }
            for (border, before) in [(&operand.before, true), (&operand.behind, false)] {
                if stream.read_vec(border)?.iter().any(|b| *b != POISON) {
                    check.damage.push(Damage::Border {
                        operand: name.clone(),
                        before,
                    });
                }
            }
        }
        Ok(check)
    }

    /// The bytes in the span of each written operand, by number. Waits.
    pub(super) fn written(&self, stream: &Stream) -> Result<Vec<(usize, Vec<u8>)>, Error> {
        self.host
            .outputs()
            .into_iter()
            .filter_map(|number| Some((number, self.operands[number].as_ref()?)))
            .map(|(number, operand)| Ok((number, stream.read_vec(&operand.tensor)?)))
            .collect()
    }
}

impl Operand {
    fn new(stream: &Stream, host: &HostTensor) -> Result<Operand, Error> {
        let view = View::strided(host.dtype, &host.shape, &host.strides)?;
        let span = host.bytes.len() as u64;
        let device = stream.device();
        let allocation = Allocation::new(device, span + 2 * BORDER, BORDER, MemoryKind::Device)?;
        let border = View::contiguous(U8, &[BORDER as i64])?;
        Ok(Operand {
            before: Tensor::over(allocation.clone(), border.clone(), 0)?,
            behind: Tensor::over(allocation.clone(), border, BORDER + span)?,
            tensor: Tensor::over(allocation, view, BORDER)?,
        })
    }

    /// The first byte of the span that differs. In pieces, since weights may be large.
    fn first_change(&self, stream: &Stream, before: &[u8]) -> Result<Option<u64>, Error> {
        let mut start = 0u64;
        let end = before.len() as u64;
        let mut buffer = Vec::new();
        while start < end {
            let len = CHUNK.min(end - start);
            let view = View::contiguous(U8, &[len as i64])?;
            let piece = Tensor::over(self.tensor.allocation.clone(), view, BORDER + start)?;
            buffer.resize(len as usize, 0);
            stream.read(&piece, &mut buffer)?;
            let wanted = &before[start as usize..(start + len) as usize];
            if buffer != wanted {
                let at = buffer.iter().zip(wanted).position(|(a, b)| a != b);
                return Ok(Some(start + at.unwrap_or(0) as u64));
            }
            start += len;
        }
        Ok(None)
    }
}

fn attr(value: &AttrValue) -> Attr<'_> {
    match value {
        AttrValue::Bool(b) => Attr::Bool(*b),
        AttrValue::I64(i) => Attr::I64(*i),
        AttrValue::F64(f) => Attr::F64(*f),
        AttrValue::Str(s) => Attr::Str(s),
    }
}

impl std::fmt::Debug for Placed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Placed")
            .field("op", &self.op)
            .finish_non_exhaustive()
    }
}
