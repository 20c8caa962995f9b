//! Products by oneDNN's C interface, from the library that `xtask` has fetched.

use libloading::Library;
use overt::DType;
use overt::kernels::dtype::{BF16, F16, F32};
use std::ffi::c_void;
use std::path::Path;
use std::ptr::{null, null_mut};

type Handle = *mut c_void;

const CPU: i32 = 1;
const IN_ORDER: u32 = 1;
const UNIMPLEMENTED: i32 = 3;
const ANY: i32 = 1;
const WEIGHTS_MD: i32 = 131;
const SRC: i32 = 1;
const DST: i32 = 17;
const WEIGHTS: i32 = 33;

#[repr(C)]
struct Arg {
    arg: i32,
    memory: Handle,
}

/// The library with an engine and a stream. Lives as long as the process.
pub struct OneDnn {
    opened: Library,
    engine: Handle,
    stream: Handle,
    pub version: String,
}

/// Calls a function of the library by name, with its C types.
macro_rules! call {
    ($self:expr, $name:literal ( $($arg:expr => $ty:ty),* $(,)? )) => {{
        // SAFETY: the name and its types are those of the library's header; the arguments live over the call.
        let status = unsafe {
            let f = $self.opened.get::<unsafe extern "C" fn($($ty),*) -> i32>($name)
                .map_err(|e| e.to_string())?;
            f($($arg),*)
        };
        if status == UNIMPLEMENTED {
            return Err("no such product on this machine".into());
        }
        if status != 0 {
            return Err(format!("{}: status {status}", String::from_utf8_lossy($name)));
        }
    }};
}

impl OneDnn {
    /// Loads `libdnnl.so.3` of a folder.
    pub fn load(folder: &Path) -> Result<OneDnn, String> {
        // SAFETY: the library's initialisers do nothing that this program depends on.
        let library =
            unsafe { Library::new(folder.join("libdnnl.so.3")) }.map_err(|e| e.to_string())?;
        // SAFETY: a function without arguments that returns a static struct of three integers first.
        let version = unsafe {
            let f = library
                .get::<unsafe extern "C" fn() -> *const [i32; 3]>(b"dnnl_version")
                .map_err(|e| e.to_string())?;
            f().read()
        };
        let mut dnn = OneDnn {
            opened: library,
            engine: null_mut(),
            stream: null_mut(),
            version: version.map(|n| n.to_string()).join("."),
        };
        let (mut engine, mut stream) = (null_mut(), null_mut());
        call!(dnn, b"dnnl_engine_create"(&mut engine => *mut Handle, CPU => i32, 0 => usize));
        call!(dnn, b"dnnl_stream_create"(&mut stream => *mut Handle, engine => Handle, IN_ORDER => u32));
        (dnn.engine, dnn.stream) = (engine, stream);
        Ok(dnn)
    }

    fn strided(&self, dims: [i64; 2], strides: [i64; 2], ty: i32) -> Result<Handle, String> {
        let mut md = null_mut();
        call!(self, b"dnnl_memory_desc_create_with_strides"(
            &mut md => *mut Handle, 2 => i32, dims.as_ptr() => *const i64, ty => i32, strides.as_ptr() => *const i64,
        ));
        Ok(md)
    }

    fn memory(&self, md: Handle, data: *const u8) -> Result<Handle, String> {
        let mut memory = null_mut();
        call!(self, b"dnnl_memory_create"(
            &mut memory => *mut Handle, md => Handle, self.engine => Handle, data.cast_mut().cast() => *mut c_void,
        ));
        Ok(memory)
    }

    fn execute(&self, primitive: Handle, args: &[Arg]) -> Result<(), String> {
        call!(self, b"dnnl_primitive_execute"(
            primitive => Handle, self.stream => Handle, args.len() as i32 => i32, args.as_ptr() => *const Arg,
        ));
        call!(self, b"dnnl_stream_wait"(self.stream => Handle));
        Ok(())
    }

