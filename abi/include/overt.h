/**
 * @file overt.h
 *
 * The contract between the Overt runtime (the *host*) and a *provider*: a dynamic library that brings devices, kernels,
 * knobs and, if it likes, ops.
 *
 * C is the contract; this crate is its Rust spelling, and `include/overt.h` is generated from it. The crate holds
 * `#[repr(C)]` types and constants. It has no dependencies and no behaviour.
 *
 * # The rules
 *
 * 1. **Version first.** A provider exports one function, `OVERT_QUERY_SYMBOL`. The host passes the range of versions it
 *    speaks, the provider picks one or refuses with text, and nothing else is touched before that. The host remembers the
 *    *negotiated* version, because a constant compiled into either side says nothing about the other. Until 1.0 every
 *    layout change raises 0.N, and only equal N load.
 * 2. **Every struct begins with its size** in bytes, as its writer knew it. Fields are only appended. A reader accepts any
 *    size of at least the first version's, reads a missing tail as zero, and never compares sizes for equality. Zero
 *    always means *default*. In an array every element has the size that the first one states, and that is the stride. A writer
 *    into a struct that the other side owns writes no byte beyond its stated size. Structs that grow are embedded nowhere:
 *    they are pointed to, or stand in arrays.
 *    The *atoms* `OvertStr`, `OvertDType`, `OvertValue` and `OvertFact` have no size field and never grow.
 * 3. **Plain C.** Fixed-width integers; no C `bool`, `long`, bit-field or Rust enum crosses the line, since their layout or
 *    their valid values differ between compilers. Closed sets are `uint32_t` with named constants. An unknown value where a
 *    rule is *required* (a clause comparison, a value kind, a flag in a `required` word) is refused; an unknown *optional*
 *    flag is ignored.
 * 4. **No shared allocator.** What one side allocates the other never frees. Strings are pointer and length, UTF-8, not
 *    terminated.
 * 5. **Errors** are an `OvertStatus` and words written to the `OvertSink` that the host passed with the call. There is
 *    no thread-local last error. No unwinding crosses the line in either direction.
 * 6. **Threads.** Each entry of `OvertProviderApi` states who may call it when, whether it may block, and whether it may
 *    call back. The host keeps these promises; a provider need not check them.
 * 7. **The host validates.** Before `OvertProviderApi.launch` the host has checked ranks, dtypes, symbols, bounds, overlap
 *    and the kernel's whole guard. A provider may rely on that, and must still return an error, never crash, on a handle
 *    that it does not know.
 * 8. **Receipts are facts.** A launch states what it really launched. The host counts from receipts alone, so a launch
 *    function that takes another path inside is seen.
 *
 * # What is not promised
 *
 * A provider is native code in the host's process. The ABI makes mistakes visible; it is no sandbox against malice.
 *
 * Generated from `abi/src` by `cargo xtask docs --header`; change it there.
 */

#ifndef OVERT_H
#define OVERT_H

#include <stddef.h>
#include <stdint.h>

/**
 * Marks the one symbol that a provider exports; build everything else with `-fvisibility=hidden`.
 */
#if !defined(OVERT_EXPORT)
#if defined(_WIN32)
#define OVERT_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define OVERT_EXPORT __attribute__((visibility("default")))
#else
#define OVERT_EXPORT
#endif
#endif

/**
 * Whether the struct at `pointer`, of type `type`, is large enough to hold `field`. A field that it does not hold reads as
 * zero, and is not written.
 */
#define OVERT_HAS(pointer, type, field) \
  ((pointer)->size >= offsetof(type, field) + sizeof(((type *)0)->field))

/**
 * Element `index` of the array at `base`, whose elements are of a `type` that begins with its size. The size that the first
 * element states is the stride of the array: `base[index]` is wrong as soon as the other side's struct has grown.
 */
#define OVERT_AT(type, base, index) \
  ((const type *)(const void *)((const unsigned char *)(base) + (size_t)(index) * (base)->size))

/**
 * The one symbol that a provider exports. Its type is `OvertProviderQuery`.
 */
#define OVERT_QUERY_SYMBOL "overt_provider_query"

/**
 * A running provider, made by `provider_create`.
 */
typedef struct OvertInstance OvertInstance;

/**
 * An opened device.
 */
typedef struct OvertDevice OvertDevice;

/**
 * A kernel made ready on one device.
 */
typedef struct OvertKernel OvertKernel;

/**
 * A queue of work on one device, in order.
 */
typedef struct OvertStream OvertStream;

/**
 * A point in a stream.
 */
typedef struct OvertEvent OvertEvent;

/**
 * A captured sequence of work.
 */
typedef struct OvertGraph OvertGraph;

/**
 * Name of the extension `OvertCommandRecorder`.
 */
#define OVERT_EXTENSION_COMMAND_RECORDER "overt.command_recorder"

/**
 * This version of the ABI, as `major << 16 | minor`: 0.1.
 */
#define OVERT_ABI_VERSION 1

/**
 * Not stated, or a language without panics.
 */
#define OVERT_PANIC_UNKNOWN 0

/**
 * Panics unwind and are caught at the edge.
 */
#define OVERT_PANIC_UNWIND 1

/**
 * A panic ends the process.
 */
#define OVERT_PANIC_ABORT 2

/**
 * Signed integer.
 */
#define OVERT_DTYPE_INT 0

/**
 * Unsigned integer.
 */
#define OVERT_DTYPE_UINT 1

/**
 * IEEE 754 binary float: 16, 32 or 64 bits.
 */
#define OVERT_DTYPE_FLOAT 2

/**
 * An opaque handle; carried through DLPack, computed with by nothing.
 */
#define OVERT_DTYPE_OPAQUE 3

/**
 * bfloat16.
 */
#define OVERT_DTYPE_BFLOAT 4

/**
 * Complex; carried through DLPack.
 */
#define OVERT_DTYPE_COMPLEX 5

/**
 * A truth value in 8 bits.
 */
#define OVERT_DTYPE_BOOL 6

/**
 * 8-bit float with 3 exponent bits.
 */
#define OVERT_DTYPE_FP8_E3M4 7

/**
 * 8-bit float e4m3 with IEEE-like infinities.
 */
#define OVERT_DTYPE_FP8_E4M3 8

/**
 * 8-bit float e4m3, bias 11, finite, unsigned zero.
 */
#define OVERT_DTYPE_FP8_E4M3B11FNUZ 9

/**
 * 8-bit float e4m3 as the Open Compute Project defines it: no infinities, one NaN pattern a sign. Largest value 448.
 */
#define OVERT_DTYPE_FP8_E4M3FN 10

/**
 * 8-bit float e4m3 of CDNA3: no infinities, no negative zero, bias 8. Largest value 240. Not the same type as
 * `OVERT_DTYPE_FP8_E4M3FN`: one byte decodes to two different numbers.
 */
#define OVERT_DTYPE_FP8_E4M3FNUZ 11

/**
 * 8-bit float e5m2 with infinities.
 */
#define OVERT_DTYPE_FP8_E5M2 12

/**
 * 8-bit float e5m2 of CDNA3: no infinities, no negative zero, bias 16.
 */
#define OVERT_DTYPE_FP8_E5M2FNUZ 13

/**
 * An 8-bit exponent: a power of two, used as a scale.
 */
#define OVERT_DTYPE_FP8_E8M0FNU 14

/**
 * 6-bit float e2m3.
 */
#define OVERT_DTYPE_FP6_E2M3FN 15

/**
 * 6-bit float e3m2.
 */
#define OVERT_DTYPE_FP6_E3M2FN 16

/**
 * 4-bit float e2m1.
 */
#define OVERT_DTYPE_FP4_E2M1FN 17

/**
 * Block format: 32 elements in 34 bytes (f16 scale, 32 signed bytes).
 */
#define OVERT_DTYPE_Q8_0 128

/**
 * Block format: 32 elements in 18 bytes (f16 scale, 32 nibbles offset by 8).
 */
#define OVERT_DTYPE_Q4_0 129

