//! Products and attention by ggml's C interface, from the libraries that `xtask` has built.

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use overt::DType;
use overt::kernels::dtype;
use std::ffi::c_void;
use std::path::Path;
use std::ptr::null_mut;

type Ptr = *mut c_void;

/// The head of `struct ggml_tensor`, as far as it is read here.
#[repr(C)]
struct Head {
    ty: i32,
    buffer: Ptr,
    ne: [i64; 4],
    nb: [usize; 4],
    op: i32,
    op_params: [i32; 16],
    flags: i32,
    src: [Ptr; 10],
    view_src: Ptr,
    view_offs: usize,
    data: *mut u8,
    name: [u8; 64],
    extra: Ptr,
}

#[repr(C)]
struct InitParams {
    mem_size: usize,
    mem_buffer: Ptr,
    no_alloc: bool,
}

#[repr(C)]
struct Plan {
    work_size: usize,
    work_data: *mut u8,
    n_threads: i32,
    threadpool: Ptr,
    abort_callback: Ptr,
    abort_callback_data: Ptr,
    use_ref: bool,
}

type Log = extern "C" fn(i32, *const std::ffi::c_char, Ptr);

/// Takes the library's messages, one for each weight that it repacks.
extern "C" fn quiet(_: i32, _: *const std::ffi::c_char, _: Ptr) {}

/// The libraries. They live as long as the process.
pub struct Ggml {
    base: Library,
    cpu: Library,
    threads: i32,
    pub version: String,
}

/// A function of a library by name and C type.
macro_rules! symbol {
    ($library:expr, $name:literal, $ty:ty) => {
        // SAFETY: the name and type are those of the library's header.
        *unsafe { $library.get::<$ty>($name.as_bytes()) }.map_err(|e| e.to_string())?
    };
}

/// What of ggml's a graph stands on; given back with it.
struct Kept {
    contexts: Vec<Ptr>,
    buffers: Vec<Ptr>,
    free: unsafe extern "C" fn(Ptr),
    free_buffer: unsafe extern "C" fn(Ptr),
}

impl Drop for Kept {
    fn drop(&mut self) {
        for buffer in self.buffers.drain(..) {
            // SAFETY: nothing runs, and no tensor of the buffer is used again.
            unsafe { (self.free_buffer)(buffer) }
        }
        for context in self.contexts.drain(..) {
            // SAFETY: as above.
            unsafe { (self.free)(context) }
        }
    }
}

/// The number of a type in ggml.
pub fn code(ty: DType) -> Option<i32> {
    let codes = [
        (dtype::F32, 0),
        (dtype::F16, 1),
        (dtype::Q4_0, 2),
        (dtype::Q4_1, 3),
        (dtype::Q5_0, 6),
        (dtype::Q5_1, 7),
        (dtype::Q8_0, 8),
        (dtype::Q4_K, 12),
        (dtype::Q5_K, 13),
        (dtype::Q6_K, 14),
        (dtype::BF16, 30),
        (dtype::MXFP4, 39),
    ];
    codes.iter().find(|(d, _)| *d == ty).map(|(_, code)| *code)
}

impl Ggml {
    /// Loads the libraries of a folder.
    pub fn load(folder: &Path, threads: usize) -> Result<Ggml, String> {
        let open = |name: &str| {
            // SAFETY: the libraries' initialisers do nothing that this program depends on.
            unsafe { Library::open(Some(folder.join(name)), RTLD_NOW | RTLD_GLOBAL) }
                .map_err(|e| e.to_string())
        };
        let (base, cpu) = (open("libggml-base.so")?, open("libggml-cpu.so")?);
        let init = symbol!(cpu, "ggml_cpu_init", unsafe extern "C" fn());
        let log = symbol!(base, "ggml_log_set", unsafe extern "C" fn(Log, Ptr));
        // SAFETY: a function that does nothing, with no data.
        unsafe { log(quiet, null_mut()) };
        // SAFETY: sets up tables; called once.
        unsafe { init() };
        let version = symbol!(
            base,
            "ggml_version",
            unsafe extern "C" fn() -> *const std::ffi::c_char
        );
        // SAFETY: a static text.
        let version = unsafe { std::ffi::CStr::from_ptr(version()) };
        let version = version.to_string_lossy().into_owned();
        Ok(Ggml {
            base,
            cpu,
            threads: threads as i32,
            version,
        })
    }

    fn kept(&self) -> Result<Kept, String> {
        Ok(Kept {
            contexts: Vec::new(),
            buffers: Vec::new(),
            free: symbol!(self.base, "ggml_free", unsafe extern "C" fn(Ptr)),
            free_buffer: symbol!(
                self.base,
                "ggml_backend_buffer_free",
                unsafe extern "C" fn(Ptr)
            ),
        })
    }

