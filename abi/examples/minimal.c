/*
 * A whole provider in plain C11, written against overt.h alone: one device, one op, two kernels.
 *
 *   gcc -std=c11 -Wall -Wextra -pedantic -Werror -O2 -shared -fPIC -fvisibility=hidden -I../include minimal.c -o libminimal.so
 *
 * The device is the CPU behind a made-up architecture, so that every rule of the contract can be shown and nothing has to be
 * installed. It is synchronous: a stream runs each piece of work inside the entry that enqueues it, so nothing is ever
 * pending. Capture, workspace, plans and packed weights are optional entries, and stay null.
 *
 * Read from the bottom: the query, the declarations, the table of entries, the entries, the kernels.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime; C11 has no monotonic clock */

#include "overt.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>

#define STR(text) {(const uint8_t *)(text), sizeof(text) - 1}
#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

/* Writes one message to the sink of a call. The text is copied by the host before `write` returns. */
__attribute__((format(printf, 2, 3))) static void say(const OvertSink *sink, const char *format, ...) {
  if (sink == NULL || !OVERT_HAS(sink, OvertSink, write) || sink->write == NULL) {
    return;
  }
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (length > 0) {
    size_t written = (size_t)length < sizeof text ? (size_t)length : sizeof text - 1;
    OvertStr words = {(const uint8_t *)text, written};
    sink->write(sink->context, words);
  }
}

/* ---- Kernels ----------------------------------------------------------------------------------------------------------- */

/*
 * Everything that runs on the 'device' lies in a section of its own, between two labels, so that the image's digest is taken
 * over the very code that runs. (The linker would name the section's ends by itself, but export those names, and a provider
 * exports one symbol.) The compiler may emit functions in any order: the first label stands before all of them because
 * assembler text at file scope comes first, the second behind all of them because it is in a later subsection.
 */
#define KERNEL __attribute__((noinline, section("minimal_image")))
__asm__(".pushsection minimal_image, 0, \"ax\"\nminimal_image_begin:\n.popsection\n"
        ".pushsection minimal_image, 1, \"ax\"\nminimal_image_end:\n.popsection\n");
extern const unsigned char minimal_image_begin[] __attribute__((visibility("hidden")));
extern const unsigned char minimal_image_end[] __attribute__((visibility("hidden")));

/* One operand as a kernel reads it: rank 2, strides in elements. */
typedef struct {
  unsigned char *data;
  OvertDType dtype;
  int64_t strides[2];
} View;

typedef void (*Body)(int64_t rows, int64_t columns, View a, View b, View out);

/* f32 rows without gaps. memcpy and not a float pointer: nothing in the guard asks for alignment. */
KERNEL static void minimal_add_f32_contiguous(int64_t rows, int64_t columns, View a, View b, View out) {
  uint64_t count = (uint64_t)rows * (uint64_t)columns;
  for (uint64_t i = 0; i < count; ++i) {
    float x, y;
    memcpy(&x, a.data + i * sizeof x, sizeof x);
    memcpy(&y, b.data + i * sizeof y, sizeof y);
    x += y;
    memcpy(out.data + i * sizeof x, &x, sizeof x);
  }
}

/* The element as a double. Every f32, f16 and bf16 has one exactly. */
KERNEL static double widen(const unsigned char *at, OvertDType dtype) {
  if (dtype.code == OVERT_DTYPE_FLOAT && dtype.bits == 32) {
    float value;
    memcpy(&value, at, sizeof value);
    return value;
  }
  uint16_t half;
  memcpy(&half, at, sizeof half);
  if (dtype.code == OVERT_DTYPE_BFLOAT) {
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
  }
  uint64_t sign = (uint64_t)(half >> 15) << 63;
  uint64_t exponent = (half >> 10) & 31;
  uint64_t mantissa = half & 1023;
  if (exponent == 0) {
    double value = (double)mantissa * 0x1p-24;
    return sign != 0 ? -value : value;
  }
  uint64_t bits = sign | (exponent == 31 ? (uint64_t)2047 : exponent - 15 + 1023) << 52 | mantissa << 42;
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* A double rounded to nearest, ties to even, to a 16-bit format with this many bits of exponent and mantissa. */
KERNEL static uint16_t narrow(double value, int exponent_bits, int mantissa_bits) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  uint64_t sign = bits >> 63 << 15;
  uint64_t exponent = bits >> 52 & 2047;
  uint64_t mantissa = bits & (((uint64_t)1 << 52) - 1);
  uint64_t infinity = (((uint64_t)1 << exponent_bits) - 1) << mantissa_bits;
  if (exponent == 2047) {
    uint64_t quiet = mantissa == 0 ? 0 : (uint64_t)1 << (mantissa_bits - 1) | mantissa >> (52 - mantissa_bits);
    return (uint16_t)(sign | infinity | quiet);
  }
  if (exponent == 0) {
    return (uint16_t)sign; /* a subnormal double is far below half of the least subnormal of any 16-bit format */
  }
  mantissa |= (uint64_t)1 << 52;
  int biased = (int)exponent - 1023 + (1 << (exponent_bits - 1)) - 1;
  int shift = 52 - mantissa_bits + (biased < 1 ? 1 - biased : 0);
  if (shift > 54) {
    return (uint16_t)sign;
  }
  uint64_t kept = mantissa >> shift;
  uint64_t dropped = mantissa & (((uint64_t)1 << shift) - 1);
  uint64_t half = (uint64_t)1 << (shift - 1);
  if (dropped > half || (dropped == half && (kept & 1) != 0)) {
    ++kept; /* may carry into the exponent, which is what the encoding wants */
  }
  uint64_t encoded = kept + (biased < 1 ? 0 : (uint64_t)(biased - 1) << mantissa_bits);
  return (uint16_t)(sign | (encoded < infinity ? encoded : infinity));
}

