/*
 * A provider that loads properly, and can be built to be wrong in one way at a time.
 *
 * Without any -D it is a correct provider of one kernel and no device. Each macro below spoils one thing; the tests name it.
 * Text macros hold a C string literal, number macros an integer constant.
 *
 *   NAME, VERSION               the provider's name and version
 *   NAME_NOT_UTF8               its name holds a byte that is no UTF-8
 *   ANSWER_VERSION              the ABI version it answers with, whatever the host offers
 *   REFUSE                      it refuses with words
 *   REFUSE_WORDS_WILD           the words of the refusal are at an address that is not mapped
 *   RESPONSE_SIZE               it overwrites the size of the response
 *   WRITE_BEYOND                it writes past the response
 *   NULL_PROVIDER               it says OK and hands over no provider
 *   SLOW_MS                     its query takes that many milliseconds
 *   BUILD_SIZE, BUILD_GLIBC, BUILD_SANITIZER, BUILD_TARGET   build facts
 *   PROVIDER_SIZE, API_SIZE, KERNEL_SIZE, CLAUSE_SIZE        sizes
 *   PROVIDER_REQUIRED, KERNEL_REQUIRED                       required flags
 *   NULL_API, NULL_KERNELS, NULL_ENTRY, NULL_CLAUSES, NULL_OPS, NULL_ARCH   null pointers where something must be
 *   NULL_CAPTURE_END            capture without the entries that it makes necessary
 *   KERNELS_AT                  the kernel table is at this address
 *   KERNEL_COUNT                so many kernels are claimed
 *   KERNEL_ID, KERNEL_OP, KERNEL_TIER, KERNEL_NAME_LEN       fields of the first kernel
 *   DUPLICATE_ID                the second kernel has the first one's id
 *   CLAUSE_CMP, CLAUSE_KIND, CLAUSE_VALUES                   fields of the first kernel's clause
 *   NO_ENTRIES                  the first kernel declares no symbol
 *   IMAGE_NAMED                 the first kernel names an image of this id
 *   IMAGE_DECLARED              an image of this id is declared
 *   IMAGE_RULE, IMAGE_KIND      fields of that image
 *   KNOB_DEFAULT                a knob of the range 1 to 8 with this default
 *   NEWER                       every kernel has a tail that this header does not know
 *   NO_SYMBOL                   it exports another function
 *   NEEDS_MISSING               it calls a function of another library, which the test removes
 *   MARKER                      a constructor creates this file
 *   EXIT_MARKER                 an exit handler and a destructor each append a line to this file
 *   INTERNAL                    the value of a global symbol that other providers define too
 */
#define _POSIX_C_SOURCE 200809L
#include "overt.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef NAME
#define NAME "hostile"
#endif
#ifndef VERSION
#define VERSION "1.0"
#endif
#ifndef KERNEL_OP
#define KERNEL_OP "add.1"
#endif
#ifndef KERNEL_ID
#define KERNEL_ID NAME "/add/first"
#endif
#ifndef KERNEL_TIER
#define KERNEL_TIER OVERT_TIER_PORTABLE
#endif
#ifndef KERNEL_REQUIRED
#define KERNEL_REQUIRED 0
#endif
#ifndef KERNEL_SIZE
#define KERNEL_SIZE sizeof(OvertKernelDecl)
#endif
#ifndef CLAUSE_CMP
#define CLAUSE_CMP OVERT_CMP_AT_LEAST
#endif
#ifndef CLAUSE_KIND
#define CLAUSE_KIND OVERT_VALUE_I64
#endif
#ifndef CLAUSE_VALUES
#define CLAUSE_VALUES 1
#endif
#ifndef CLAUSE_SIZE
#define CLAUSE_SIZE sizeof(OvertClause)
#endif

#define TEXT(literal) {(const uint8_t *)(literal), sizeof(literal) - 1}

/* Symbols that another provider may define too. Exported on purpose: isolation has to hold without the help of hiding. */
#ifdef INTERNAL
__attribute__((visibility("default"))) const char *overt_hostile_internal = INTERNAL;
__attribute__((visibility("default"))) const char *overt_hostile_internal_text(void);
const char *overt_hostile_internal_text(void) { return overt_hostile_internal; }
#endif

#ifdef NEEDS_MISSING
int overt_hostile_elsewhere(void);
#endif

#ifdef MARKER
__attribute__((constructor)) static void mark(void) {
    FILE *file = fopen(MARKER, "w");
    if (file) fclose(file);
}
#endif

#ifdef EXIT_MARKER
static void append(const char *line) {
    FILE *file = fopen(EXIT_MARKER, "a");
    if (!file) return;
    fputs(line, file);
    fclose(file);
}
static void at_exit(void) { append("exit handler\n"); }
__attribute__((constructor)) static void register_exit(void) { atexit(at_exit); }
__attribute__((destructor)) static void destruct(void) { append("destructor\n"); }
#endif

