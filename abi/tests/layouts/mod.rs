//! Every struct of the ABI with every field: the one list that the golden layouts, the C program and the check for
//! completeness are made from.

// Each test program takes this module whole and uses its part of it.
#![allow(dead_code)]

use overt_abi::dlpack::*;
use overt_abi::*;
use std::fmt::Write as _;
use std::mem::{align_of, offset_of, size_of};

/// How one struct or union lies in memory.
pub struct Layout {
    /// Its name, the same in Rust and C.
    pub name: &'static str,
    /// Bytes.
    pub size: usize,
    /// Bytes.
    pub align: usize,
    /// Fields in order of declaration.
    pub fields: Vec<Field>,
}

/// Where one field lies.
pub struct Field {
    /// Its name, the same in Rust and C.
    pub name: &'static str,
    /// Bytes from the start of the struct.
    pub offset: usize,
    /// Bytes.
    pub size: usize,
}

/// The text form, one line for each struct and field.
pub fn text(layouts: &[Layout]) -> String {
    let mut out = String::new();
    for layout in layouts {
        // Writing into a `String` cannot fail.
        let _ = writeln!(
            out,
            "{} size {} align {}",
            layout.name, layout.size, layout.align
        );
        for field in &layout.fields {
            let _ = writeln!(
                out,
                "  {} offset {} size {}",
                field.name, field.offset, field.size
            );
        }
    }
    out
}

/// The size of the field that `_get` reaches. Never called with a value, so it works for types without one.
const fn size_through<S, F>(_get: fn(&S) -> &F) -> usize {
    size_of::<F>()
}

macro_rules! exhaustive {
    // No `..` in the pattern: a field that the list lacks does not compile.
    (struct $name:ident { $($field:ident),* }) => {
        const _: fn($name) = |value| {
            let $name { $($field: _),* } = value;
        };
    };
    // The fields of a union cannot be taken apart together; `header.rs` counts them in the header instead.
    (union $name:ident { $($field:ident),* }) => {};
}

macro_rules! layouts {
    ($(#[$doc:meta])* $list:ident: $($kind:ident $name:ident { $($field:ident),* $(,)? })*) => {
        $(exhaustive!($kind $name { $($field),* });)*

        $(#[$doc])*
        pub fn $list() -> Vec<Layout> {
            vec![$(Layout {
                name: stringify!($name),
                size: size_of::<$name>(),
                align: align_of::<$name>(),
                fields: vec![$(Field {
                    name: stringify!($field),
                    offset: offset_of!($name, $field),
                    size: field_size!($kind $name $field),
                }),*],
            }),*]
        }
    };
}

macro_rules! field_size {
    (struct $name:ident $field:ident) => {
        size_through(|value: &$name| &value.$field)
    };
    (union $name:ident $field:ident) => {
        // SAFETY: only the type of the closure is used; it is never called, so no member is read.
        size_through(|value: &$name| unsafe { &value.$field })
    };
}

layouts! {
    /// The structs of the header.
    overt:
    struct OvertArchFeature { size, state, name }
    struct OvertArch { size, feature_count, name, family, major, minor, stepping, reserved, features }
    struct OvertArchPattern { size, rule, arch }
    struct OvertStr { data, len }
    struct OvertDType { code, bits, lanes }
    struct OvertValue { kind, reserved, data }
    union OvertValueData { i, f, s, dtype, arch, pattern }
    struct OvertFact { name, value }
    struct OvertCall { size, flags, operand_count, attr_count, operands, attrs, knobs, knob_count, reserved, workspace, plan }
    struct OvertWorkspaceNeed { size, reserved, bytes, alignment }
    struct OvertWeightsLayout { size, reserved, key, bytes, alignment }
    struct OvertDeviceInfo { size, kind, flags, fact_count, id, name, driver, pci, arch, facts, memory_bytes }
    struct OvertAllocation { size, reserved, handle, address, bytes, alignment, host_address }
    struct OvertImport { size, kind, native, bytes }
    struct OvertClause { size, cmp, fact, values, value_count, reserved, source }
    struct OvertKernelDecl { size, tier, id, op, priority, flags, required, handles_count, handles, clauses, clause_count, image_count, images, entries, entry_count, knob_count, knobs, numeric_class, not_built, doc, guard, guard_reads, guard_read_count, must_hold_count, guard_reason, must_hold }
    struct OvertImageDecl { size, kind, id, digest, pattern, code_bytes, symbols, resources, symbol_count, resource_count, not_built }
    struct OvertResources { size, known, symbol, registers, scalar_registers, spills, scratch_bytes, shared_bytes, max_block }
    struct OvertKnobDecl { size, kind, id, doc, default_value, defaults, choices, former, default_count, choice_count, former_count, flags, min, max }
    struct OvertKnobDefault { size, reserved, pattern, value, source }
    struct OvertKnobFormer { size, inverted, name }
    struct OvertOpDecl { size, reserved, name, digest, schema, oracle }
    struct OvertProvider { size, required, name, version, ops, kernels, images, knobs, op_count, kernel_count, image_count, knob_count, api }
    struct OvertHost { size, abi_version, context, log }
    struct OvertOption { size, reserved, key, value }
    struct OvertProviderApi { size, reserved, provider_create, provider_destroy, device_count, device_info, device_open, device_close, kernel_open, kernel_close, kernel_prepare, kernel_release_plan, kernel_workspace, weights_layout, weights_pack, launch, memory_alloc, memory_free, memory_import, memory_copy_in, memory_copy_out, memory_copy_out_sync, memory_copy, memory_fill, peer_access, memory_copy_peer, stream_create, stream_import, stream_destroy, stream_flush, stream_query, stream_sync, stream_wait_event, event_create, event_destroy, event_record, event_query, event_sync, event_elapsed, capture_begin, capture_end, capture_abort, graph_replay, graph_destroy, extension }
    struct OvertCommandRecorder { size, reserved, start, stop }
    struct OvertQueryRequest { size, abi_min, abi_max, reserved, host, sink }
    struct OvertQueryResponse { size, abi_version, build, provider }
    struct OvertBuildInfo { size, panic_mode, compiler, min_glibc, sanitizer, revision, target, profile }
    struct OvertReceipt { size, launches, entry, image_digest, grid, block, shared_bytes, more_count, more }
    struct OvertReplayReceipt { size, launches }
    struct OvertSink { size, reserved, context, write }
    struct OvertTensor { size, flags, dtype, rank, handle, byte_offset, address, allocation_bytes, alignment, layout, shape, strides }
}

layouts! {
    /// The structs of DLPack, which its own header defines.
    dlpack:
    struct DLPackVersion { major, minor }
    struct DLDevice { device_type, device_id }
    struct DLTensor { data, device, ndim, dtype, shape, strides, byte_offset }
    struct DLManagedTensorVersioned { version, manager_ctx, deleter, flags, dl_tensor }
}