/* The whole schema: any strides, every float format, and operands of different formats. */
KERNEL static void minimal_add_strided(int64_t rows, int64_t columns, View a, View b, View out) {
  int64_t a_bytes = a.dtype.bits / 8, b_bytes = b.dtype.bits / 8, out_bytes = out.dtype.bits / 8;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      double sum = widen(a.data + (row * a.strides[0] + column * a.strides[1]) * a_bytes, a.dtype) +
                   widen(b.data + (row * b.strides[0] + column * b.strides[1]) * b_bytes, b.dtype);
      unsigned char *at = out.data + (row * out.strides[0] + column * out.strides[1]) * out_bytes;
      if (out.dtype.bits == 32) {
        float value = (float)sum;
        memcpy(at, &value, sizeof value);
      } else {
        int wide = out.dtype.code == OVERT_DTYPE_BFLOAT;
        uint16_t value = narrow(sum, wide ? 8 : 5, wide ? 7 : 10);
        memcpy(at, &value, sizeof value);
      }
    }
  }
}

/* In the order of the declarations below. */
static const struct {
  Body body;
  OvertStr symbol;
} bodies[] = {
    {minimal_add_f32_contiguous, STR("minimal_add_f32_contiguous")},
    {minimal_add_strided, STR("minimal_add_strided")},
};

/* ---- Objects ----------------------------------------------------------------------------------------------------------- */

typedef struct {
  unsigned char *data; /* null: the slot is free */
  uint64_t bytes;
  uint32_t generation; /* counts the slot's uses, so that a handle that was freed is not mistaken for its successor */
  uint32_t owned;      /* made by memory_alloc, not imported */
} Slot;

/* Declared further down; its digest is filled when the provider is queried. */
static OvertImageDecl images[1];

struct OvertDevice {
  mtx_t lock; /* guards the slots: any thread may allocate */
  Slot *slots;
  uint32_t slot_count;
};

struct OvertInstance {
  uint32_t device_count;
};

struct OvertKernel {
  OvertDevice *device;
  uint32_t index;
};

struct OvertStream {
  OvertDevice *device;
};

struct OvertEvent {
  uint32_t recorded; /* 0 until the first event_record */
  struct timespec when;
};

static const OvertArch arch = {
    .size = sizeof(OvertArch), .name = STR("example_1"), .family = STR("example"), .major = 1, .minor = 0};

static const OvertDeviceInfo device_info = {
    .size = sizeof(OvertDeviceInfo),
    .kind = OVERT_DEVICE_SOFTWARE, /* it computes on the CPU, and says so */
    .flags = OVERT_DEVICE_FLAG_HOST_ADDRESSABLE,
    .id = STR("uuid:6d696e69-6d61-4c63-8000-000000000001"),
    .name = STR("Example device in plain C"),
    .driver = STR("minimal 0.1.0"),
    .arch = &arch,
};

/* ---- Provider and devices ---------------------------------------------------------------------------------------------- */

static OvertStatus provider_create(const OvertHost *host, const OvertOption *options, uint32_t option_count,
                                   OvertInstance **instance, const OvertSink *sink) {
  if (host == NULL || instance == NULL) {
    say(sink, "provider_create: host and instance may not be null");
    return OVERT_E_INVALID;
  }
  if (option_count != 0) {
    const OvertOption *option = OVERT_AT(OvertOption, options, 0);
    say(sink, "minimal declares no knobs for provider_create; got `%.*s`", (int)option->key.len,
        (const char *)option->key.data);
    return OVERT_E_INVALID;
  }
  OvertInstance *made = malloc(sizeof *made);
  if (made == NULL) {
    return OVERT_E_OUT_OF_MEMORY;
  }
  made->device_count = 1;
  *instance = made;
  return OVERT_OK;
}

static void provider_destroy(OvertInstance *instance) { free(instance); }

static OvertStatus device_count(OvertInstance *instance, uint32_t *count, const OvertSink *sink) {
  if (instance == NULL || count == NULL) {
    say(sink, "device_count: instance and count may not be null");
    return OVERT_E_INVALID;
  }
  *count = instance->device_count;
  return OVERT_OK;
}