/* Entries. There is no device, so none but the first four is ever reached. */

static int alive;

static OvertStatus provider_create(const OvertHost *host, const OvertOption *options, uint32_t option_count, OvertInstance **instance,
                                   const OvertSink *sink) {
    (void)host, (void)options, (void)option_count, (void)sink;
    *instance = (OvertInstance *)&alive;
    return OVERT_OK;
}
static void provider_destroy(OvertInstance *instance) { (void)instance; }
static OvertStatus device_count(OvertInstance *instance, uint32_t *count, const OvertSink *sink) {
    (void)instance, (void)sink;
    *count = 0;
    return OVERT_OK;
}
static OvertStatus device_info(OvertInstance *instance, uint32_t index, const OvertDeviceInfo **info, const OvertSink *sink) {
    (void)instance, (void)index, (void)info, (void)sink;
    return OVERT_E_INVALID;
}
static OvertStatus device_open(OvertInstance *instance, uint32_t index, const OvertImport *context, OvertDevice **device,
                               const OvertSink *sink) {
    (void)instance, (void)index, (void)context, (void)device, (void)sink;
    return OVERT_E_INVALID;
}
static void device_close(OvertDevice *device) { (void)device; }
static OvertStatus kernel_open(OvertDevice *device, uint32_t index, OvertKernel **kernel, const OvertSink *sink) {
    (void)device, (void)index, (void)kernel, (void)sink;
    return OVERT_E_INVALID;
}
static void kernel_close(OvertKernel *kernel) { (void)kernel; }
#ifndef NULL_ENTRY
static OvertStatus launch(OvertKernel *kernel, OvertStream *stream, const OvertCall *call, OvertReceipt *receipt,
                          const OvertSink *sink) {
    (void)kernel, (void)stream, (void)call, (void)receipt, (void)sink;
    return OVERT_E_INVALID;
}
#endif
static OvertStatus memory_alloc(OvertDevice *device, uint64_t bytes, uint64_t alignment, uint32_t flags,
                                OvertAllocation *allocation, const OvertSink *sink) {
    (void)device, (void)bytes, (void)alignment, (void)flags, (void)allocation, (void)sink;
    return OVERT_E_INVALID;
}
static void memory_free(OvertDevice *device, uint64_t handle) { (void)device, (void)handle; }
static OvertStatus memory_copy_in(OvertStream *stream, uint64_t handle, uint64_t byte_offset, const void *source, uint64_t bytes,
                                  const OvertSink *sink) {
    (void)stream, (void)handle, (void)byte_offset, (void)source, (void)bytes, (void)sink;
    return OVERT_E_INVALID;
}
static OvertStatus memory_copy_out_sync(OvertStream *stream, uint64_t handle, uint64_t byte_offset, void *target, uint64_t bytes,
                                        const OvertSink *sink) {
    (void)stream, (void)handle, (void)byte_offset, (void)target, (void)bytes, (void)sink;
    return OVERT_E_INVALID;
}
static OvertStatus memory_copy(OvertStream *stream, uint64_t target, uint64_t target_offset, uint64_t source, uint64_t source_offset,
                               uint64_t bytes, const OvertSink *sink) {
    (void)stream, (void)target, (void)target_offset, (void)source, (void)source_offset, (void)bytes, (void)sink;
    return OVERT_E_INVALID;
}
static OvertStatus memory_fill(OvertStream *stream, uint64_t handle, uint64_t byte_offset, uint8_t value, uint64_t bytes,
                               const OvertSink *sink) {
    (void)stream, (void)handle, (void)byte_offset, (void)value, (void)bytes, (void)sink;
    return OVERT_E_INVALID;
}
static OvertStatus stream_create(OvertDevice *device, OvertStream **stream, const OvertSink *sink) {
    (void)device, (void)stream, (void)sink;
    return OVERT_E_INVALID;
}
static void stream_destroy(OvertStream *stream) { (void)stream; }
static OvertStatus on_stream(OvertStream *stream, const OvertSink *sink) {
    (void)stream, (void)sink;
    return OVERT_E_INVALID;
}
static OvertStatus stream_wait_event(OvertStream *stream, OvertEvent *event, const OvertSink *sink) {
    (void)stream, (void)event, (void)sink;
    return OVERT_E_INVALID;
}
static OvertStatus event_create(OvertDevice *device, OvertEvent **event, const OvertSink *sink) {
    (void)device, (void)event, (void)sink;
    return OVERT_E_INVALID;
}
static void event_destroy(OvertEvent *event) { (void)event; }
static OvertStatus event_record(OvertEvent *event, OvertStream *stream, const OvertSink *sink) {
    (void)event, (void)stream, (void)sink;
    return OVERT_E_INVALID;
}
static OvertStatus on_event(OvertEvent *event, const OvertSink *sink) {
    (void)event, (void)sink;
    return OVERT_E_INVALID;
}
static OvertStatus event_elapsed(OvertEvent *start, OvertEvent *end, double *nanoseconds, const OvertSink *sink) {
    (void)start, (void)end, (void)nanoseconds, (void)sink;
    return OVERT_E_INVALID;
}

