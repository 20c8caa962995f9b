//! The provider in plain C, built against the header alone, is driven through the Rust spelling of the contract: both describe
//! one ABI, and the example that `docs/abi.md` walks through works.

#![cfg(target_os = "linux")]

mod cc;

use overt_abi::*;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::size_of;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

// The crate has no dependencies, for tests either; the standard library links these already.
unsafe extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *const c_char;
}

const RTLD_NOW: c_int = 2;

fn library() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT
        .get_or_init(|| {
            let output = cc::scratch("libminimal.so");
            let arguments = ["-O2", "-shared", "-fPIC", "-fvisibility=hidden"];
            cc::compile(
                "gcc",
                "c11",
                &cc::root().join("examples/minimal.c"),
                &arguments,
                &output,
            );
            output
        })
        .clone()
}

fn query() -> OvertProviderQuery {
    let path = CString::new(library().as_os_str().as_bytes()).expect("a path");
    let name = CString::new(OVERT_QUERY_SYMBOL).expect("a name");
    // SAFETY: both texts end with zero; the library has no constructors, and is never closed.
    unsafe {
        let library = dlopen(path.as_ptr(), RTLD_NOW);
        assert!(
            !library.is_null(),
            "{}",
            CStr::from_ptr(dlerror()).to_string_lossy()
        );
        let symbol = dlsym(library, name.as_ptr());
        assert!(!symbol.is_null(), "{OVERT_QUERY_SYMBOL} is not exported");
        // The header's prototype and this type are two spellings of one, which is what these tests hold.
        std::mem::transmute::<*mut c_void, OvertProviderQuery>(symbol)
    }
}

fn str_of(text: &'static str) -> OvertStr {
    OvertStr {
        data: text.as_ptr(),
        len: text.len() as u64,
    }
}

/// # Safety
/// `text` is a text of the provider: null with length 0, or valid.
unsafe fn text(text: OvertStr) -> String {
    if text.len == 0 {
        return String::new();
    }
    // SAFETY: the caller's promise.
    let bytes = unsafe { std::slice::from_raw_parts(text.data, text.len as usize) };
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

unsafe extern "C" fn collect(context: *mut c_void, words: OvertStr) {
    // SAFETY: `Words::sink` passes its own String, and nothing else holds it during the call.
    unsafe { (*context.cast::<String>()).push_str(&text(words)) }
}

/// Collects what a call says.
#[derive(Default)]
struct Words(String);

impl Words {
    fn sink(&mut self) -> OvertSink {
        OvertSink {
            size: size_of::<OvertSink>() as u32,
            reserved: 0,
            context: (&raw mut self.0).cast(),
            write: Some(collect),
        }
    }
}

fn ask(min: u32, max: u32) -> (OvertStatus, OvertQueryResponse, String) {
    let mut words = Words::default();
    let sink = words.sink();
    let request = OvertQueryRequest {
        size: size_of::<OvertQueryRequest>() as u32,
        abi_min: min,
        abi_max: max,
        reserved: 0,
        host: str_of("test"),
        sink: &sink,
    };
    let mut response = OvertQueryResponse {
        size: size_of::<OvertQueryResponse>() as u32,
        abi_version: 0,
        build: null(),
        provider: null(),
    };
    // SAFETY: both structs are whole and live through the call.
    let status = unsafe { query()(&request, &mut response) };
    (status, response, words.0)
}

fn provider() -> &'static OvertProvider {
    let (status, response, words) = ask(OVERT_ABI_VERSION, OVERT_ABI_VERSION);
    assert_eq!(
        (status, response.abi_version),
        (OVERT_OK, OVERT_ABI_VERSION),
        "{words}"
    );
    // SAFETY: the library is never closed, and its declarations live as long as it.
    unsafe { response.provider.as_ref() }.expect("a provider")
}