static OvertStatus device_describe(OvertInstance *instance, uint32_t index, const OvertDeviceInfo **info,
                                   const OvertSink *sink) {
  if (instance == NULL || info == NULL || index >= instance->device_count) {
    say(sink, "device_info: no device %u; there is 1", (unsigned)index);
    return OVERT_E_INVALID;
  }
  *info = &device_info;
  return OVERT_OK;
}

static OvertStatus device_open(OvertInstance *instance, uint32_t index, const OvertImport *import, OvertDevice **device,
                               const OvertSink *sink) {
  if (instance == NULL || device == NULL || index >= instance->device_count) {
    say(sink, "device_open: no device %u; there is 1", (unsigned)index);
    return OVERT_E_INVALID;
  }
  if (import != NULL) {
    say(sink, "device_open: minimal has no contexts to import");
    return OVERT_E_UNSUPPORTED;
  }
  OvertDevice *made = calloc(1, sizeof *made);
  if (made == NULL) {
    return OVERT_E_OUT_OF_MEMORY;
  }
  if (mtx_init(&made->lock, mtx_plain) != thrd_success) {
    free(made);
    say(sink, "device_open: no mutex to be had");
    return OVERT_E_INTERNAL;
  }
  *device = made;
  return OVERT_OK;
}

static void device_close(OvertDevice *device) {
  if (device != NULL) {
    for (uint32_t i = 0; i < device->slot_count; ++i) {
      if (device->slots[i].owned) {
        free(device->slots[i].data);
      }
    }
    free(device->slots);
    mtx_destroy(&device->lock);
    free(device);
  }
}

/* ---- Memory ------------------------------------------------------------------------------------------------------------ */

/* Names memory. A handle is the slot's generation above its number plus one, so that 0 is never a handle. */
static OvertStatus register_memory(OvertDevice *device, Slot slot, uint64_t *handle, const OvertSink *sink) {
  mtx_lock(&device->lock);
  uint32_t number = 0;
  while (number < device->slot_count && device->slots[number].data != NULL) {
    ++number;
  }
  if (number == device->slot_count) {
    uint32_t grown = device->slot_count == 0 ? 16 : device->slot_count * 2;
    Slot *slots = grown > device->slot_count ? realloc(device->slots, grown * sizeof *slots) : NULL;
    if (slots == NULL) {
      mtx_unlock(&device->lock);
      say(sink, "no host memory for the table of %u allocations", (unsigned)grown);
      return OVERT_E_OUT_OF_MEMORY;
    }
    memset(slots + device->slot_count, 0, (grown - device->slot_count) * sizeof *slots);
    device->slots = slots;
    device->slot_count = grown;
  }
  slot.generation = device->slots[number].generation + 1;
  device->slots[number] = slot;
  mtx_unlock(&device->lock);
  *handle = (uint64_t)slot.generation << 32 | (number + 1);
  return OVERT_OK;
}

/* The slot of a handle, or null. The lock is held. */
static Slot *slot_of(OvertDevice *device, uint64_t handle) {
  uint64_t number = (handle & UINT32_MAX) - 1;
  if (number >= device->slot_count) {
    return NULL;
  }
  Slot *slot = &device->slots[number];
  return slot->data != NULL && slot->generation == handle >> 32 ? slot : NULL;
}

/* The memory behind a range of an allocation. The host has checked the range; a handle may still be stale. */
static OvertStatus resolve(OvertDevice *device, uint64_t handle, uint64_t offset, uint64_t bytes, const char *what,
                           unsigned char **data, const OvertSink *sink) {
  mtx_lock(&device->lock);
  Slot *slot = slot_of(device, handle);
  Slot found = {0};
  if (slot != NULL) {
    found = *slot;
  }
  mtx_unlock(&device->lock);
  if (found.data == NULL) {
    say(sink, "%s: no allocation has the handle %#llx", what, (unsigned long long)handle);
    return OVERT_E_INVALID;
  }
  if (offset > found.bytes || bytes > found.bytes - offset) {
    say(sink, "%s: %llu bytes at %llu reach beyond the allocation's %llu", what, (unsigned long long)bytes,
        (unsigned long long)offset, (unsigned long long)found.bytes);
    return OVERT_E_INVALID;
  }
  *data = found.data + offset;
  return OVERT_OK;
}

/* Fills the host's struct. `size` is the host's and stays. */
static void describe_memory(OvertAllocation *allocation, uint64_t handle, const Slot *slot, uint64_t alignment) {
  allocation->handle = handle;
  allocation->address = (uint64_t)(uintptr_t)slot->data;
  allocation->bytes = slot->bytes;
  allocation->alignment = alignment;
  allocation->host_address = allocation->address;
}