    fn context(&self, kept: &mut Kept, bytes: usize, no_alloc: bool) -> Result<Ptr, String> {
        let init = symbol!(
            self.base,
            "ggml_init",
            unsafe extern "C" fn(InitParams) -> Ptr
        );
        let params = InitParams {
            mem_size: bytes,
            mem_buffer: null_mut(),
            no_alloc,
        };
        // SAFETY: plain parameters.
        let context = unsafe { init(params) };
        if context.is_null() {
            return Err("no context".into());
        }
        kept.contexts.push(context);
        Ok(context)
    }

    fn tensor(&self, context: Ptr, ty: i32, ne: [i64; 4]) -> Result<*mut Head, String> {
        type New = unsafe extern "C" fn(Ptr, i32, i64, i64, i64, i64) -> *mut Head;
        let new = symbol!(self.base, "ggml_new_tensor_4d", New);
        // SAFETY: a context that lives.
        Ok(unsafe { new(context, ty, ne[0], ne[1], ne[2], ne[3]) })
    }

    /// A tensor with these contents, in the context's own memory.
    fn holding(
        &self,
        context: Ptr,
        ty: i32,
        ne: [i64; 4],
        bytes: &[u8],
    ) -> Result<*mut Head, String> {
        let tensor = self.tensor(context, ty, ne)?;
        let size = symbol!(
            self.base,
            "ggml_nbytes",
            unsafe extern "C" fn(*const Head) -> usize
        );
        // SAFETY: the tensor lives, and has so many bytes at its data.
        unsafe {
            let size = size(tensor);
            if size != bytes.len() {
                return Err(format!("a tensor of {size} bytes for {}", bytes.len()));
            }
            (*tensor)
                .data
                .copy_from_nonoverlapping(bytes.as_ptr(), size);
        }
        Ok(tensor)
    }

    /// A weight in the layout that ggml's processor backend prefers; whether that is a layout of its own.
    fn weight(
        &self,
        kept: &mut Kept,
        ty: i32,
        ne: [i64; 4],
        bytes: &[u8],
    ) -> Result<(*mut Head, bool), String> {
        let context = self.context(kept, 1 << 16, true)?;
        let tensor = self.tensor(context, ty, ne)?;
        type Alloc = unsafe extern "C" fn(Ptr, Ptr) -> Ptr;
        let alloc = symbol!(self.base, "ggml_backend_alloc_ctx_tensors_from_buft", Alloc);
        let set = symbol!(
            self.base,
            "ggml_backend_tensor_set",
            unsafe extern "C" fn(*mut Head, *const u8, usize, usize)
        );
        // The function is C++ and has no C name.
        let repack = symbol!(
            self.cpu,
            "_Z35ggml_backend_cpu_repack_buffer_typev",
            unsafe extern "C" fn() -> Ptr
        );
        // SAFETY: the context's only tensor gets memory of the buffer type. Where `extra` stays null the type has no such layout,
        // and a plain copy is made instead.
        unsafe {
            let buffer = alloc(context, repack());
            if !buffer.is_null() {
                kept.buffers.push(buffer);
            }
            if !buffer.is_null() && !(*tensor).extra.is_null() {
                set(tensor, bytes.as_ptr(), 0, bytes.len());
                return Ok((tensor, true));
            }
        }
        let context = self.context(kept, bytes.len() + (1 << 16), false)?;
        Ok((self.holding(context, ty, ne, bytes)?, false))
    }