/**
 * Block format: 32 elements in 20 bytes (f16 scale, f16 minimum, 32 nibbles).
 */
#define OVERT_DTYPE_Q4_1 130

/**
 * Block format: 32 elements in 22 bytes (f16 scale, 32 high bits, 32 nibbles, offset by 16).
 */
#define OVERT_DTYPE_Q5_0 131

/**
 * Block format: 32 elements in 24 bytes (f16 scale, f16 minimum, 32 high bits, 32 nibbles).
 */
#define OVERT_DTYPE_Q5_1 132

/**
 * Block format: 256 elements in 144 bytes (f16 scale and minimum, 6-bit sub-scales, nibbles).
 */
#define OVERT_DTYPE_Q4_K 133

/**
 * Block format: 256 elements in 176 bytes.
 */
#define OVERT_DTYPE_Q5_K 134

/**
 * Block format: 256 elements in 210 bytes (low nibbles, high pairs, signed sub-scales, f16 scale).
 */
#define OVERT_DTYPE_Q6_K 135

/**
 * Block format: 32 elements in 17 bytes (e8m0 scale, 32 e2m1 nibbles).
 */
#define OVERT_DTYPE_MXFP4 136

/**
 * No value: an absent attribute, a fact that is not known.
 */
#define OVERT_VALUE_NONE 0

/**
 * A truth value in `data.i`.
 */
#define OVERT_VALUE_BOOL 1

/**
 * A signed integer in `data.i`.
 */
#define OVERT_VALUE_I64 2

/**
 * A float in `data.f`.
 */
#define OVERT_VALUE_F64 3

/**
 * Text in `data.s`.
 */
#define OVERT_VALUE_STR 4

/**
 * An element type in `data.dtype`.
 */
#define OVERT_VALUE_DTYPE 5

/**
 * Only inside a clause: the name of another fact, whose value is meant. So a threshold can be a knob.
 */
#define OVERT_VALUE_FACT 6

/**
 * An architecture in `data.arch`.
 */
#define OVERT_VALUE_ARCH 7

/**
 * Only inside a clause: a set of architectures in `data.pattern`.
 */
#define OVERT_VALUE_ARCH_PATTERN 8

/**
 * In a pattern: either state will do. On a device: the state is not known.
 */
#define OVERT_FEATURE_ANY 0

/**
 * The feature is present and enabled.
 */
#define OVERT_FEATURE_ON 1

/**
 * The feature is absent or disabled.
 */
#define OVERT_FEATURE_OFF 2

/**
 * This very version and stepping: `sm_90a` runs on 9.0 alone.
 */
#define OVERT_ARCH_EXACT 1

/**
 * The same major version, from this minor up: `sm_80` runs on all of 8.x.
 */
#define OVERT_ARCH_SAME_MAJOR_FROM_MINOR 2

/**
 * This version or any later one of the family: code that a driver compiles at load.
 */
#define OVERT_ARCH_FROM 3

/**
 * Every version of the family.
 */
#define OVERT_ARCH_FAMILY 4

/**
 * The optional operand is not given. All other members but `size` are zero.
 */
#define OVERT_TENSOR_ABSENT 1

/**
 * The kernel must not write through this view.
 */
#define OVERT_TENSOR_READ_ONLY 2

/**
 * The stream is capturing. `launch` records and must not compile, tune, allocate or synchronise.
 */
#define OVERT_CALL_CAPTURING 1

/**
 * The fact equals the value.
 */
#define OVERT_CMP_IS 1

/**
 * The fact differs from the value.
 */
#define OVERT_CMP_IS_NOT 2

/**
 * The fact is one of the values.
 */
#define OVERT_CMP_IN 3

/**
 * The fact is none of the values.
 */
#define OVERT_CMP_NOT_IN 4

/**
 * The fact is at least the value.
 */
#define OVERT_CMP_AT_LEAST 5

/**
 * The fact is at most the value.
 */
#define OVERT_CMP_AT_MOST 6

/**
 * The fact is below the value.
 */
#define OVERT_CMP_BELOW 7

/**
 * The fact is above the value.
 */
#define OVERT_CMP_ABOVE 8

/**
 * The integer fact is a multiple of the value.
 */
#define OVERT_CMP_MULTIPLE_OF 9

/**
 * The architecture fact lies in one of the patterns.
 */
#define OVERT_CMP_ARCH 10

/**
 * Written for speed on some architecture and shape; preferred wherever its guard holds.
 */
#define OVERT_TIER_TUNED 1

/**
 * Fast enough everywhere its broad guard holds.
 */
#define OVERT_TIER_PORTABLE 2

/**
 * Right over the whole schema, at any speed.
 */
#define OVERT_TIER_REFERENCE 3

/**
 * `launch` may be recorded while its stream captures.
 */
#define OVERT_KERNEL_CAPTURE_SAFE 1

/**
 * `launch` allocates device memory.
 */
#define OVERT_KERNEL_ALLOCATES 2

/**
 * `launch` waits for the device.
 */
#define OVERT_KERNEL_HOST_SYNC 4

/**
 * The same call on the same device gives the same bits in every run.
 */
#define OVERT_KERNEL_DETERMINISTIC 8

/**
 * Outputs may be exactly an input of the same shape and strides, where the schema allows it.
 */
#define OVERT_KERNEL_IN_PLACE 16

/**
 * An empty call (an output with no elements) is still to be launched. Without it the host launches nothing then.
 */
#define OVERT_KERNEL_LAUNCH_EMPTY 32

/**
 * Machine code of a device.
 */
#define OVERT_IMAGE_BINARY 1

/**
 * Code that the driver compiles at load; shown as such, since what runs is then the driver's.
 */
#define OVERT_IMAGE_JIT 2

/**
 * Host machine code inside the provider itself.
 */
#define OVERT_IMAGE_HOST 3

/**
 * `registers` is known.
 */
#define OVERT_RESOURCE_REGISTERS 1

/**
 * `scalar_registers` is known.
 */
#define OVERT_RESOURCE_SCALAR_REGISTERS 2

/**
 * `spills` is known.
 */
#define OVERT_RESOURCE_SPILLS 4

/**
 * `scratch_bytes` is known.
 */
#define OVERT_RESOURCE_SCRATCH 8

/**
 * `shared_bytes` is known.
 */
#define OVERT_RESOURCE_SHARED 16

/**
 * `max_block` is known.
 */
#define OVERT_RESOURCE_MAX_BLOCK 32

/**
 * The value is fixed when the instance is made: the host passes it to `provider_create`, and changing it takes a new instance.
 * For what devices and pools depend on: a feature mask, a number of threads, the path of a driver library.
 */
#define OVERT_KNOB_AT_CREATE 1

/**
 * The driver does not say.
 */
#define OVERT_DEVICE_UNKNOWN 0

/**
 * A real device.
 */
#define OVERT_DEVICE_HARDWARE 1

/**
 * A driver that computes on the CPU.
 */
#define OVERT_DEVICE_SOFTWARE 2

/**
 * An interpreter of another device's machine code.
 */
#define OVERT_DEVICE_INTERPRETED 3

/**
 * Every allocation of this device has a `host_address`, equal to its `address`, and the device can address any host memory
 * through an `OVERT_IMPORT_HOST_POINTER`. Declared, never inferred.
 */
#define OVERT_DEVICE_FLAG_HOST_ADDRESSABLE 1

/**
 * `peer_access` and `memory_copy_peer` may be asked.
 */
#define OVERT_DEVICE_FLAG_PEER 2

/**
 * Asks `memory_alloc` for memory with a `host_address`: pinned or mapped, so that copies to and from it need no staging. Required:
 * a provider that cannot give it answers `OVERT_E_UNSUPPORTED`.
 */
#define OVERT_MEMORY_HOST_VISIBLE 1

/**
 * A device pointer. The host keeps it alive until it is released here.
 */
#define OVERT_IMPORT_DEVICE_POINTER 1

/**
 * A host pointer that the device shall address. Provider may refuse.
 */