static OvertStatus memory_alloc(OvertDevice *device, uint64_t bytes, uint64_t alignment, uint32_t flags,
                                OvertAllocation *allocation, const OvertSink *sink) {
  if (device == NULL || allocation == NULL || bytes == 0 || (alignment & (alignment - 1)) != 0 ||
      !OVERT_HAS(allocation, OvertAllocation, host_address)) {
    say(sink, "memory_alloc: needs a device, a struct of this ABI version, at least one byte and a power of two");
    return OVERT_E_INVALID;
  }
  if ((flags & ~(uint32_t)OVERT_MEMORY_HOST_VISIBLE) != 0) {
    say(sink, "memory_alloc: flags %#x are not known", (unsigned)flags);
    return OVERT_E_UNSUPPORTED;
  }
  if (alignment < 64) {
    alignment = 64;
  }
  /* aligned_alloc takes a multiple of the alignment; what is larger than half of the address space has no multiple that fits. */
  if (bytes > SIZE_MAX / 2 || alignment > SIZE_MAX / 4) {
    say(sink, "memory_alloc: %llu bytes aligned to %llu are more than there can be", (unsigned long long)bytes,
        (unsigned long long)alignment);
    return OVERT_E_OUT_OF_MEMORY;
  }
  Slot slot = {.bytes = bytes, .owned = 1};
  slot.data = aligned_alloc((size_t)alignment, (size_t)((bytes + alignment - 1) & ~(alignment - 1)));
  if (slot.data == NULL) {
    say(sink, "memory_alloc: %llu bytes are not to be had", (unsigned long long)bytes);
    return OVERT_E_OUT_OF_MEMORY;
  }
  uint64_t handle;
  OvertStatus status = register_memory(device, slot, &handle, sink);
  if (status != OVERT_OK) {
    free(slot.data);
    return status;
  }
  describe_memory(allocation, handle, &slot, alignment);
  return OVERT_OK;
}

static void memory_free(OvertDevice *device, uint64_t handle) {
  if (device == NULL) {
    return;
  }
  mtx_lock(&device->lock);
  Slot *slot = slot_of(device, handle);
  if (slot != NULL) {
    if (slot->owned) {
      free(slot->data);
    }
    slot->data = NULL;
    slot->owned = 0;
  }
  mtx_unlock(&device->lock);
}

static OvertStatus memory_import(OvertDevice *device, const OvertImport *import, OvertAllocation *allocation,
                                 const OvertSink *sink) {
  if (device == NULL || import == NULL || allocation == NULL || !OVERT_HAS(allocation, OvertAllocation, host_address)) {
    say(sink, "memory_import: needs a device, an import and a struct of this ABI version");
    return OVERT_E_INVALID;
  }
  /* A pointer of this device is a host pointer, so both kinds are one. */
  if (import->kind != OVERT_IMPORT_HOST_POINTER && import->kind != OVERT_IMPORT_DEVICE_POINTER) {
    say(sink, "memory_import: kind %u is neither a host nor a device pointer", (unsigned)import->kind);
    return OVERT_E_UNSUPPORTED;
  }
  if (import->native == 0 || import->bytes == 0 || import->native > UINTPTR_MAX - import->bytes) {
    say(sink, "memory_import: %llu bytes at %#llx are no range of memory", (unsigned long long)import->bytes,
        (unsigned long long)import->native);
    return OVERT_E_INVALID;
  }
  Slot slot = {.data = (unsigned char *)(uintptr_t)import->native, .bytes = import->bytes};
  uint64_t handle;
  OvertStatus status = register_memory(device, slot, &handle, sink);
  if (status == OVERT_OK) {
    describe_memory(allocation, handle, &slot, import->native & (~import->native + 1));
  }
  return status;
}

static OvertStatus memory_copy_in(OvertStream *stream, uint64_t handle, uint64_t byte_offset, const void *source,
                                  uint64_t bytes, const OvertSink *sink) {
  if (stream == NULL || (source == NULL && bytes != 0)) {
    say(sink, "memory_copy_in: needs a stream and a source");
    return OVERT_E_INVALID;
  }
  unsigned char *data;
  OvertStatus status = resolve(stream->device, handle, byte_offset, bytes, "memory_copy_in", &data, sink);
  if (status == OVERT_OK && bytes != 0) {
    memcpy(data, source, (size_t)bytes);
  }
  return status;
}

/* Both forms of copying out: where nothing is ever pending, waiting is all the same. */
static OvertStatus memory_copy_out(OvertStream *stream, uint64_t handle, uint64_t byte_offset, void *target,
                                   uint64_t bytes, const OvertSink *sink) {
  if (stream == NULL || (target == NULL && bytes != 0)) {
    say(sink, "memory_copy_out: needs a stream and a target");
    return OVERT_E_INVALID;
  }
  unsigned char *data;
  OvertStatus status = resolve(stream->device, handle, byte_offset, bytes, "memory_copy_out", &data, sink);
  if (status == OVERT_OK && bytes != 0) {
    memcpy(target, data, (size_t)bytes);
  }
  return status;
}