/// An instance with its device and a stream, through which the tests call entries.
struct Opened {
    api: &'static OvertProviderApi,
    instance: *mut OvertInstance,
    device: *mut OvertDevice,
    stream: *mut OvertStream,
}

/// Calls an entry with a sink at the end: the status and the words.
macro_rules! call {
    ($api:expr, $entry:ident $(, $argument:expr)*) => {{
        let mut words = Words::default();
        let sink = words.sink();
        // SAFETY: the arguments are the test's own objects or null, which every entry must survive.
        let status = unsafe { $api.$entry.expect(stringify!($entry))($($argument,)* &sink) };
        (status, words.0)
    }};
}

macro_rules! ok {
    ($($call:tt)*) => {{
        let (status, words) = call!($($call)*);
        assert_eq!(status, OVERT_OK, "{words}");
    }};
}

impl Opened {
    fn new() -> Self {
        // SAFETY: as in `provider`.
        let api = unsafe { &*provider().api };
        let host = OvertHost {
            size: size_of::<OvertHost>() as u32,
            abi_version: OVERT_ABI_VERSION,
            context: null_mut(),
            log: None,
        };
        let (mut instance, mut device, mut stream, mut count) =
            (null_mut(), null_mut(), null_mut(), 0);
        ok!(api, provider_create, &host, null(), 0, &mut instance);
        ok!(api, device_count, instance, &mut count);
        assert_eq!(count, 1);
        ok!(api, device_open, instance, 0, null(), &mut device);
        ok!(api, stream_create, device, &mut stream);
        Opened {
            api,
            instance,
            device,
            stream,
        }
    }

    fn alloc(&self, bytes: u64) -> OvertAllocation {
        let mut allocation = OvertAllocation {
            size: size_of::<OvertAllocation>() as u32,
            reserved: 0,
            handle: 0,
            address: 0,
            bytes: 0,
            alignment: 0,
            host_address: 0,
        };
        ok!(
            self.api,
            memory_alloc,
            self.device,
            bytes,
            0,
            0,
            &mut allocation
        );
        assert!(
            allocation.handle != 0
                && allocation.bytes >= bytes
                && allocation.address.is_multiple_of(allocation.alignment)
        );
        allocation
    }

    fn write(&self, allocation: &OvertAllocation, bytes: &[u8]) {
        ok!(
            self.api,
            memory_copy_in,
            self.stream,
            allocation.handle,
            0,
            bytes.as_ptr().cast(),
            bytes.len() as u64
        );
    }

    fn read(&self, allocation: &OvertAllocation, count: usize) -> Vec<u8> {
        let mut bytes = vec![0_u8; count];
        ok!(
            self.api,
            memory_copy_out_sync,
            self.stream,
            allocation.handle,
            0,
            bytes.as_mut_ptr().cast(),
            count as u64
        );
        bytes
    }

    /// Opens kernel `index`, launches it once and closes it.
    fn launch(&self, index: u32, operands: &[OvertTensor]) -> (OvertStatus, OvertReceipt, String) {
        let mut kernel = null_mut();
        ok!(self.api, kernel_open, self.device, index, &mut kernel);
        let call = OvertCall {
            size: size_of::<OvertCall>() as u32,
            flags: 0,
            operand_count: operands.len() as u32,
            attr_count: 0,
            operands: operands.as_ptr(),
            attrs: null(),
            knobs: null(),
            knob_count: 0,
            reserved: 0,
            workspace: null(),
            plan: null_mut(),
        };
        let none = OvertStr {
            data: null(),
            len: 0,
        };
        let mut receipt = OvertReceipt {
            size: size_of::<OvertReceipt>() as u32,
            launches: 0,
            entry: none,
            image_digest: 0,
            grid: [0; 3],
            block: [0; 3],
            shared_bytes: 0,
            more_count: 0,
            more: null(),
        };
        let (status, words) = call!(self.api, launch, kernel, self.stream, &call, &mut receipt);
        // SAFETY: opened above; the provider is synchronous, so nothing is pending.
        unsafe { self.api.kernel_close.expect("kernel_close")(kernel) };
        (status, receipt, words)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // SAFETY: opened in `new`, closed once, in reverse order.
        unsafe {
            self.api.stream_destroy.expect("stream_destroy")(self.stream);
            self.api.device_close.expect("device_close")(self.device);
            self.api.provider_destroy.expect("provider_destroy")(self.instance);
        }
    }
}