#define OVERT_IMPORT_HOST_POINTER 2

/**
 * A stream or queue of the driver.
 */
#define OVERT_IMPORT_STREAM 3

/**
 * A context of the driver; taken by `device_open`. The host keeps it alive until the device is closed.
 */
#define OVERT_IMPORT_CONTEXT 4

/**
 * The device can address the peer's memory directly.
 */
#define OVERT_PEER_DIRECT 1

/**
 * The direct path was written and read back, and the bytes were right. Without it the copy is staged through the host.
 */
#define OVERT_PEER_PROVEN 2

/**
 * The result of an entry: `OVERT_OK` or one of the `OVERT_E_…` codes. A code that the reader does not know is an error of
 * an unknown sort, reported by its number.
 */
typedef int32_t OvertStatus;

/**
 * UTF-8 text, pointer and length, not terminated. A zero length allows a null pointer. Unless an entry says otherwise the
 * text of a declaration lives as long as the library, and the text of an argument as long as the call.
 */
typedef struct OvertStr {
  /**
   * First byte, or null when `len` is 0.
   */
  const uint8_t *data;
  /**
   * Length in bytes.
   */
  uint64_t len;
} OvertStr;

/**
 * Where an entry writes its words. Owned by the host, valid for the duration of the call only.
 */
typedef struct OvertSink {
  /**
   * `sizeof(OvertSink)` as the host knows it.
   */
  uint32_t size;
  /**
   * Reserved, zero.
   */
  uint32_t reserved;
  /**
   * Passed back to `write` untouched.
   */
  void *context;
  /**
   * Takes a piece of UTF-8 text; pieces of one call are joined. May be null: then the words are dropped. Threads: the
   * caller's. Does not block, does not call back, does not unwind.
   */
  void (*write)(void *context, struct OvertStr text);
} OvertSink;

/**
 * What the host speaks. This struct, the response, `OvertBuildInfo`, `OvertSink` and `OvertStr` are read before a version is
 * agreed, so they never change but by growing, in every version.
 */
typedef struct OvertQueryRequest {
  /**
   * `sizeof(OvertQueryRequest)` as the host knows it.
   */
  uint32_t size;
  /**
   * The oldest version the host speaks, `major << 16 | minor`.
   */
  uint32_t abi_min;
  /**
   * The newest version the host speaks.
   */
  uint32_t abi_max;
  /**
   * Reserved, zero.
   */
  uint32_t reserved;
  /**
   * Name and version of the host, for messages.
   */
  struct OvertStr host;
  /**
   * Where a refusal's words go. Never null.
   */
  const struct OvertSink *sink;
} OvertQueryRequest;

/**
 * How a library was built.
 */
typedef struct OvertBuildInfo {
  /**
   * `sizeof(OvertBuildInfo)` as the provider knows it.
   */
  uint32_t size;
  /**
   * One of the `OVERT_PANIC_…` modes.
   */
  uint32_t panic_mode;
  /**
   * Compiler and its version.
   */
  struct OvertStr compiler;
  /**
   * Least glibc version that it needs, as `2.36`; empty if unknown.
   */
  struct OvertStr min_glibc;
  /**
   * The sanitizer it was built with, empty for none.
   */
  struct OvertStr sanitizer;
  /**
   * Revision of its sources.
   */
  struct OvertStr revision;
  /**
   * Target triple.
   */
  struct OvertStr target;
  /**
   * Build profile: `release`, `dev`.
   */
  struct OvertStr profile;
} OvertBuildInfo;

/**
 * An element type. Codes below 128 are DLPack's, with its meaning of `bits` and `lanes`. Codes from 128 up are block
 * formats: there `bits` is 0 and `lanes` is 1, and the sizes are the format's own (see the constants).
 */
typedef struct OvertDType {
  /**
   * One of the `OVERT_DTYPE_…` codes.
   */
  uint8_t code;
  /**
   * Bits of one lane; 0 for block formats.
   */
  uint8_t bits;
  /**
   * Lanes of one element, normally 1.
   */
  uint16_t lanes;
} OvertDType;

/**
 * A view: allocation handle and byte offset, and a device address where the backend has one, so that backends that bind
 * buffers by handle fit as well as those that pass pointers.
 *
 * The view's elements are at `byte_offset + bytes(Σ indexᵢ · stridesᵢ)`. The host has checked that every reachable element
 * lies inside the allocation, without overflow, before a provider sees the view.
 */
typedef struct OvertTensor {
  /**
   * `sizeof(OvertTensor)` as the writer knows it.
   */
  uint32_t size;
  /**
   * `OVERT_TENSOR_…` flags.
   */
  uint32_t flags;
  /**
   * Element type.
   */
  struct OvertDType dtype;
  /**
   * Number of dimensions.
   */
  uint32_t rank;
  /**
   * The allocation, as `memory_alloc` or `memory_import` named it; 0 when absent.
   */
  uint64_t handle;
  /**
   * From the start of the allocation to the first element, in bytes.
   */
  uint64_t byte_offset;
  /**
   * Device address of the first element, offset included; 0 where the backend has no addresses.
   */
  uint64_t address;
  /**
   * Size of the whole allocation in bytes.
   */
  uint64_t allocation_bytes;
  /**
   * A power of two that divides the first element's address (or its offset, where there is no address).
   */
  uint64_t alignment;
  /**
   * 0 for the plain layout that `shape` and `strides` describe; otherwise the key of a packed layout that the kernel's
   * `weights_layout` returned. Packed memory is opaque: then `shape` is still the logical one and `strides` are unused.
   */
  uint64_t layout;
  /**
   * `rank` extents, in elements, each at least 0. Null for rank 0. A block format counts elements, not blocks.
   */
  const int64_t *shape;
  /**
   * `rank` strides, in elements, always present, each at least 0. A stride of 0 repeats an element; on an output it occurs
   * only where the extent is at most 1. Null for rank 0. In a block format the last dimension has stride 1 and every other stride
   * is a multiple of the block's elements.
   */
  const int64_t *strides;
} OvertTensor;

/**
 * One feature of an architecture and its state on a device, or the state that an image needs.
 */
typedef struct OvertArchFeature {
  /**
   * `sizeof(OvertArchFeature)` as the writer knows it.
   */
  uint32_t size;
  /**
   * On a device: `OVERT_FEATURE_ON`, `OVERT_FEATURE_OFF` or `OVERT_FEATURE_ANY` for *not stated*. In a pattern: the
   * state that is needed, `ANY` for none.
   */
  uint32_t state;
  /**
   * The name, for example `xnack` or `avx2`.
   */
  struct OvertStr name;
} OvertArchFeature;

/**
 * What a device is: `sm_90`, `gfx1201:xnack-`, `x86-64`.
 */
typedef struct OvertArch {
  /**
   * `sizeof(OvertArch)` as the writer knows it.
   */
  uint32_t size;
  /**
   * Number of `features`.
   */
  uint32_t feature_count;
  /**
   * The name as people write it. Shown, never compared.
   */
  struct OvertStr name;
  /**
   * The family inside which versions compare: `sm`, `gfx`, `x86-64`.
   */
  struct OvertStr family;
  /**
   * Major version: 9 of `sm_90`, 12 of `gfx1201`.
   */
  uint32_t major;
  /**
   * Minor version: 0 of `sm_90`, 0 of `gfx1201`.
   */
  uint32_t minor;
  /**
   * Stepping: 1 of `gfx1201`, 10 of `gfx90a`; 0 where the family has none.
   */
  uint32_t stepping;
  /**
   * Reserved, zero.
   */
  uint32_t reserved;
  /**
   * Features and their states.
   */
  const struct OvertArchFeature *features;
} OvertArch;

/**
 * A set of architectures: what an image runs on, or what a kernel declares.
 */
typedef struct OvertArchPattern {
  /**
   * `sizeof(OvertArchPattern)` as the writer knows it.
   */
  uint32_t size;
  /**
   * One of the `OVERT_ARCH_…` rules.
   */
  uint32_t rule;
  /**
   * Where the rule starts from. Its features are the states needed; a feature that a device does not state fails a needed
   * state, since unknown is not yes.
   */
  const struct OvertArch *arch;
} OvertArchPattern;