    fn graph(&self, kept: Kept, context: Ptr, result: *mut Head) -> Result<Graph<'_>, String> {
        let new = symbol!(
            self.base,
            "ggml_new_graph",
            unsafe extern "C" fn(Ptr) -> Ptr
        );
        let expand = symbol!(
            self.base,
            "ggml_build_forward_expand",
            unsafe extern "C" fn(Ptr, *mut Head)
        );
        let plan = symbol!(
            self.cpu,
            "ggml_graph_plan",
            unsafe extern "C" fn(Ptr, i32, Ptr) -> Plan
        );
        let compute = symbol!(
            self.cpu,
            "ggml_graph_compute",
            unsafe extern "C" fn(Ptr, *mut Plan) -> i32
        );
        // SAFETY: the context and its tensors live as long as the process.
        let (graph, plan) = unsafe {
            let graph = new(context);
            expand(graph, result);
            (graph, plan(graph, self.threads, null_mut()))
        };
        Ok(Graph {
            work: vec![0; plan.work_size.max(64)],
            graph,
            plan,
            compute,
            result,
            _kept: kept,
            _library: self,
        })
    }

    /// A product with copies of a weight; `a` is f32. One graph for each copy, and whether the weights have a layout of ggml's.
    pub fn products(
        &self,
        ty: DType,
        [m, n, k]: [i64; 3],
        (a, b): (&[u8], &[u8]),
        copies: usize,
    ) -> Result<(Vec<Graph<'_>>, bool), String> {
        let ty = code(ty).ok_or("no type of ggml")?;
        let multiply = symbol!(
            self.base,
            "ggml_mul_mat",
            unsafe extern "C" fn(Ptr, *mut Head, *mut Head) -> *mut Head
        );
        let mut graphs = Vec::new();
        let mut own = false;
        for _ in 0..copies {
            let mut kept = self.kept()?;
            let (weight, packed) = self.weight(&mut kept, ty, [k, n, 1, 1], b)?;
            own |= packed;
            let bytes = a.len() + (m * n * 4) as usize + (1 << 20);
            let context = self.context(&mut kept, bytes, false)?;
            let a = self.holding(context, 0, [k, m, 1, 1], a)?;
            // SAFETY: tensors of live contexts.
            let result = unsafe { multiply(context, weight, a) };
            graphs.push(self.graph(kept, context, result)?);
        }
        Ok((graphs, own))
    }

    /// Attention of `tokens` queries, the last of their sequence, in each of `batch` sequences of `keys` keys. f32 queries.
    #[expect(clippy::too_many_arguments, reason = "the sizes of one problem")]
    pub fn attention(
        &self,
        ty: DType,
        [heads, kv_heads, dim, value_dim]: [i64; 4],
        tokens: i64,
        keys: i64,
        batch: i64,
        (q, k_rows, v_rows): (&[u8], &[Vec<u8>], &[Vec<u8>]),
        copies: usize,
    ) -> Result<Vec<Graph<'_>>, String> {
        let ty = code(ty).ok_or("no type of ggml")?;
        type Attention = unsafe extern "C" fn(
            Ptr,
            *mut Head,
            *mut Head,
            *mut Head,
            *mut Head,
            f32,
            f32,
            f32,
        ) -> *mut Head;
        let attend = symbol!(self.base, "ggml_flash_attn_ext", Attention);
        let cache = |rows: &[Vec<u8>]| {
            let keys: Vec<u8> = (0..keys as usize)
                .flat_map(|key| rows[key % rows.len()].iter().copied())
                .collect();
            keys.repeat((kv_heads * batch) as usize)
        };
        let (k, v) = (cache(k_rows), cache(v_rows));
        let q = q.repeat((tokens * heads * batch) as usize);
        let mut graphs = Vec::new();
        for _ in 0..copies {
            let mut kept = self.kept()?;
            let mask_bytes = if tokens > 1 {
                (keys * tokens * 2) as usize
            } else {
                0
            };
            let out = (value_dim * heads * tokens * batch * 4) as usize;
            let bytes = q.len() + k.len() + v.len() + mask_bytes + out + (1 << 20);
            let context = self.context(&mut kept, bytes, false)?;
            let q = self.holding(context, 0, [dim, tokens, heads, batch], &q)?;
            let k = self.holding(context, ty, [dim, keys, kv_heads, batch], &k)?;
            let v = self.holding(context, ty, [value_dim, keys, kv_heads, batch], &v)?;
            let mut mask = null_mut();
            if tokens > 1 {
                // 0 where a key is visible, minus infinity elsewhere, as f16.
                let words: Vec<u8> = (0..tokens)
                    .flat_map(|row| (0..keys).map(move |key| key <= keys - tokens + row))
                    .flat_map(|seen| if seen { [0, 0] } else { [0x00, 0xfc] })
                    .collect();
                mask = self.holding(context, 1, [keys, tokens, 1, 1], &words)?;
            }
            let scale = 1.0 / (dim as f32).sqrt();
            // SAFETY: tensors of live contexts.
            let result = unsafe { attend(context, q, k, v, mask, scale, 0.0, 0.0) };
            graphs.push(self.graph(kept, context, result)?);
        }
        Ok(graphs)
    }
}

/// A graph made ready.
pub struct Graph<'a> {
    graph: Ptr,
    plan: Plan,
    work: Vec<u8>,
    compute: unsafe extern "C" fn(Ptr, *mut Plan) -> i32,
    result: *mut Head,
    _kept: Kept,
    _library: &'a Ggml,
}

impl Graph<'_> {
    /// Runs it to its end.
    pub fn run(&mut self) {
        self.plan.work_data = self.work.as_mut_ptr();
        // SAFETY: the graph, its plan and the work memory live.
        let status = unsafe { (self.compute)(self.graph, &mut self.plan) };
        assert_eq!(status, 0, "ggml failed");
    }

    /// The first elements of the result, which is f32.
    pub fn output(&self, count: usize) -> &[f32] {
        // SAFETY: the result has its memory in a context that lives; the caller asks for no more than it has.
        unsafe { std::slice::from_raw_parts((*self.result).data.cast(), count) }
    }
}