const F32: OvertDType = OvertDType {
    code: OVERT_DTYPE_FLOAT,
    bits: 32,
    lanes: 1,
};
const F16: OvertDType = OvertDType {
    code: OVERT_DTYPE_FLOAT,
    bits: 16,
    lanes: 1,
};
const BF16: OvertDType = OvertDType {
    code: OVERT_DTYPE_BFLOAT,
    bits: 16,
    lanes: 1,
};

fn view(
    allocation: &OvertAllocation,
    dtype: OvertDType,
    shape: &[i64; 2],
    strides: &[i64; 2],
) -> OvertTensor {
    OvertTensor {
        size: size_of::<OvertTensor>() as u32,
        flags: 0,
        dtype,
        rank: 2,
        handle: allocation.handle,
        byte_offset: 0,
        address: allocation.address,
        allocation_bytes: allocation.bytes,
        alignment: 64,
        layout: 0,
        shape: shape.as_ptr(),
        strides: strides.as_ptr(),
    }
}

fn floats(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

fn halves(values: &[u16]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

#[test]
fn a_host_of_another_version_is_refused_in_words() {
    let (status, response, words) = ask(OVERT_ABI_VERSION + 1, OVERT_ABI_VERSION + 7);
    assert_eq!(status, OVERT_E_ABI);
    assert_eq!(response.abi_version, OVERT_ABI_VERSION);
    assert!(response.provider.is_null() && !response.build.is_null());
    assert_eq!(words, "minimal speaks ABI 0.1; the host speaks 0.2 to 0.8");
}

#[test]
fn a_short_response_is_not_written_beyond_its_size() {
    let request = OvertQueryRequest {
        size: size_of::<OvertQueryRequest>() as u32,
        abi_min: OVERT_ABI_VERSION,
        abi_max: OVERT_ABI_VERSION,
        reserved: 0,
        host: str_of("test"),
        sink: null(),
    };
    let mut response = OvertQueryResponse {
        size: 8,
        abi_version: 0,
        build: null(),
        provider: null(),
    };
    // SAFETY: both live through the call.
    let status = unsafe { query()(&request, &mut response) };
    assert_eq!(status, OVERT_E_ABI);
    assert!(response.build.is_null() && response.provider.is_null());
}

#[test]
fn every_required_entry_is_there() {
    let api = Opened::new().api;
    macro_rules! required {
        ($($entry:ident)*) => { $(assert!(api.$entry.is_some(), stringify!($entry));)* };
    }
    required!(provider_create provider_destroy device_count device_info device_open device_close kernel_open kernel_close
        launch memory_alloc memory_free memory_copy_in memory_copy_out_sync memory_copy memory_fill stream_create
        stream_destroy stream_flush stream_query stream_sync stream_wait_event event_create event_destroy event_record
        event_query event_sync event_elapsed);
    assert!(api.capture_begin.is_none() && api.capture_end.is_none() && api.graph_replay.is_none());
}

#[test]
fn the_schema_digest_is_fnv1a_over_the_canonical_text() {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in "add.1(a:float[T,D],b:float[T,D])->out:like a[T,D]may_alias(a,b)".bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    }
    // SAFETY: a declaration of a library that is never closed.
    assert_eq!(unsafe { (*provider().ops).digest }, hash);
}

#[test]
fn the_contiguous_kernel_adds_and_its_receipt_says_so() {
    let opened = Opened::new();
    let (a, b, out) = (opened.alloc(24), opened.alloc(24), opened.alloc(24));
    opened.write(&a, &floats(&[1.0, 2.0, 3.0, 4.0, 5.0, f32::MAX]));
    opened.write(
        &b,
        &floats(&[0.5, -2.0, 1e-8, 4.0, f32::INFINITY, f32::MAX]),
    );
    let (shape, strides) = ([2, 3], [3, 1]);
    let operands = [&a, &b, &out].map(|memory| view(memory, F32, &shape, &strides));
    let (status, receipt, words) = opened.launch(0, &operands);
    assert_eq!(status, OVERT_OK, "{words}");
    assert_eq!(
        opened.read(&out, 24),
        floats(&[1.5, 0.0, 3.0, 8.0, f32::INFINITY, f32::INFINITY])
    );
    // SAFETY: a receipt's text lives as long as the kernel, which here is a static of the library; images are static.
    let (entry, image) = unsafe { (text(receipt.entry), &*provider().images) };
    assert_eq!(
        (receipt.launches, receipt.grid, receipt.block),
        (1, [2, 1, 1], [1, 1, 1])
    );
    assert_eq!(entry, "minimal_add_f32_contiguous");
    assert_eq!(receipt.image_digest.to_ne_bytes(), image.digest[..8]);
}

#[test]
fn the_image_digest_is_the_sha256_of_the_code_in_the_file() {
    // SAFETY: as above.
    let image = unsafe { &*provider().images };
    let run = std::process::Command::new("objcopy")
        .args(["-O", "binary", "--only-section=minimal_image"])
        .arg(library())
        .arg(cc::scratch("minimal_image.bin"))
        .status()
        .expect("objcopy runs; install binutils");
    assert!(run.success());
    let run = std::process::Command::new("sha256sum")
        .arg(cc::scratch("minimal_image.bin"))
        .output()
        .expect("sha256sum runs; install coreutils");
    let want = String::from_utf8(run.stdout).expect("text");
    let have: String = image
        .digest
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(have, want[..64]);
    let bytes = std::fs::metadata(cc::scratch("minimal_image.bin"))
        .expect("the section")
        .len();
    assert_eq!(image.code_bytes, bytes);
}

#[test]
fn the_strided_kernel_takes_gaps_and_mixed_formats() {
    let opened = Opened::new();
    let (a, b, out) = (opened.alloc(64), opened.alloc(64), opened.alloc(64));
    // bf16 rows of two with a gap of one; f16, transposed; the sum in bf16, in place of `a`'s format.
    opened.write(&a, &halves(&[0x3f80, 0x4000, 0x7777, 0x4040, 0xbf80])); // 1 2 _ 3 -1
    opened.write(&b, &halves(&[0x3c00, 0x0001, 0x1c00, 0x7c00])); // 1 2^-24 | 2^-8 inf
    let shape = [2, 2];
    let operands = [
        view(&a, BF16, &shape, &[3, 1]),
        view(&b, F16, &shape, &[1, 2]), // rows: (1, 2^-8), (2^-24, inf)
        view(&out, BF16, &shape, &[2, 1]),
    ];
    let (status, receipt, words) = opened.launch(1, &operands);
    assert_eq!(status, OVERT_OK, "{words}");
    // 2 + 2^-8 has a tie at no bf16 (spacing 2^-6): rounds to 2; 3 + 2^-24 to 3.
    assert_eq!(
        opened.read(&out, 8),
        halves(&[0x4000, 0x4000, 0x4040, 0x7f80])
    );
    // SAFETY: as above.
    assert_eq!(unsafe { text(receipt.entry) }, "minimal_add_strided");
}

#[test]
fn f16_rounds_to_nearest_even_over_its_whole_range() {
    let opened = Opened::new();
    // Wanted: the sum's bits, worked out by hand for ties, subnormals, carries and overflow.
    let cases: [(u16, u16, u16); 9] = [
        (0x3c00, 0x1000, 0x3c00), // 1 + 2^-11: a tie, to even
        (0x3c01, 0x1000, 0x3c02), // 1 + 2^-10 + 2^-11: a tie, to even, upwards
        (0x3c00, 0x1001, 0x3c01), // just above the tie
        (0x0001, 0x0001, 0x0002), // subnormals add exactly
        (0x03ff, 0x0001, 0x0400), // greatest subnormal + least: least normal
        (0x7bff, 0x4c00, 0x7c00), // 65504 + 16 = 65520: half an ulp above the greatest, which overflows
        (0x7bff, 0x4bff, 0x7bff), // just below that
        (0x8000, 0x8000, 0x8000), // -0 + -0
        (0x3c00, 0xbc00, 0x0000), // 1 - 1
    ];
    let count = cases.len() as i64;
    let memory = [opened.alloc(64), opened.alloc(64), opened.alloc(64)];
    opened.write(&memory[0], &halves(&cases.map(|case| case.0)));
    opened.write(&memory[1], &halves(&cases.map(|case| case.1)));
    let (shape, strides) = ([1, count], [count, 1]);
    let operands = [0, 1, 2].map(|i| view(&memory[i], F16, &shape, &strides));
    let (status, _, words) = opened.launch(1, &operands);
    assert_eq!(status, OVERT_OK, "{words}");
    assert_eq!(
        opened.read(&memory[2], 2 * cases.len()),
        halves(&cases.map(|case| case.2))
    );
}

#[test]
fn empty_work_launches_nothing() {
    let opened = Opened::new();
    let memory = opened.alloc(64);
    let (shape, strides) = ([0, 3], [3, 1]);
    let operands = [0; 3].map(|_| view(&memory, F32, &shape, &strides));
    let (status, receipt, words) = opened.launch(0, &operands);
    assert_eq!((status, receipt.launches), (OVERT_OK, 0), "{words}");
}

#[test]
fn bad_calls_are_refused_with_the_operand_named() {
    let opened = Opened::new();
    let memory = opened.alloc(64);
    opened.write(&memory, &[7; 64]);
    let (shape, strides) = ([2, 3], [3, 1]);
    let good = [0; 3].map(|_| view(&memory, F32, &shape, &strides));
    let gap = [4, 1];
    let long = [5, 3];
    type Spoil<'a> = (&'static str, Box<dyn Fn(&mut [OvertTensor; 3]) + 'a>);
    let spoils: [Spoil<'_>; 7] = [
        (
            "`b`: needs contiguous f32",
            Box::new(|o| o[1].strides = gap.as_ptr()),
        ),
        ("`a`: needs contiguous f32", Box::new(|o| o[0].dtype = BF16)),
        (
            "`out`: needs a plain float tensor",
            Box::new(|o| o[2].rank = 1),
        ),
        (
            "`b`: needs a plain float tensor",
            Box::new(|o| o[1].shape = long.as_ptr()),
        ),
        (
            "b: no allocation has the handle",
            Box::new(|o| o[1].handle ^= 1 << 40),
        ),
        (
            "out: 24 bytes at 48 reach beyond",
            Box::new(|o| o[2].byte_offset = 48),
        ),
        (
            "`out`: needs the dtype of `a`, and to be writable",
            Box::new(|o| o[2].flags = OVERT_TENSOR_READ_ONLY),
        ),
    ];
    for (want, spoil) in &spoils {
        let mut operands = good;
        spoil(&mut operands);
        let (status, receipt, words) = opened.launch(0, &operands);
        assert_eq!((status, receipt.launches), (OVERT_E_INVALID, 0), "{want}");
        assert!(words.contains(want), "wanted {want:?}, got {words:?}");
    }
    assert_eq!(opened.read(&memory, 64), [7; 64], "a refused call wrote");
    let (status, _, _) = opened.launch(0, &good[..2]);
    assert_eq!(status, OVERT_E_INVALID);
}

#[test]
fn memory_is_filled_copied_imported_and_freed_once() {
    let opened = Opened::new();
    let (one, two) = (opened.alloc(100), opened.alloc(100));
    ok!(
        opened.api,
        memory_fill,
        opened.stream,
        one.handle,
        10,
        0xa5,
        20
    );
    ok!(
        opened.api,
        memory_copy,
        opened.stream,
        two.handle,
        0,
        one.handle,
        10,
        20
    );
    assert_eq!(opened.read(&two, 20), [0xa5; 20]);

    let mut host = [3_u8; 16];
    let import = OvertImport {
        size: size_of::<OvertImport>() as u32,
        kind: OVERT_IMPORT_HOST_POINTER,
        native: host.as_mut_ptr() as u64,
        bytes: 16,
    };
    let mut imported = one;
    ok!(
        opened.api,
        memory_import,
        opened.device,
        &import,
        &mut imported
    );
    ok!(
        opened.api,
        memory_copy,
        opened.stream,
        imported.handle,
        4,
        two.handle,
        0,
        4
    );
    // SAFETY: `free` takes any handle, known or not; `host` is the test's own and not freed by it.
    unsafe {
        let free = opened.api.memory_free.expect("memory_free");
        free(opened.device, imported.handle);
        free(opened.device, one.handle);
        free(opened.device, one.handle);
        free(opened.device, 0);
    }
    assert_eq!(
        host,
        [3, 3, 3, 3, 0xa5, 0xa5, 0xa5, 0xa5, 3, 3, 3, 3, 3, 3, 3, 3]
    );

    // The slot is used again; the old handle stays dead.
    let three = opened.alloc(100);
    assert_ne!(three.handle, one.handle);
    let (status, words) = call!(opened.api, memory_fill, opened.stream, one.handle, 0, 0, 1);
    assert_eq!(status, OVERT_E_INVALID);
    assert!(words.contains("no allocation has the handle"), "{words}");

    let mut more = one;
    let (status, _) = call!(
        opened.api,
        memory_alloc,
        opened.device,
        u64::MAX,
        0,
        0,
        &mut more
    );
    assert_eq!(status, OVERT_E_OUT_OF_MEMORY);
    let (status, _) = call!(
        opened.api,
        memory_alloc,
        opened.device,
        64,
        48,
        0,
        &mut more
    );
    assert_eq!(status, OVERT_E_INVALID, "48 is no power of two");
}

#[test]
fn events_measure_time_and_know_whether_they_were_recorded() {
    let opened = Opened::new();
    let (mut start, mut end, mut nanoseconds) = (null_mut(), null_mut(), -1.0);
    ok!(opened.api, event_create, opened.device, &mut start);
    ok!(opened.api, event_create, opened.device, &mut end);
    assert_eq!(call!(opened.api, event_query, start).0, OVERT_E_INVALID);
    ok!(opened.api, event_record, start, opened.stream);
    assert_eq!(
        call!(opened.api, event_elapsed, start, end, &mut nanoseconds).0,
        OVERT_E_INVALID
    );
    assert_eq!(
        nanoseconds, -1.0,
        "an out-parameter was written on an error"
    );
    let memory = opened.alloc(1 << 20);
    ok!(
        opened.api,
        memory_fill,
        opened.stream,
        memory.handle,
        0,
        1,
        1 << 20
    );
    ok!(opened.api, event_record, end, opened.stream);
    ok!(opened.api, stream_wait_event, opened.stream, end);
    ok!(opened.api, event_sync, end);
    ok!(opened.api, stream_query, opened.stream);
    ok!(opened.api, event_elapsed, start, end, &mut nanoseconds);
    assert!(nanoseconds > 0.0, "{nanoseconds}");
    // SAFETY: made above, destroyed once; null is allowed.
    unsafe {
        let destroy = opened.api.event_destroy.expect("event_destroy");
        destroy(start);
        destroy(end);
        destroy(null_mut());
    }
}