/**
 * The payload of an `OvertValue`. Which member is live is stated by `kind`; all others are undefined.
 */
typedef union OvertValueData {
  /**
   * Live for `OVERT_VALUE_BOOL` (0 or 1) and `OVERT_VALUE_I64`.
   */
  int64_t i;
  /**
   * Live for `OVERT_VALUE_F64`.
   */
  double f;
  /**
   * Live for `OVERT_VALUE_STR` and `OVERT_VALUE_FACT`.
   */
  struct OvertStr s;
  /**
   * Live for `OVERT_VALUE_DTYPE`.
   */
  struct OvertDType dtype;
  /**
   * Live for `OVERT_VALUE_ARCH`.
   */
  const struct OvertArch *arch;
  /**
   * Live for `OVERT_VALUE_ARCH_PATTERN`.
   */
  const struct OvertArchPattern *pattern;
} OvertValueData;

/**
 * A typed value: of an attribute, a fact, a knob, or inside a clause. 24 bytes.
 */
typedef struct OvertValue {
  /**
   * One of the `OVERT_VALUE_…` kinds; it says which member of `data` is live.
   */
  uint32_t kind;
  /**
   * Reserved, zero.
   */
  uint32_t reserved;
  /**
   * The value itself.
   */
  union OvertValueData data;
} OvertValue;

/**
 * The operands and attributes of one call. The host owns it and everything it points to, for the duration of the entry; a
 * provider copies what it needs later.
 */
typedef struct OvertCall {
  /**
   * `sizeof(OvertCall)` as the host knows it.
   */
  uint32_t size;
  /**
   * `OVERT_CALL_…` flags.
   */
  uint32_t flags;
  /**
   * Number of operands: inputs in schema order, then outputs in schema order. Absent optional ones are there, flagged.
   */
  uint32_t operand_count;
  /**
   * Number of attributes, always all of the schema's, defaults filled in.
   */
  uint32_t attr_count;
  /**
   * The operands.
   */
  const struct OvertTensor *operands;
  /**
   * The attributes in schema order.
   */
  const struct OvertValue *attrs;
  /**
   * The values of the knobs that the kernel declares, in that order.
   */
  const struct OvertValue *knobs;
  /**
   * Number of `knobs`.
   */
  uint32_t knob_count;
  /**
   * Reserved, zero.
   */
  uint32_t reserved;
  /**
   * Workspace for this launch, at least as large and aligned as `kernel_workspace` asked for; null when it asked for none.
   * Rank 1, `uint8`. Used by one stream at a time; its contents are undefined on entry.
   */
  const struct OvertTensor *workspace;
  /**
   * What `kernel_prepare` returned for this problem, or null when the host did not prepare.
   */
  void *plan;
} OvertCall;

/**
 * An op that a provider's kernels implement.
 */
typedef struct OvertOpDecl {
  /**
   * `sizeof(OvertOpDecl)` as the provider knows it.
   */
  uint32_t size;
  /**
   * Reserved, zero.
   */
  uint32_t reserved;
  /**
   * The name with its version: `matmul_bt.1`, or `provider:op.N` for an op of the provider's own.
   */
  struct OvertStr name;
  /**
   * Digest of the schema that the provider was built for: 64-bit FNV-1a over the schema's canonical text. The host refuses
   * one name with two digests.
   */
  uint64_t digest;
  /**
   * The schema of an op of the provider's own; empty for one of the common ops.
   */
  struct OvertStr schema;
  /**
   * Computes the right answer of an op of the provider's own, or null: then the op is shown as unverified.
   *
   * Every operand of the call is contiguous host memory at `address`: floats of any format as `float64`, integers as they
   * are. Writes the outputs. Threads: any. May take long; does not call back, except the sink.
   */
  OvertStatus (*oracle)(const struct OvertCall *call, const struct OvertSink *sink);
} OvertOpDecl;

/**
 * One test of one fact. A guard is the conjunction of its kernel's clauses.
 */
typedef struct OvertClause {
  /**
   * `sizeof(OvertClause)` as the writer knows it.
   */
  uint32_t size;
  /**
   * One of the `OVERT_CMP_…` comparisons. An unknown one makes the kernel unusable, and says so.
   */
  uint32_t cmp;
  /**
   * The fact's full name: `device.arch`, `query.dtype`, `D`, `attr.softcap`, `knob.attn.decode.kv_splits`.
   */
  struct OvertStr fact;
  /**
   * What the fact is compared with.
   */
  const struct OvertValue *values;
  /**
   * Number of `values`: one, except for `IN`, `NOT_IN` and `ARCH`.
   */
  uint32_t value_count;
  /**
   * Reserved, zero.
   */
  uint32_t reserved;
  /**
   * Where a number comes from, in words: a limit of the hardware, a measurement. May be empty.
   */
  struct OvertStr source;
} OvertClause;

/**
 * A named value known on the host. 40 bytes.
 */
typedef struct OvertFact {
  /**
   * The name without its scope, for example `feature.avx2`; the runtime puts `device.` before it.
   */
  struct OvertStr name;
  /**
   * The value.
   */
  struct OvertValue value;
} OvertFact;

/**
 * One piece of hardware as one provider sees it. Valid until the instance is destroyed.
 */
typedef struct OvertDeviceInfo {
  /**
   * `sizeof(OvertDeviceInfo)` as the provider knows it.
   */
  uint32_t size;
  /**
   * One of the `OVERT_DEVICE_…` kinds, as the driver states it.
   */
  uint32_t kind;
  /**
   * `OVERT_DEVICE_FLAG_…` bits.
   */
  uint32_t flags;
  /**
   * Number of `facts`.
   */
  uint32_t fact_count;
  /**
   * Stable over restarts and equal in every library that sees this device: a UUID or a PCI address, prefixed by which
   * (`uuid:…`, `pci:0000:41:00.0`). Devices are joined by this, never by index.
   */
  struct OvertStr id;
  /**
   * The marketing name.
   */
  struct OvertStr name;
  /**
   * Driver and its version.
   */
  struct OvertStr driver;
  /**
   * PCI address `domain:bus:device.function`, empty if unknown.
   */
  struct OvertStr pci;
  /**
   * What it is.
   */
  const struct OvertArch *arch;
  /**
   * Features and limits, which guards test as `device.<name>`.
   */
  const struct OvertFact *facts;
  /**
   * Memory in bytes, 0 if unknown.
   */
  uint64_t memory_bytes;
} OvertDeviceInfo;

/**
 * A kernel: one implementation of one op.
 */