    /// A product with `copies` of a weight; with `pack`, in the layout that oneDNN likes best.
    pub fn product(
        &self,
        ty: DType,
        [m, n, k]: [i64; 3],
        (a, b): (&[u8], &[u8]),
        copies: usize,
        pack: bool,
    ) -> Result<Product<'_>, String> {
        let (code, size) = match ty {
            F32 => (3, 4),
            BF16 => (2, 2),
            F16 => (1, 2),
            _ => return Err("no type of oneDNN".into()),
        };
        let src = self.strided([m, k], [k, 1], code)?;
        let plain = self.strided([k, n], [1, k], code)?;
        let dst = self.strided([m, n], [n, 1], code)?;
        let mut weights = plain;
        if pack {
            let mut any = null_mut();
            call!(self, b"dnnl_memory_desc_create_with_tag"(
                &mut any => *mut Handle, 2 => i32, [k, n].as_ptr() => *const i64, code => i32, ANY => i32,
            ));
            weights = any;
        }
        let (mut pd, mut primitive) = (null_mut(), null_mut());
        call!(self, b"dnnl_matmul_primitive_desc_create"(
            &mut pd => *mut Handle, self.engine => Handle, src => Handle, weights => Handle, null_mut() => Handle,
            dst => Handle, null() => *const c_void,
        ));
        call!(self, b"dnnl_primitive_create"(&mut primitive => *mut Handle, pd => Handle));
        // SAFETY: a query of a descriptor that lives; what it returns belongs to it.
        let wanted = unsafe {
            let f = self
                .opened
                .get::<unsafe extern "C" fn(Handle, i32, i32) -> Handle>(
                    b"dnnl_primitive_desc_query_md",
                )
                .map_err(|e| e.to_string())?;
            f(pd, WEIGHTS_MD, 0)
        };
        // SAFETY: as above.
        let bytes = unsafe {
            let f = self
                .opened
                .get::<unsafe extern "C" fn(Handle) -> usize>(b"dnnl_memory_desc_get_size")
                .map_err(|e| e.to_string())?;
            f(wanted)
        };
        let mut product = Product {
            dnn: self,
            primitive,
            src: null_mut(),
            dst: null_mut(),
            weights: Vec::new(),
            _kept: vec![a.to_vec(), vec![0; (m * n) as usize * size]],
        };
        product.src = self.memory(src, product._kept[0].as_ptr())?;
        product.dst = self.memory(dst, product._kept[1].as_ptr())?;
        for _ in 0..copies {
            let mut copy = vec![0; bytes.max(b.len())];
            copy[..b.len()].copy_from_slice(b);
            let mut memory = self.memory(wanted, copy.as_ptr())?;
            if pack {
                let from = self.memory(plain, copy.as_ptr())?;
                let packed = vec![0; bytes];
                memory = self.memory(wanted, packed.as_ptr())?;
                let (mut pd, mut reorder) = (null_mut(), null_mut());
                call!(self, b"dnnl_reorder_primitive_desc_create"(
                    &mut pd => *mut Handle, plain => Handle, self.engine => Handle, wanted => Handle,
                    self.engine => Handle, null() => *const c_void,
                ));
                call!(self, b"dnnl_primitive_create"(&mut reorder => *mut Handle, pd => Handle));
                let arg = |arg, memory| Arg { arg, memory };
                self.execute(reorder, &[arg(SRC, from), arg(DST, memory)])?;
                copy = packed;
            }
            product.weights.push(memory);
            product._kept.push(copy);
        }
        Ok(product)
    }
}

/// A product made ready. Handles of the library are not given back: they are few, and the program ends.
pub struct Product<'a> {
    dnn: &'a OneDnn,
    primitive: Handle,
    src: Handle,
    dst: Handle,
    weights: Vec<Handle>,
    /// The memory behind the handles.
    _kept: Vec<Vec<u8>>,
}

impl Product<'_> {
    /// Runs it to its end.
    pub fn run(&self, turn: usize) {
        let arg = |arg, memory| Arg { arg, memory };
        let weights = self.weights[turn % self.weights.len()];
        let args = [
            arg(SRC, self.src),
            arg(WEIGHTS, weights),
            arg(DST, self.dst),
        ];
        self.dnn.execute(self.primitive, &args).expect("a product");
    }

    /// The output's bytes.
    pub fn output(&self) -> &[u8] {
        &self._kept[1]
    }
}