static OvertStatus memory_copy(OvertStream *stream, uint64_t target, uint64_t target_offset, uint64_t source,
                               uint64_t source_offset, uint64_t bytes, const OvertSink *sink) {
  if (stream == NULL) {
    say(sink, "memory_copy: needs a stream");
    return OVERT_E_INVALID;
  }
  unsigned char *to, *from;
  OvertStatus status = resolve(stream->device, target, target_offset, bytes, "memory_copy, target", &to, sink);
  if (status == OVERT_OK) {
    status = resolve(stream->device, source, source_offset, bytes, "memory_copy, source", &from, sink);
  }
  if (status == OVERT_OK) {
    memmove(to, from, (size_t)bytes); /* the host promises no overlap; memmove costs nothing and cannot go wrong */
  }
  return status;
}

static OvertStatus memory_fill(OvertStream *stream, uint64_t handle, uint64_t byte_offset, uint8_t value, uint64_t bytes,
                               const OvertSink *sink) {
  if (stream == NULL) {
    say(sink, "memory_fill: needs a stream");
    return OVERT_E_INVALID;
  }
  unsigned char *data;
  OvertStatus status = resolve(stream->device, handle, byte_offset, bytes, "memory_fill", &data, sink);
  if (status == OVERT_OK) {
    memset(data, value, (size_t)bytes);
  }
  return status;
}

/* ---- Streams and events ------------------------------------------------------------------------------------------------ */

static OvertStatus stream_create(OvertDevice *device, OvertStream **stream, const OvertSink *sink) {
  if (device == NULL || stream == NULL) {
    say(sink, "stream_create: device and stream may not be null");
    return OVERT_E_INVALID;
  }
  OvertStream *made = malloc(sizeof *made);
  if (made == NULL) {
    return OVERT_E_OUT_OF_MEMORY;
  }
  made->device = device;
  *stream = made;
  return OVERT_OK;
}

static void stream_destroy(OvertStream *stream) { free(stream); }

/* Flush, query and synchronise are one: by the time an entry returns its work is done. */
static OvertStatus stream_done(OvertStream *stream, const OvertSink *sink) {
  if (stream == NULL) {
    say(sink, "the stream may not be null");
    return OVERT_E_INVALID;
  }
  return OVERT_OK;
}

static OvertStatus event_create(OvertDevice *device, OvertEvent **event, const OvertSink *sink) {
  if (device == NULL || event == NULL) {
    say(sink, "event_create: device and event may not be null");
    return OVERT_E_INVALID;
  }
  OvertEvent *made = calloc(1, sizeof *made);
  if (made == NULL) {
    return OVERT_E_OUT_OF_MEMORY;
  }
  *event = made;
  return OVERT_OK;
}

static void event_destroy(OvertEvent *event) { free(event); }

static OvertStatus event_record(OvertEvent *event, OvertStream *stream, const OvertSink *sink) {
  if (event == NULL || stream == NULL) {
    say(sink, "event_record: event and stream may not be null");
    return OVERT_E_INVALID;
  }
  if (clock_gettime(CLOCK_MONOTONIC, &event->when) != 0) {
    say(sink, "event_record: the monotonic clock cannot be read");
    return OVERT_E_INTERNAL;
  }
  event->recorded = 1;
  return OVERT_OK;
}

/* A recorded event is a passed one. */
static OvertStatus event_passed(OvertEvent *event, const OvertSink *sink) {
  if (event == NULL || !event->recorded) {
    say(sink, "the event was never recorded");
    return OVERT_E_INVALID;
  }
  return OVERT_OK;
}

static OvertStatus stream_wait_event(OvertStream *stream, OvertEvent *event, const OvertSink *sink) {
  OvertStatus status = stream_done(stream, sink);
  return status == OVERT_OK ? event_passed(event, sink) : status;
}

static OvertStatus event_elapsed(OvertEvent *start, OvertEvent *end, double *nanoseconds, const OvertSink *sink) {
  if (nanoseconds == NULL) {
    say(sink, "event_elapsed: nanoseconds may not be null");
    return OVERT_E_INVALID;
  }
  OvertStatus status = event_passed(start, sink);
  if (status == OVERT_OK) {
    status = event_passed(end, sink);
  }
  if (status == OVERT_OK) {
    *nanoseconds = (double)(end->when.tv_sec - start->when.tv_sec) * 1e9 + (double)(end->when.tv_nsec - start->when.tv_nsec);
  }
  return status;
}

/* ---- Launching --------------------------------------------------------------------------------------------------------- */

static OvertStatus kernel_open(OvertDevice *device, uint32_t kernel_index, OvertKernel **kernel, const OvertSink *sink) {
  if (device == NULL || kernel == NULL || kernel_index >= COUNT(bodies)) {
    say(sink, "kernel_open: no kernel %u; there are %u", (unsigned)kernel_index, (unsigned)COUNT(bodies));
    return OVERT_E_INVALID;
  }
  OvertKernel *made = malloc(sizeof *made);
  if (made == NULL) {
    return OVERT_E_OUT_OF_MEMORY;
  }
  made->device = device;
  made->index = kernel_index;
  *kernel = made;
  return OVERT_OK;
}

static void kernel_close(OvertKernel *kernel) { free(kernel); }

static int is_float(OvertDType dtype) {
  return dtype.lanes == 1 && ((dtype.code == OVERT_DTYPE_FLOAT && (dtype.bits == 32 || dtype.bits == 16)) ||
                              (dtype.code == OVERT_DTYPE_BFLOAT && dtype.bits == 16));
}