typedef struct OvertKernelDecl {
  /**
   * `sizeof(OvertKernelDecl)` as the provider knows it.
   */
  uint32_t size;
  /**
   * One of the `OVERT_TIER_…` tiers.
   */
  uint32_t tier;
  /**
   * The stable id `provider/op/name`, the op without its version: `cpu/matmul_bt/avx2`.
   */
  struct OvertStr id;
  /**
   * The op with its version: `matmul_bt.1`.
   */
  struct OvertStr op;
  /**
   * Orders kernels of one tier; higher is preferred.
   */
  int32_t priority;
  /**
   * `OVERT_KERNEL_…` flags. Optional: an unknown one is ignored.
   */
  uint32_t flags;
  /**
   * Flags that the host must understand, or refuse the kernel. None is defined yet.
   */
  uint32_t required;
  /**
   * Number of `handles`.
   */
  uint32_t handles_count;
  /**
   * Attributes and optional operands that the kernel honours at any value. One that is not listed must be at its default
   * (absent, for an operand), or the kernel is rejected.
   */
  const struct OvertStr *handles;
  /**
   * The guard, besides what `handles` and `images` imply.
   */
  const struct OvertClause *clauses;
  /**
   * Number of `clauses`.
   */
  uint32_t clause_count;
  /**
   * Number of `images`.
   */
  uint32_t image_count;
  /**
   * Ids of the images that hold this kernel. The runtime adds the clause that one of them runs on the device.
   */
  const struct OvertStr *images;
  /**
   * Every symbol that a launch of this kernel may report.
   */
  const struct OvertStr *entries;
  /**
   * Number of `entries`, at least one.
   */
  uint32_t entry_count;
  /**
   * Number of `knobs`.
   */
  uint32_t knob_count;
  /**
   * Ids of the knobs whose values `launch` reads, in the order of `OvertCall.knobs`.
   */
  const struct OvertStr *knobs;
  /**
   * Names the class of kernels that give bit-equal rows however the batch is composed. Empty: no such promise.
   */
  struct OvertStr numeric_class;
  /**
   * Not empty: the kernel is declared but was not built, and why.
   */
  struct OvertStr not_built;
  /**
   * What it is, in one line.
   */
  struct OvertStr doc;
  /**
   * A last test that clauses cannot express, or null. Pure: a function of the device's description, the declared facts and
   * nothing else. The device need not be open or even present, and handles and addresses in the call may be 0; alignments
   * hold.
   * Answers `OVERT_OK` or `OVERT_E_REJECTED` with a reason. Threads: any. Does not block, and calls back only the sink.
   */
  OvertStatus (*guard)(const struct OvertDeviceInfo *device, const struct OvertCall *call, const struct OvertSink *sink);
  /**
   * Facts that `guard` reads, so that selections can be cached.
   */
  const struct OvertStr *guard_reads;
  /**
   * Number of `guard_reads`.
   */
  uint32_t guard_read_count;
  /**
   * Number of `must_hold`.
   */
  uint32_t must_hold_count;
  /**
   * Why clauses do not suffice. Needed with `guard`.
   */
  struct OvertStr guard_reason;
  /**
   * Instruction classes that the compiled body must hold, as `arch-family:class`, checked when the provider is built.
   */
  const struct OvertStr *must_hold;
} OvertKernelDecl;

/**
 * What one symbol uses, as its compiler reported it.
 */
typedef struct OvertResources {
  /**
   * `sizeof(OvertResources)` as the provider knows it.
   */
  uint32_t size;
  /**
   * Which members are known: `OVERT_RESOURCE_…` bits. A member whose bit is clear means nothing, not zero.
   */
  uint32_t known;
  /**
   * The symbol.
   */
  struct OvertStr symbol;
  /**
   * Vector (general) registers of a thread.
   */
  uint32_t registers;
  /**
   * Scalar registers of a wave.
   */
  uint32_t scalar_registers;
  /**
   * Spilled registers.
   */
  uint32_t spills;
  /**
   * Scratch (local) memory of a thread, bytes.
   */
  uint32_t scratch_bytes;
  /**
   * Static shared memory of a block, bytes.
   */
  uint32_t shared_bytes;
  /**
   * Largest block, in threads.
   */
  uint32_t max_block;
} OvertResources;

/**
 * Compiled code for a set of architectures.
 */
typedef struct OvertImageDecl {
  /**
   * `sizeof(OvertImageDecl)` as the provider knows it.
   */
  uint32_t size;
  /**
   * One of the `OVERT_IMAGE_…` kinds.
   */
  uint32_t kind;
  /**
   * Unique in the provider: `attn_decode.sm_90a`.
   */
  struct OvertStr id;
  /**
   * SHA-256 of the code; for host code, of its sources and compiler.
   */
  uint8_t digest[32];
  /**
   * What it runs on.
   */
  const struct OvertArchPattern *pattern;
  /**
   * Size of the code in bytes, 0 if unknown.
   */
  uint64_t code_bytes;
  /**
   * Symbols in it.
   */
  const struct OvertStr *symbols;
  /**
   * Resources of its symbols, where the compiler reported them.
   */
  const struct OvertResources *resources;
  /**
   * Number of `symbols`.
   */
  uint32_t symbol_count;
  /**
   * Number of `resources`.
   */
  uint32_t resource_count;
  /**
   * Not empty: declared but not built, and why.
   */
  struct OvertStr not_built;
} OvertImageDecl;

/**
 * A knob's default on some architectures, with where the number comes from.
 */
typedef struct OvertKnobDefault {
  /**
   * `sizeof(OvertKnobDefault)` as the provider knows it.
   */
  uint32_t size;
  /**
   * Reserved, zero.
   */
  uint32_t reserved;
  /**
   * Where it holds.
   */
  const struct OvertArchPattern *pattern;
  /**
   * The default there.
   */
  struct OvertValue value;
  /**
   * Where the number comes from.
   */
  struct OvertStr source;
} OvertKnobDefault;

/**
 * A former name of a knob.
 */
typedef struct OvertKnobFormer {
  /**
   * `sizeof(OvertKnobFormer)` as the provider knows it.
   */
  uint32_t size;
  /**
   * 1: the former name meant the opposite.
   */
  uint32_t inverted;
  /**
   * The former name, as an environment variable or an id.
   */
  struct OvertStr name;
} OvertKnobFormer;

/**
 * A switch that changes what a kernel or a selection does. Only the host's registry reads its origins; a provider gets the
 * value with the call.
 */
typedef struct OvertKnobDecl {
  /**
   * `sizeof(OvertKnobDecl)` as the provider knows it.
   */
  uint32_t size;
  /**
   * The type: `OVERT_VALUE_BOOL`, `I64` or `STR`.
   */
  uint32_t kind;
  /**
   * The id, lower case, dotted: `attn.decode.kv_splits`.
   */
  struct OvertStr id;
  /**
   * One line of documentation.
   */
  struct OvertStr doc;
  /**
   * The default where no entry of `defaults` fits.
   */
  struct OvertValue default_value;
  /**
   * Defaults for architectures, the first that fits.
   */
  const struct OvertKnobDefault *defaults;
  /**
   * Allowed texts of a choice; none for free text.
   */
  const struct OvertStr *choices;
  /**
   * Former names.
   */
  const struct OvertKnobFormer *former;
  /**
   * Number of `defaults`.
   */
  uint32_t default_count;
  /**
   * Number of `choices`.
   */
  uint32_t choice_count;
  /**
   * Number of `former`.
   */
  uint32_t former_count;
  /**
   * `OVERT_KNOB_…` flags.
   */
  uint32_t flags;
  /**
   * Least integer.
   */
  int64_t min;
  /**
   * Greatest integer; with `min` equal to it and both 0, there is no range.
   */
  int64_t max;
} OvertKnobDecl;

/**
 * What the host offers an instance. Lives until `provider_destroy` returns.
 */
typedef struct OvertHost {
  /**
   * `sizeof(OvertHost)` as the host knows it.
   */
  uint32_t size;
  /**
   * The negotiated ABI version.
   */
  uint32_t abi_version;
  /**
   * Passed back to `log` untouched.
   */
  void *context;
  /**
   * Takes one message. Levels: 1 error, 2 warning, 3 information, 4 detail. Threads: any. Does not call back into the
   * provider. May be null.
   */
  void (*log)(void *context, uint32_t level, struct OvertStr text);
} OvertHost;

/**
 * The value of a knob that the provider declared with `OVERT_KNOB_AT_CREATE`. The host passes all of them, defaults filled in.
 */
typedef struct OvertOption {
  /**
   * `sizeof(OvertOption)` as the host knows it.
   */
  uint32_t size;
  /**
   * Reserved, zero.
   */
  uint32_t reserved;
  /**
   * The knob's id.
   */
  struct OvertStr key;
  /**
   * Its value, of the knob's type and inside its range.
   */
  struct OvertValue value;
} OvertOption;

/**
 * A native object that the host brings: an engine's own stream or memory.
 */
typedef struct OvertImport {
  /**
   * `sizeof(OvertImport)` as the host knows it.
   */
  uint32_t size;
  /**
   * One of the `OVERT_IMPORT_…` kinds.
   */
  uint32_t kind;
  /**
   * The native handle or pointer, as an integer. A null stream means the driver's own default stream.
   */
  uint64_t native;
  /**
   * Size in bytes, for memory.
   */
  uint64_t bytes;
} OvertImport;