static const OvertProviderApi api = {
#ifdef API_SIZE
    .size = API_SIZE,
#else
    .size = sizeof(OvertProviderApi),
#endif
    .provider_create = provider_create,
    .provider_destroy = provider_destroy,
    .device_count = device_count,
    .device_info = device_info,
    .device_open = device_open,
    .device_close = device_close,
    .kernel_open = kernel_open,
    .kernel_close = kernel_close,
#ifndef NULL_ENTRY
    .launch = launch,
#endif
    .memory_alloc = memory_alloc,
    .memory_free = memory_free,
    .memory_copy_in = memory_copy_in,
    .memory_copy_out_sync = memory_copy_out_sync,
    .memory_copy = memory_copy,
    .memory_fill = memory_fill,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_flush = on_stream,
    .stream_query = on_stream,
    .stream_sync = on_stream,
    .stream_wait_event = stream_wait_event,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_query = on_event,
    .event_sync = on_event,
    .event_elapsed = event_elapsed,
#ifdef NULL_CAPTURE_END
    .capture_begin = on_stream,
#endif
};

/* Declarations. */

static const OvertOpDecl ops[] = {{
    .size = sizeof(OvertOpDecl),
    .name = TEXT("add.1"),
    .digest = 1,
}};

static const OvertValue values[] = {
    {.kind = CLAUSE_KIND, .data = {.i = 1}},
    {.kind = CLAUSE_KIND, .data = {.i = 2}},
};

static const OvertClause clauses[] = {{
    .size = CLAUSE_SIZE,
    .cmp = CLAUSE_CMP,
    .fact = TEXT("device.feature.width"),
    .values = values,
    .value_count = CLAUSE_VALUES,
    .source = TEXT("a test"),
}};

static const OvertStr entries[] = {TEXT("hostile_add")};

#ifdef IMAGE_NAMED
static const OvertStr named_images[] = {TEXT(IMAGE_NAMED)};
#endif

#ifdef IMAGE_DECLARED
#ifndef IMAGE_RULE
#define IMAGE_RULE OVERT_ARCH_FAMILY
#endif
#ifndef IMAGE_KIND
#define IMAGE_KIND OVERT_IMAGE_HOST
#endif
static const OvertArch arch = {.size = sizeof(OvertArch), .name = TEXT("any"), .family = TEXT("x86-64")};
static const OvertArchPattern pattern = {
    .size = sizeof(OvertArchPattern),
    .rule = IMAGE_RULE,
#ifndef NULL_ARCH
    .arch = &arch,
#endif
};
static const OvertImageDecl images[] = {{
    .size = sizeof(OvertImageDecl),
    .kind = IMAGE_KIND,
    .id = TEXT(IMAGE_DECLARED),
    .digest = {7},
    .pattern = &pattern,
}};
#endif

#ifdef KNOB_DEFAULT
static const OvertKnobDecl knobs[] = {{
    .size = sizeof(OvertKnobDecl),
    .kind = OVERT_VALUE_I64,
    .id = TEXT("hostile.width"),
    .default_value = {.kind = OVERT_VALUE_I64, .data = {.i = KNOB_DEFAULT}},
    .min = 1,
    .max = 8,
}};
#endif

#ifdef NEWER
/* As a later version of the header would have it: the known fields first, more behind them. */
typedef struct {
    OvertKernelDecl known;
    uint64_t later[3];
} Kernel;
#undef KERNEL_SIZE
#define KERNEL_SIZE sizeof(Kernel)
#define KERNEL_BEGIN {.later = {1, 2, 3}, .known = {
#define KERNEL_END }}
#else
typedef OvertKernelDecl Kernel;
#define KERNEL_BEGIN {
#define KERNEL_END }
#endif

static const Kernel kernels[] = {
    KERNEL_BEGIN
        .size = KERNEL_SIZE,
        .tier = KERNEL_TIER,
#ifdef KERNEL_NAME_LEN
        .id = {(const uint8_t *)KERNEL_ID, KERNEL_NAME_LEN},
#else
        .id = TEXT(KERNEL_ID),
#endif
        .op = TEXT(KERNEL_OP),
        .required = KERNEL_REQUIRED,
#ifndef NULL_CLAUSES
        .clauses = clauses,
#endif
        .clause_count = 1,
#ifdef IMAGE_NAMED
        .images = named_images,
        .image_count = 1,
#endif
#ifndef NO_ENTRIES
        .entries = entries,
        .entry_count = 1,
#endif
        .doc = TEXT("adds")
    KERNEL_END,
    KERNEL_BEGIN
        .size = KERNEL_SIZE,
        .tier = OVERT_TIER_REFERENCE,
#ifdef DUPLICATE_ID
        .id = TEXT(KERNEL_ID),
#else
        .id = TEXT(NAME "/add/second"),
#endif
        .op = TEXT("add.1"),
        .entries = entries,
        .entry_count = 1
    KERNEL_END,
};