static int is_f32(OvertDType dtype) { return dtype.code == OVERT_DTYPE_FLOAT && dtype.bits == 32 && dtype.lanes == 1; }

/* Bytes from the first element to the end of the last. 0: negative strides, or more than can be counted. */
static uint64_t reach(const OvertTensor *tensor) {
  int64_t last = 0;
  for (uint32_t i = 0; i < tensor->rank; ++i) {
    int64_t step;
    if (tensor->strides[i] < 0 || __builtin_mul_overflow(tensor->shape[i] - 1, tensor->strides[i], &step) ||
        __builtin_add_overflow(last, step, &last)) {
      return 0;
    }
  }
  uint64_t bytes;
  return __builtin_mul_overflow((uint64_t)last + 1, (uint64_t)(tensor->dtype.bits / 8), &bytes) ? 0 : bytes;
}

/* Rows without gaps. The stride of a dimension of one element or none means nothing. */
static int is_contiguous(const OvertTensor *tensor) {
  return (tensor->shape[1] <= 1 || tensor->strides[1] == 1) &&
         (tensor->shape[0] <= 1 || tensor->strides[0] == tensor->shape[1]);
}

static const char *const operand_names[] = {"a", "b", "out"};

/*
 * The host has bound the operands to the schema and evaluated the guard. The checks here are those that keep the process
 * whole under a host with a fault: shapes that do not fit each other, dtypes that the body would misread, stale handles.
 */
static OvertStatus launch(OvertKernel *kernel, OvertStream *stream, const OvertCall *call, OvertReceipt *receipt,
                          const OvertSink *sink) {
  if (kernel == NULL || stream == NULL || call == NULL || receipt == NULL || kernel->device != stream->device ||
      !OVERT_HAS(receipt, OvertReceipt, more)) {
    say(sink, "launch: needs a kernel and a stream of one device, a call and a receipt of this ABI version");
    return OVERT_E_INVALID;
  }
  if (call->operand_count != 3 || call->attr_count != 0 || call->operands == NULL) {
    say(sink, "add.1 has 3 operands and no attributes; got %u and %u", (unsigned)call->operand_count,
        (unsigned)call->attr_count);
    return OVERT_E_INVALID;
  }
  const OvertTensor *tensors[3];
  for (uint32_t i = 0; i < 3; ++i) {
    const OvertTensor *tensor = tensors[i] = OVERT_AT(OvertTensor, call->operands, i);
    if ((tensor->flags & OVERT_TENSOR_ABSENT) != 0 || tensor->rank != 2 || tensor->layout != 0 || !is_float(tensor->dtype) ||
        tensor->shape[0] < 0 || tensor->shape[1] < 0 || tensor->shape[0] != tensors[0]->shape[0] ||
        tensor->shape[1] != tensors[0]->shape[1]) {
      say(sink, "add.1, operand `%s`: needs a plain float tensor [T,D] like `a`", operand_names[i]);
      return OVERT_E_INVALID;
    }
    if (kernel->index == 0 && (!is_f32(tensor->dtype) || !is_contiguous(tensor))) {
      say(sink, "minimal/add/contiguous, operand `%s`: needs contiguous f32", operand_names[i]);
      return OVERT_E_INVALID;
    }
  }
  if (memcmp(&tensors[2]->dtype, &tensors[0]->dtype, sizeof(OvertDType)) != 0 ||
      (tensors[2]->flags & OVERT_TENSOR_READ_ONLY) != 0) {
    say(sink, "add.1, operand `out`: needs the dtype of `a`, and to be writable");
    return OVERT_E_INVALID;
  }
  int64_t rows = tensors[0]->shape[0], columns = tensors[0]->shape[1];
  if (rows == 0 || columns == 0) {
    return OVERT_OK; /* the receipt stays as the host zeroed it: no launch, which is right for empty work alone */
  }
  View views[3];
  for (uint32_t i = 0; i < 3; ++i) {
    uint64_t bytes = reach(tensors[i]);
    if (bytes == 0) {
      say(sink, "add.1, operand `%s`: strides are negative or reach too far", operand_names[i]);
      return OVERT_E_INVALID;
    }
    OvertStatus status = resolve(kernel->device, tensors[i]->handle, tensors[i]->byte_offset, bytes, operand_names[i],
                                 &views[i].data, sink);
    if (status != OVERT_OK) {
      return status;
    }
    views[i].dtype = tensors[i]->dtype;
    memcpy(views[i].strides, tensors[i]->strides, sizeof views[i].strides);
  }
  bodies[kernel->index].body(rows, columns, views[0], views[1], views[2]);

  /* From what was launched, after it was. */
  receipt->launches = 1;
  receipt->entry = bodies[kernel->index].symbol;
  memcpy(&receipt->image_digest, images[0].digest, sizeof receipt->image_digest);
  receipt->grid[0] = rows < (int64_t)UINT32_MAX ? (uint32_t)rows : UINT32_MAX;
  receipt->grid[1] = receipt->grid[2] = 1;
  receipt->block[0] = receipt->block[1] = receipt->block[2] = 1;
  receipt->shared_bytes = 0;
  receipt->more_count = 0;
  receipt->more = NULL;
  return OVERT_OK;
}