/**
 * Workspace that a call needs.
 */
typedef struct OvertWorkspaceNeed {
  /**
   * `sizeof(OvertWorkspaceNeed)` as the host knows it.
   */
  uint32_t size;
  /**
   * Reserved, zero.
   */
  uint32_t reserved;
  /**
   * Bytes; 0 for none.
   */
  uint64_t bytes;
  /**
   * Alignment, a power of two; 0 for the device's own.
   */
  uint64_t alignment;
} OvertWorkspaceNeed;

/**
 * The memory of a weight after repacking for one kernel.
 */
typedef struct OvertWeightsLayout {
  /**
   * `sizeof(OvertWeightsLayout)` as the host knows it.
   */
  uint32_t size;
  /**
   * Reserved, zero.
   */
  uint32_t reserved;
  /**
   * Names the layout, never 0. Two kernels that return one key share packed weights. It covers everything that the packed
   * bytes depend on (format, tile, device), so it can be a cache key.
   */
  uint64_t key;
  /**
   * Bytes of the packed weight.
   */
  uint64_t bytes;
  /**
   * Alignment it needs, a power of two; 0 for the device's own.
   */
  uint64_t alignment;
} OvertWeightsLayout;

/**
 * Filled by `launch`, from what it enqueued and not from what it was asked. The host zeroes all but `size` first. It is filled on
 * an error too: when the second of two device launches fails, `launches` is 1, the outputs are undefined, and the host counts
 * the call as enqueued and failed.
 */
typedef struct OvertReceipt {
  /**
   * `sizeof(OvertReceipt)` as the host knows it. A provider writes no byte beyond it.
   */
  uint32_t size;
  /**
   * Device launches enqueued. 0 says that nothing ran, which is right for empty work alone.
   */
  uint32_t launches;
  /**
   * The symbol of the first launch, one of the kernel's `entries`. Lives as long as the kernel is open.
   */
  struct OvertStr entry;
  /**
   * The first eight bytes (as memory holds them) of the digest of the image that holds `entry`.
   */
  uint64_t image_digest;
  /**
   * Grid of the first launch, in blocks; where the backend has none, the number of independent pieces of work.
   */
  uint32_t grid[3];
  /**
   * Block of the first launch, in threads.
   */
  uint32_t block[3];
  /**
   * Dynamic and static shared memory of one block, in bytes.
   */
  uint32_t shared_bytes;
  /**
   * Number of `more`.
   */
  uint32_t more_count;
  /**
   * Symbols of the further launches, where they differ from `entry`. Lives as long as the kernel is open.
   */
  const struct OvertStr *more;
} OvertReceipt;

/**
 * Memory that a device gave out or took in.
 */
typedef struct OvertAllocation {
  /**
   * `sizeof(OvertAllocation)` as the host knows it.
   */
  uint32_t size;
  /**
   * Reserved, zero.
   */
  uint32_t reserved;
  /**
   * Names it to the provider; never 0.
   */
  uint64_t handle;
  /**
   * Device address of its first byte, 0 where the backend has none.
   */
  uint64_t address;
  /**
   * Its size in bytes, at least what was asked for.
   */
  uint64_t bytes;
  /**
   * A power of two that divides its address.
   */
  uint64_t alignment;
  /**
   * Where the host may read and write it whenever no work on it is pending, coherently; 0: it may not. It need not equal
   * `address`.
   */
  uint64_t host_address;
} OvertAllocation;

/**
 * What a replay really did.
 */
typedef struct OvertReplayReceipt {
  /**
   * `sizeof(OvertReplayReceipt)` as the host knows it.
   */
  uint32_t size;
  /**
   * Device launches that this replay enqueued: the sum over the captured ones.
   */
  uint32_t launches;
} OvertReplayReceipt;

/**
 * The entries of a provider.
 *
 * *Required* entries may not be null. An *optional* one that is null means `OVERT_E_UNSUPPORTED`.
 *
 * Unless stated otherwise an entry may be called from any thread, does not wait for the device, may allocate host memory,
 * and calls back nothing but the sink (and, if it likes, the host's log). Objects of different streams may be used from
 * different threads at once: a device, a kernel and a plan are shared by many threads on different streams, and a plan is only
 * read during `launch`. One stream, event or graph is used by one thread at a time, with a happens-before edge when the thread
 * changes. The host opens and closes one kernel or device from one thread at a time. Every out-parameter is written on `OVERT_OK` and untouched otherwise. Closing
 * and destroying entries take null and do nothing; the host closes objects in the reverse order of opening them: plans,
 * graphs, events and streams before kernels, kernels and memory before devices, devices before the instance.
 */