static OvertProvider provider = {
#ifdef PROVIDER_SIZE
    .size = PROVIDER_SIZE,
#else
    .size = sizeof(OvertProvider),
#endif
#ifdef PROVIDER_REQUIRED
    .required = PROVIDER_REQUIRED,
#endif
#ifdef NAME_NOT_UTF8
    .name = TEXT("host\xff"),
#else
    .name = TEXT(NAME),
#endif
    .version = TEXT(VERSION),
#ifndef NULL_OPS
    .ops = ops,
#endif
    .op_count = 1,
#ifdef KERNELS_AT
    .kernels = (const OvertKernelDecl *)(uintptr_t)KERNELS_AT,
#elif !defined(NULL_KERNELS)
    .kernels = (const OvertKernelDecl *)kernels,
#endif
#ifdef KERNEL_COUNT
    .kernel_count = KERNEL_COUNT,
#else
    .kernel_count = 2,
#endif
#ifdef IMAGE_DECLARED
    .images = images,
    .image_count = 1,
#endif
#ifdef KNOB_DEFAULT
    .knobs = knobs,
    .knob_count = 1,
#endif
#ifndef NULL_API
    .api = &api,
#endif
};

#ifndef BUILD_GLIBC
#define BUILD_GLIBC ""
#endif
#ifndef BUILD_SANITIZER
#define BUILD_SANITIZER ""
#endif
#ifndef BUILD_TARGET
#define BUILD_TARGET ""
#endif
static const OvertBuildInfo build = {
#ifdef BUILD_SIZE
    .size = BUILD_SIZE,
#else
    .size = sizeof(OvertBuildInfo),
#endif
    .compiler = TEXT("a C compiler"),
    .min_glibc = TEXT(BUILD_GLIBC),
    .sanitizer = TEXT(BUILD_SANITIZER),
    .target = TEXT(BUILD_TARGET),
};

#ifdef REFUSE
static void say(const OvertQueryRequest *request, OvertStr text) {
    if (request->sink && request->sink->write) request->sink->write(request->sink->context, text);
}
#endif

#ifdef NO_SYMBOL
OVERT_EXPORT OvertStatus overt_provider_answer(const OvertQueryRequest *request, OvertQueryResponse *response);
OvertStatus overt_provider_answer(const OvertQueryRequest *request, OvertQueryResponse *response) {
#else
OvertStatus overt_provider_query(const OvertQueryRequest *request, OvertQueryResponse *response) {
#endif
#ifdef SLOW_MS
    struct timespec pause = {SLOW_MS / 1000, (SLOW_MS % 1000) * 1000000L};
    nanosleep(&pause, NULL);
#endif
#ifdef NEEDS_MISSING
    if (overt_hostile_elsewhere() != 7) return OVERT_E_INTERNAL;
#endif
#ifdef INTERNAL
    /* Through the symbols, so that a clash with another provider's would show in the version. */
    provider.version.data = (const uint8_t *)overt_hostile_internal_text();
    provider.version.len = strlen(overt_hostile_internal_text());
#endif
#ifdef REFUSE
    response->abi_version = OVERT_ABI_VERSION + 4;
#ifdef REFUSE_WORDS_WILD
    OvertStr wild = {(const uint8_t *)(uintptr_t)16, 100};
    say(request, wild);
#else
    OvertStr first = TEXT("driver 3 is "), second = TEXT("too old"), broken = TEXT(" \xff");
    say(request, first);
    say(request, second);
    say(request, broken);
#endif
    return OVERT_E_ABI;
#else
#ifdef ANSWER_VERSION
    response->abi_version = ANSWER_VERSION;
#else
    if (request->abi_min > OVERT_ABI_VERSION || request->abi_max < OVERT_ABI_VERSION) return OVERT_E_ABI;
    response->abi_version = OVERT_ABI_VERSION;
#endif
    (void)request;
    response->build = &build;
#ifndef NULL_PROVIDER
    response->provider = &provider;
#endif
#ifdef RESPONSE_SIZE
    response->size = RESPONSE_SIZE;
#endif
#ifdef WRITE_BEYOND
    memset((uint8_t *)response + sizeof(*response), 0x5a, 64);
#endif
    return OVERT_OK;
#endif
}