/* ---- Declarations ------------------------------------------------------------------------------------------------------ */

static const OvertProviderApi api = {
    .size = sizeof(OvertProviderApi),
    .provider_create = provider_create,
    .provider_destroy = provider_destroy,
    .device_count = device_count,
    .device_info = device_describe,
    .device_open = device_open,
    .device_close = device_close,
    .kernel_open = kernel_open,
    .kernel_close = kernel_close,
    .launch = launch,
    .memory_alloc = memory_alloc,
    .memory_free = memory_free,
    .memory_import = memory_import,
    .memory_copy_in = memory_copy_in,
    .memory_copy_out = memory_copy_out,
    .memory_copy_out_sync = memory_copy_out,
    .memory_copy = memory_copy,
    .memory_fill = memory_fill,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_flush = stream_done,
    .stream_query = stream_done,
    .stream_sync = stream_done,
    .stream_wait_event = stream_wait_event,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_query = event_passed,
    .event_sync = event_passed,
    .event_elapsed = event_elapsed,
};

/* The schema that the kernels were written for. Only its digest goes to the host, which has the text itself. */
static const char add_schema[] =
    "add.1(a: float[T,D], b: float[T,D]) -> out: like a[T,D] may_alias(a, b)";

static OvertOpDecl ops[] = {{.size = sizeof(OvertOpDecl), .name = STR("add.1")}};

static const OvertArchPattern any_example = {.size = sizeof(OvertArchPattern), .rule = OVERT_ARCH_FAMILY, .arch = &arch};

static const OvertStr image_symbols[] = {STR("minimal_add_f32_contiguous"), STR("minimal_add_strided")};

static OvertImageDecl images[1] = {{
    .size = sizeof(OvertImageDecl),
    .kind = OVERT_IMAGE_HOST,
    .id = STR("minimal.example"),
    .pattern = &any_example,
    .symbols = image_symbols,
    .symbol_count = COUNT(image_symbols),
}};

static const OvertValue f32_value[] = {
    {.kind = OVERT_VALUE_DTYPE, .data = {.dtype = {.code = OVERT_DTYPE_FLOAT, .bits = 32, .lanes = 1}}}};
static const OvertValue true_value[] = {{.kind = OVERT_VALUE_BOOL, .data = {.i = 1}}};

#define IS(name, expected) \
  {.size = sizeof(OvertClause), .cmp = OVERT_CMP_IS, .fact = STR(name), .values = (expected), .value_count = 1}

/* `out` has the dtype of `a` by the schema. */
static const OvertClause contiguous_clauses[] = {
    IS("a.dtype", f32_value),         IS("b.dtype", f32_value),          IS("a.contiguous", true_value),
    IS("b.contiguous", true_value),   IS("out.contiguous", true_value),
};

static const OvertStr kernel_images[] = {STR("minimal.example")};

#define FLAGS (OVERT_KERNEL_DETERMINISTIC | OVERT_KERNEL_IN_PLACE | OVERT_KERNEL_HOST_SYNC)

static const OvertKernelDecl kernels[] = {
    {
        .size = sizeof(OvertKernelDecl),
        .tier = OVERT_TIER_PORTABLE,
        .id = STR("minimal/add/contiguous"),
        .op = STR("add.1"),
        .flags = FLAGS,
        .clauses = contiguous_clauses,
        .clause_count = COUNT(contiguous_clauses),
        .image_count = COUNT(kernel_images),
        .images = kernel_images,
        .entries = &image_symbols[0],
        .entry_count = 1,
        .numeric_class = STR("minimal/add"),
        .doc = STR("One loop over f32 rows without gaps"),
    },
    {
        .size = sizeof(OvertKernelDecl),
        .tier = OVERT_TIER_REFERENCE,
        .id = STR("minimal/add/strided"),
        .op = STR("add.1"),
        .flags = FLAGS,
        .image_count = COUNT(kernel_images),
        .images = kernel_images,
        .entries = &image_symbols[1],
        .entry_count = 1,
        .numeric_class = STR("minimal/add"),
        .doc = STR("Any strides and float formats, summed in double and rounded once"),
    },
};

static const OvertProvider provider = {
    .size = sizeof(OvertProvider),
    .name = STR("minimal"),
    .version = STR("0.1.0"),
    .ops = ops,
    .kernels = kernels,
    .images = images,
    .op_count = COUNT(ops),
    .kernel_count = COUNT(kernels),
    .image_count = COUNT(images),
    .api = &api,
};