typedef struct OvertProviderApi {
  /**
   * `sizeof(OvertProviderApi)` as the provider knows it.
   */
  uint32_t size;
  /**
   * Reserved, zero.
   */
  uint32_t reserved;
  /**
   * Required. Starts the provider: finds drivers and devices. A provider without its driver or without devices succeeds,
   * lists no device and writes to the sink what it looked for and where. May block on files and drivers. Several instances
   * may live at once, and a thousand one after another.
   */
  OvertStatus (*provider_create)(const struct OvertHost *host,
                                 const struct OvertOption *options,
                                 uint32_t option_count,
                                 struct OvertInstance **instance,
                                 const struct OvertSink *sink);
  /**
   * Required. Ends it, threads included. May block until pending work is done.
   */
  void (*provider_destroy)(struct OvertInstance *instance);
  /**
   * Required. Number of devices; fixed for the life of the instance.
   */
  OvertStatus (*device_count)(struct OvertInstance *instance, uint32_t *count, const struct OvertSink *sink);
  /**
   * Required. Describes a device. What `info` points to lives as long as the instance.
   */
  OvertStatus (*device_info)(struct OvertInstance *instance,
                             uint32_t index,
                             const struct OvertDeviceInfo **info,
                             const struct OvertSink *sink);
  /**
   * Required. Opens a device: contexts, pools. May block on the driver. The host opens a device once an instance. `import` is null,
   * or an `OVERT_IMPORT_CONTEXT` to work in; a provider that has no contexts answers `OVERT_E_UNSUPPORTED` to that.
   */
  OvertStatus (*device_open)(struct OvertInstance *instance,
                             uint32_t index,
                             const struct OvertImport *import,
                             struct OvertDevice **device,
                             const struct OvertSink *sink);
  /**
   * Required. Closes it. May block until pending work is done.
   */
  void (*device_close)(struct OvertDevice *device);
  /**
   * Required. The one-time set-up of a kernel on a device: loads its image, finds its functions. The host calls it once for
   * a kernel and device, from one thread; after a failure it may be called again. May block, compile and allocate. Never
   * called while a stream of the device captures on the calling thread.
   */
  OvertStatus (*kernel_open)(struct OvertDevice *device,
                             uint32_t kernel_index,
                             struct OvertKernel **kernel,
                             const struct OvertSink *sink);
  /**
   * Required. Undoes `kernel_open`. No work of the kernel is pending.
   */
  void (*kernel_close)(struct OvertKernel *kernel);
  /**
   * Optional. Readies a problem: compiles a specialisation, asks a library's heuristic. May block, compile and tune; never
   * called while capturing. The plan depends on shapes, strides, dtypes and attributes of the call, not on its memory. A
   * null plan is a valid answer.
   */
  OvertStatus (*kernel_prepare)(struct OvertKernel *kernel,
                                const struct OvertCall *call,
                                void **plan,
                                const struct OvertSink *sink);
  /**
   * Required with `kernel_prepare`. Releases a plan. No launch that used it is pending.
   */
  void (*kernel_release_plan)(struct OvertKernel *kernel, void *plan);
  /**
   * Optional; null means that no kernel needs workspace. States the workspace of a call. Pure. Allocates nothing.
   */
  OvertStatus (*kernel_workspace)(struct OvertKernel *kernel,
                                  const struct OvertCall *call,
                                  struct OvertWorkspaceNeed *need,
                                  const struct OvertSink *sink);
  /**
   * Optional. The packed layout that the kernel wants for operand number `operand` when it is a weight like `weight`.
   * `OVERT_E_UNSUPPORTED`: it takes the plain layout. Pure. Allocates nothing. `knobs` are the kernel's, as in a call.
   */
  OvertStatus (*weights_layout)(struct OvertKernel *kernel,
                                uint32_t operand,
                                const struct OvertTensor *weight,
                                const struct OvertValue *knobs,
                                uint32_t knob_count,
                                struct OvertWeightsLayout *layout,
                                const struct OvertSink *sink);
  /**
   * Required with `weights_layout`. Enqueues the repacking of `source` into `packed`, whose handle, offset and size are the
   * host's and whose `layout` is the key. Both live until the stream has passed it. The host holds a lock for the weight,
   * so one repacking of one weight runs at a time. The receipt names what was launched; its symbols need
   * not be among the kernel's `entries`.
   */
  OvertStatus (*weights_pack)(struct OvertKernel *kernel,
                              struct OvertStream *stream,
                              uint32_t operand,
                              const struct OvertTensor *source,
                              const struct OvertTensor *packed,
                              const struct OvertValue *knobs,
                              uint32_t knob_count,
                              struct OvertReceipt *receipt,
                              const struct OvertSink *sink);
  /**
   * Required. Enqueues the call on the stream and fills the receipt from what it enqueued. Does not wait for the device
   * (unless the kernel says `OVERT_KERNEL_HOST_SYNC`). Operands, workspace and packed weights live until the stream has
   * passed the launch, or as long as the graph that captured it. On an error the receipt says how many device launches had been
   * enqueued before it: normally none.
   */
  OvertStatus (*launch)(struct OvertKernel *kernel,
                        struct OvertStream *stream,
                        const struct OvertCall *call,
                        struct OvertReceipt *receipt,
                        const struct OvertSink *sink);
  /**
   * Required. Allocates `bytes` (at least 1) aligned to `alignment` (a power of two; 0: the device's own, at least 64). `flags`
   * are `OVERT_MEMORY_…`, all of them required.
   */
  OvertStatus (*memory_alloc)(struct OvertDevice *device,
                              uint64_t bytes,
                              uint64_t alignment,
                              uint32_t flags,
                              struct OvertAllocation *allocation,
                              const struct OvertSink *sink);
  /**
   * Required. Frees an allocation or releases an import. No work on it is pending; the host sees to that.
   */
  void (*memory_free)(struct OvertDevice *device, uint64_t handle);
  /**
   * Optional. Takes in memory that the host or an engine owns.
   */
  OvertStatus (*memory_import)(struct OvertDevice *device,
                               const struct OvertImport *import,
                               struct OvertAllocation *allocation,
                               const struct OvertSink *sink);
  /**
   * Required. Enqueues a copy from host memory. `source` may be reused as soon as the entry returns, so the provider stages
   * what it cannot copy at once; it may block for the staging of large copies, never for earlier work of the stream.
   */
  OvertStatus (*memory_copy_in)(struct OvertStream *stream,
                                uint64_t handle,
                                uint64_t byte_offset,
                                const void *source,
                                uint64_t bytes,
                                const struct OvertSink *sink);
  /**
   * Optional. Enqueues a copy to host memory that stays valid until the stream has passed it.
   */
  OvertStatus (*memory_copy_out)(struct OvertStream *stream,
                                 uint64_t handle,
                                 uint64_t byte_offset,
                                 void *target,
                                 uint64_t bytes,
                                 const struct OvertSink *sink);
  /**
   * Required. Copies to host memory after all work before it on the stream; **blocks** until the bytes are there. Flushes what
   * is pending, and reports its failure as `OVERT_E_ASYNC`. Never called while capturing.
   */
  OvertStatus (*memory_copy_out_sync)(struct OvertStream *stream,
                                      uint64_t handle,
                                      uint64_t byte_offset,
                                      void *target,
                                      uint64_t bytes,
                                      const struct OvertSink *sink);
  /**
   * Required. Enqueues a copy between two allocations of the stream's device. The ranges do not overlap.
   */
  OvertStatus (*memory_copy)(struct OvertStream *stream,
                             uint64_t target,
                             uint64_t target_offset,
                             uint64_t source,
                             uint64_t source_offset,
                             uint64_t bytes,
                             const struct OvertSink *sink);
  /**
   * Required. Enqueues filling with one byte.
   */
  OvertStatus (*memory_fill)(struct OvertStream *stream,
                             uint64_t handle,
                             uint64_t byte_offset,
                             uint8_t value,
                             uint64_t bytes,
                             const struct OvertSink *sink);
  /**
   * Optional. Whether `device` can address the memory of `peer`, a device of the same instance, as `OVERT_PEER_…` bits. Probes
   * by a write and a read back, so it may block. When the driver says yes and the probe says no, the sink gets the reason.
   */
  OvertStatus (*peer_access)(struct OvertDevice *device,
                             struct OvertDevice *peer,
                             uint32_t *access,
                             const struct OvertSink *sink);
  /**
   * Optional. Enqueues on the target device's stream a copy from an allocation of `source_device`. Directly where the path is
   * proven, else staged through host memory by the provider. Work on the source is complete or ordered before by an event.
   */
  OvertStatus (*memory_copy_peer)(struct OvertStream *stream,
                                  uint64_t target,
                                  uint64_t target_offset,
                                  struct OvertDevice *source_device,
                                  uint64_t source,
                                  uint64_t source_offset,
                                  uint64_t bytes,
                                  const struct OvertSink *sink);
  /**
   * Required. Makes a stream.
   */
  OvertStatus (*stream_create)(struct OvertDevice *device, struct OvertStream **stream, const struct OvertSink *sink);
  /**
   * Optional. Takes in a native stream. A null one becomes the driver's own default stream, on which capture is refused.
   */
  OvertStatus (*stream_import)(struct OvertDevice *device,
                               const struct OvertImport *import,
                               struct OvertStream **stream,
                               const struct OvertSink *sink);
  /**
   * Required. Destroys a stream. **Blocks** until its pending work is done; an imported native stream itself is left alone.
   */
  void (*stream_destroy)(struct OvertStream *stream);
  /**
   * Required. Hands what was enqueued to the device without waiting.
   */
  OvertStatus (*stream_flush)(struct OvertStream *stream, const struct OvertSink *sink);
  /**
   * Required. `OVERT_OK` when all work is done, `OVERT_E_NOT_READY` when not, or the failure of that work, which stays to be
   * reported by `stream_sync`. Flushes.
   */
  OvertStatus (*stream_query)(struct OvertStream *stream, const struct OvertSink *sink);
  /**
   * Required. **Blocks** until all work is done and reports its first failure once; after that the stream works again, unless
   * the device is lost.
   */
  OvertStatus (*stream_sync)(struct OvertStream *stream, const struct OvertSink *sink);
  /**
   * Required. Later work of the stream waits, on the device, for the event. The event may belong to another stream or, where
   * the provider can, another device of the instance.
   */
  OvertStatus (*stream_wait_event)(struct OvertStream *stream, struct OvertEvent *event, const struct OvertSink *sink);
  /**
   * Required. Makes an event, not recorded.
   */
  OvertStatus (*event_create)(struct OvertDevice *device, struct OvertEvent **event, const struct OvertSink *sink);
  /**
   * Required. Destroys it.
   */
  void (*event_destroy)(struct OvertEvent *event);
  /**
   * Required. Enqueues the event and flushes, so that whoever waits for it need not touch this stream; recording it again
   * moves it. One thread an event at a time.
   */
  OvertStatus (*event_record)(struct OvertEvent *event, struct OvertStream *stream, const struct OvertSink *sink);
  /**
   * Required. `OVERT_OK` when passed, `OVERT_E_NOT_READY` when not, `OVERT_E_INVALID` when never recorded (as in every
   * entry that waits for or measures it).
   */
  OvertStatus (*event_query)(struct OvertEvent *event, const struct OvertSink *sink);
  /**
   * Required. **Blocks** until it is passed.
   */
  OvertStatus (*event_sync)(struct OvertEvent *event, const struct OvertSink *sink);
  /**
   * Required. Device time between two passed events in nanoseconds. `OVERT_E_NOT_READY` while one is pending.
   */
  OvertStatus (*event_elapsed)(struct OvertEvent *start,
                               struct OvertEvent *end,
                               double *nanoseconds,
                               const struct OvertSink *sink);
  /**
   * Optional. From here on `launch`, `memory_copy` and `memory_fill` on the stream are recorded and not run. Every other entry
   * that takes this stream, but for `capture_end` and `capture_abort`, answers `OVERT_E_CAPTURE` and leaves the capture valid; so
   * does a launch that cannot be recorded. `OVERT_E_CAPTURE` on a stream that cannot capture.
   */
  OvertStatus (*capture_begin)(struct OvertStream *stream, const struct OvertSink *sink);
  /**
   * Required with `capture_begin`. Ends recording and makes a graph ready to replay. May block and allocate. On an error the
   * capture has ended too, and is forgotten.
   */
  OvertStatus (*capture_end)(struct OvertStream *stream, struct OvertGraph **graph, const struct OvertSink *sink);
  /**
   * Required with `capture_begin`. Ends recording and forgets it.
   */
  void (*capture_abort)(struct OvertStream *stream);
  /**
   * Required with `capture_begin`. Enqueues the whole graph on a stream of its device and fills the receipt. One graph is replayed
   * on one stream at a time, since its workspace is one.
   */
  OvertStatus (*graph_replay)(struct OvertGraph *graph,
                              struct OvertStream *stream,
                              struct OvertReplayReceipt *receipt,
                              const struct OvertSink *sink);
  /**
   * Required with `capture_begin`. Destroys a graph. No replay is pending.
   */
  void (*graph_destroy)(struct OvertGraph *graph);
  /**
   * Optional. An extension by name, or null. Both sides know what the name stands for; see `docs/abi.md`.
   */
  const void *(*extension)(struct OvertInstance *instance, struct OvertStr name);
} OvertProviderApi;