static const OvertBuildInfo build = {
    .size = sizeof(OvertBuildInfo),
    .panic_mode = OVERT_PANIC_UNKNOWN,
#if defined(__clang__)
    .compiler = STR("clang " __VERSION__),
#else
    .compiler = STR("gcc " __VERSION__),
#endif
#if defined(__x86_64__) && defined(__linux__)
    .target = STR("x86_64-unknown-linux-gnu"),
#elif defined(__aarch64__) && defined(__linux__)
    .target = STR("aarch64-unknown-linux-gnu"),
#endif
};

/* ---- Digests ----------------------------------------------------------------------------------------------------------- */

static int is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static int is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/*
 * 64-bit FNV-1a over a schema's canonical text: white space between two bytes of names or numbers is one space, any other is
 * dropped. (Quoted text, which the canonical form keeps as it is, does not occur here.)
 */
static uint64_t schema_digest(const char *text) {
  uint64_t hash = 0xcbf29ce484222325u;
  char previous = '\0';
  int spaced = 0;
  for (; *text != '\0'; ++text) {
    if (is_space(*text)) {
      spaced = 1;
      continue;
    }
    if (spaced && is_word(previous) && is_word(*text)) {
      hash = (hash ^ (uint8_t)' ') * 0x100000001b3u;
    }
    hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
    previous = *text;
    spaced = 0;
  }
  return hash;
}

static uint32_t rotate(uint32_t value, int by) { return value >> by | value << (32 - by); }

/* One block of SHA-256 (FIPS 180-4). */
static void sha256_block(uint32_t state[8], const uint8_t block[64]) {
  static const uint32_t k[64] = {
      0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
      0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
      0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
      0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
      0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
      0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
      0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
      0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
  };
  uint32_t w[64];
  for (int i = 0; i < 16; ++i) {
    const uint8_t *b = block + 4 * i;
    w[i] = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
  }
  for (int i = 16; i < 64; ++i) {
    uint32_t x = w[i - 15], y = w[i - 2];
    w[i] = w[i - 16] + w[i - 7] + (rotate(x, 7) ^ rotate(x, 18) ^ x >> 3) + (rotate(y, 17) ^ rotate(y, 19) ^ y >> 10);
  }
  uint32_t v[8];
  memcpy(v, state, sizeof v);
  for (int i = 0; i < 64; ++i) {
    uint32_t e = v[4], a = v[0];
    uint32_t one = v[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & v[5]) ^ (~e & v[6])) + k[i] + w[i];
    uint32_t two = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
    memmove(v + 1, v, 7 * sizeof *v);
    v[4] += one;
    v[0] = one + two;
  }
  for (int i = 0; i < 8; ++i) {
    state[i] += v[i];
  }
}

static void sha256(const uint8_t *data, size_t bytes, uint8_t digest[32]) {
  uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  size_t whole = bytes / 64 * 64;
  for (size_t at = 0; at < whole; at += 64) {
    sha256_block(state, data + at);
  }
  uint8_t tail[128] = {0};
  size_t rest = bytes - whole, padded = rest < 56 ? 64 : 128;
  memcpy(tail, data + whole, rest);
  tail[rest] = 0x80;
  for (int i = 0; i < 8; ++i) {
    tail[padded - 1 - i] = (uint8_t)((uint64_t)bytes * 8 >> 8 * i);
  }
  for (size_t at = 0; at < padded; at += 64) {
    sha256_block(state, tail + at);
  }
  for (int i = 0; i < 32; ++i) {
    digest[i] = (uint8_t)(state[i / 4] >> (24 - i % 4 * 8));
  }
}

/* ---- The query --------------------------------------------------------------------------------------------------------- */

static once_flag once = ONCE_FLAG_INIT;

static void fill_digests(void) {
  ops[0].digest = schema_digest(add_schema);
  images[0].code_bytes = (uint64_t)(minimal_image_end - minimal_image_begin);
  sha256(minimal_image_begin, (size_t)images[0].code_bytes, images[0].digest);
}

OvertStatus overt_provider_query(const OvertQueryRequest *request, OvertQueryResponse *response) {
  if (request == NULL || response == NULL) {
    return OVERT_E_INVALID;
  }
  /* No version is agreed yet, so not even these two structs are taken for granted: their sizes come first. */
  if (!OVERT_HAS(request, OvertQueryRequest, sink) || !OVERT_HAS(response, OvertQueryResponse, provider)) {
    return OVERT_E_ABI;
  }
  response->build = &build;
  response->abi_version = OVERT_ABI_VERSION;
  if (request->abi_min > OVERT_ABI_VERSION || request->abi_max < OVERT_ABI_VERSION) {
    say(request->sink, "minimal speaks ABI %d.%d; the host speaks %u.%u to %u.%u", OVERT_ABI_VERSION >> 16,
        OVERT_ABI_VERSION & 0xffff, (unsigned)(request->abi_min >> 16), (unsigned)(request->abi_min & 0xffff),
        (unsigned)(request->abi_max >> 16), (unsigned)(request->abi_max & 0xffff));
    return OVERT_E_ABI;
  }
  /* A process may hold two hosts, and either may ask at any time. */
  call_once(&once, fill_digests);
  response->provider = &provider;
  return OVERT_OK;
}