/**
 * Everything that a provider declares. Static: it and all it points to live as long as the library, and never change.
 */
typedef struct OvertProvider {
  /**
   * `sizeof(OvertProvider)` as the provider knows it.
   */
  uint32_t size;
  /**
   * Flags that the host must understand, or refuse the provider. None is defined yet.
   */
  uint32_t required;
  /**
   * The provider's name, the first part of its kernels' ids and of its devices' names: `[a-z][a-z0-9_]*`.
   */
  struct OvertStr name;
  /**
   * Its version.
   */
  struct OvertStr version;
  /**
   * Ops it implements or brings.
   */
  const struct OvertOpDecl *ops;
  /**
   * Kernels. Their index here is their number in `kernel_open`.
   */
  const struct OvertKernelDecl *kernels;
  /**
   * Images.
   */
  const struct OvertImageDecl *images;
  /**
   * Knobs.
   */
  const struct OvertKnobDecl *knobs;
  /**
   * Number of `ops`.
   */
  uint32_t op_count;
  /**
   * Number of `kernels`.
   */
  uint32_t kernel_count;
  /**
   * Number of `images`.
   */
  uint32_t image_count;
  /**
   * Number of `knobs`.
   */
  uint32_t knob_count;
  /**
   * The entries.
   */
  const struct OvertProviderApi *api;
} OvertProvider;

/**
 * The provider's answer. The host zeroes all but `size`; the provider writes no byte beyond it.
 */
typedef struct OvertQueryResponse {
  /**
   * In: `sizeof(OvertQueryResponse)` as the host knows it.
   */
  uint32_t size;
  /**
   * The version that the provider chose inside the host's range; on refusal, the newest that it speaks.
   */
  uint32_t abi_version;
  /**
   * How the library was built, null if not stated. May be set on refusal too.
   */
  const struct OvertBuildInfo *build;
  /**
   * The declarations and entries, in the layout of `abi_version`. Null on refusal. Lives as long as the library.
   */
  const struct OvertProvider *provider;
} OvertQueryResponse;

/**
 * The type of the exported function. Threads: any; it may be called again, also at once, since two hosts may live in one
 * process, and gives the same pointers each time. It may not block on anything
 * outside the process, and reads no environment. It touches no struct but these two before it has chosen a version.
 */
typedef OvertStatus (*OvertProviderQuery)(const struct OvertQueryRequest *request, struct OvertQueryResponse *response);

/**
 * The type of `OvertKernelDecl.guard`.
 */
typedef OvertStatus (*OvertGuardCallback)(const struct OvertDeviceInfo *device,
                                          const struct OvertCall *call,
                                          const struct OvertSink *sink);

/**
 * The type of `OvertOpDecl.oracle`.
 */
typedef OvertStatus (*OvertOracle)(const struct OvertCall *call, const struct OvertSink *sink);

/**
 * Extension `overt.command_recorder`: an observer independent of receipts, for tests. The provider records a command at the
 * moment its queue executes it.
 */
typedef struct OvertCommandRecorder {
  /**
   * `sizeof(OvertCommandRecorder)` as the provider knows it.
   */
  uint32_t size;
  /**
   * Reserved, zero.
   */
  uint32_t reserved;
  /**
   * Starts recording on every stream of the instance, forgetting what was recorded.
   */
  OvertStatus (*start)(struct OvertInstance *instance);
  /**
   * Stops recording and hands over each executed command in order of execution.
   */
  OvertStatus (*stop)(struct OvertInstance *instance, void *context, void (*each)(void *context, struct OvertStr symbol));
} OvertCommandRecorder;

/**
 * Success. Every out-parameter has been written.
 */
#define OVERT_OK 0

/**
 * No common ABI version, or a size below the first version's.
 */
#define OVERT_E_ABI 1

/**
 * An argument breaks the entry's stated rule: null where a pointer is needed, an index or handle that does not exist.
 */
#define OVERT_E_INVALID 2

/**
 * The provider cannot do this at all: the entry or the feature is absent.
 */
#define OVERT_E_UNSUPPORTED 3

/**
 * Memory of the device or the host ran out. Nothing has changed; a smaller request may succeed.
 */
#define OVERT_E_OUT_OF_MEMORY 4

/**
 * The device is gone. Everything opened on it is dead and may only be closed.
 */
#define OVERT_E_DEVICE_LOST 5

/**
 * The launch was refused or failed. With this code from `launch` nothing was enqueued.
 */
#define OVERT_E_LAUNCH 6

/**
 * An earlier asynchronous operation failed; reported by a synchronising entry.
 */
#define OVERT_E_ASYNC 7

/**
 * Work is still pending: the answer of a query that does not block. Not a failure.
 */
#define OVERT_E_NOT_READY 8

/**
 * Inside a capture: this needs `kernel_prepare` first. The capture stays valid.
 */
#define OVERT_E_PREPARE_FIRST 9

/**
 * Not allowed while capturing, or on a stream that cannot capture. The capture stays valid.
 */
#define OVERT_E_CAPTURE 10

/**
 * A guard callback says no. Its words in the sink are the reason.
 */
#define OVERT_E_REJECTED 11

/**
 * A library, driver or file that the provider needs is missing or too old.
 */
#define OVERT_E_MISSING 12

/**
 * The provider panicked or threw; the edge caught it. The object it happened on is to be closed.
 */
#define OVERT_E_PANIC 13

/**
 * Any other failure; the words say which.
 */
#define OVERT_E_INTERNAL 14

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The function that a provider defines and exports, under the name `OVERT_QUERY_SYMBOL`. Its rules are those of
 * `OvertProviderQuery`.
 */
OVERT_EXPORT OvertStatus overt_provider_query(const OvertQueryRequest *request, OvertQueryResponse *response);

#ifdef __cplusplus
}
#endif

#endif /* OVERT_H */
