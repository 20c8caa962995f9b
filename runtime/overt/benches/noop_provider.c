/*
 * A provider whose kernels do nothing, for measuring what the host adds to a launch. One device; KERNELS kernels of
 * paged_attention.1 whose guards read the facts that real attention kernels read, and one kernel each of add.1.
 * Everything is static; a launch fills its receipt and returns.
 */
#include "overt.h"

#include <stdlib.h>
#include <string.h>

#ifndef KERNELS
#define KERNELS 20
#endif

#define STR(text) {(const uint8_t *)(text), sizeof(text) - 1}
#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))
#define INT(number) {OVERT_VALUE_I64, 0, {.i = (number)}}

static const OvertStr symbol_list[] = {STR("noop")};
static const OvertStr handled[] = {STR("causal"), STR("window"), STR("softcap"), STR("sinks")};

static OvertArch arch = {sizeof(OvertArch), 0, STR("bench"), STR("bench"), 1, 0, 0, 0, NULL};
static OvertArchPattern pattern = {sizeof(OvertArchPattern), OVERT_ARCH_FAMILY, &arch};

static OvertKernelDecl kernels[KERNELS + 1];
static OvertOpDecl ops[2];
static char ids[KERNELS + 1][48];

/* Objects are never dereferenced, so one address serves for all of them. */
static int anything;

static const OvertFact facts[] = {{STR("bench"), INT(1)}};
static const OvertDeviceInfo info = {sizeof(OvertDeviceInfo), OVERT_DEVICE_SOFTWARE, OVERT_DEVICE_FLAG_HOST_ADDRESSABLE, 1,
                                     STR("uuid:6e6f6f70-0000-4000-8000-000000000001"), STR("no-op device"), STR("none"), STR(""),
                                     &arch, facts, 0};

#define OBJECT(name, type, ...)                                                       \
  static OvertStatus name(__VA_ARGS__, type **out, const OvertSink *sink) {           \
    (void)sink;                                                                       \
    *out = (type *)&anything;                                                         \
    return OVERT_OK;                                                                  \
  }

OBJECT(provider_create, OvertInstance, const OvertHost *h, const OvertOption *o, uint32_t n)
OBJECT(device_open, OvertDevice, OvertInstance *i, uint32_t index, const OvertImport *import)
OBJECT(kernel_open, OvertKernel, OvertDevice *d, uint32_t index)
OBJECT(stream_create, OvertStream, OvertDevice *d)
OBJECT(event_create, OvertEvent, OvertDevice *d)

static void provider_destroy(OvertInstance *i) { (void)i; }
static void device_close(OvertDevice *d) { (void)d; }
static void kernel_close(OvertKernel *k) { (void)k; }
static void stream_destroy(OvertStream *s) { (void)s; }
static void event_destroy(OvertEvent *e) { (void)e; }

static OvertStatus device_count(OvertInstance *i, uint32_t *count, const OvertSink *sink) {
  (void)i, (void)sink;
  *count = 1;
  return OVERT_OK;
}

static OvertStatus device_info(OvertInstance *i, uint32_t index, const OvertDeviceInfo **out, const OvertSink *sink) {
  (void)i, (void)index, (void)sink;
  *out = &info;
  return OVERT_OK;
}

static OvertStatus memory_alloc(OvertDevice *d, uint64_t bytes, uint64_t alignment, uint32_t flags, OvertAllocation *out,
                                const OvertSink *sink) {
  (void)d, (void)flags, (void)sink;
  uint64_t align = alignment < 256 ? 256 : alignment;
  void *data = aligned_alloc(align, (bytes + align - 1) / align * align);
  if (data == NULL) return OVERT_E_OUT_OF_MEMORY;
  out->handle = out->address = out->host_address = (uint64_t)(uintptr_t)data;
  out->bytes = bytes;
  out->alignment = align;
  return OVERT_OK;
}

static void memory_free(OvertDevice *d, uint64_t handle) {
  (void)d;
  free((void *)(uintptr_t)handle);
}

static OvertStatus copy_in(OvertStream *s, uint64_t handle, uint64_t offset, const void *source, uint64_t bytes,
                           const OvertSink *sink) {
  (void)s, (void)sink;
  memcpy((char *)(uintptr_t)handle + offset, source, bytes);
  return OVERT_OK;
}

static OvertStatus copy_out(OvertStream *s, uint64_t handle, uint64_t offset, void *target, uint64_t bytes,
                            const OvertSink *sink) {
  (void)s, (void)sink;
  memcpy(target, (char *)(uintptr_t)handle + offset, bytes);
  return OVERT_OK;
}

static OvertStatus copy(OvertStream *s, uint64_t target, uint64_t to, uint64_t source, uint64_t from, uint64_t bytes,
                        const OvertSink *sink) {
  (void)s, (void)sink;
  memcpy((char *)(uintptr_t)target + to, (char *)(uintptr_t)source + from, bytes);
  return OVERT_OK;
}

static OvertStatus fill(OvertStream *s, uint64_t handle, uint64_t offset, uint8_t value, uint64_t bytes,
                        const OvertSink *sink) {
  (void)s, (void)sink;
  memset((char *)(uintptr_t)handle + offset, value, bytes);
  return OVERT_OK;
}

static OvertStatus on_stream(OvertStream *s, const OvertSink *sink) {
  (void)s, (void)sink;
  return OVERT_OK;
}

static OvertStatus with_event(OvertStream *s, OvertEvent *e, const OvertSink *sink) {
  (void)s, (void)e, (void)sink;
  return OVERT_OK;
}

static OvertStatus record(OvertEvent *e, OvertStream *s, const OvertSink *sink) {
  (void)s, (void)e, (void)sink;
  return OVERT_OK;
}

static OvertStatus on_event(OvertEvent *e, const OvertSink *sink) {
  (void)e, (void)sink;
  return OVERT_OK;
}

static OvertStatus elapsed(OvertEvent *a, OvertEvent *b, double *ns, const OvertSink *sink) {
  (void)a, (void)b, (void)sink;
  *ns = 0;
  return OVERT_OK;
}

static OvertStatus launch(OvertKernel *k, OvertStream *s, const OvertCall *call, OvertReceipt *receipt, const OvertSink *sink) {
  (void)k, (void)s, (void)call, (void)sink;
  receipt->launches = 1;
  receipt->entry = symbol_list[0];
  receipt->grid[0] = receipt->grid[1] = receipt->grid[2] = 1;
  receipt->block[0] = receipt->block[1] = receipt->block[2] = 1;
  return OVERT_OK;
}

static const OvertProviderApi api = {
    .size = sizeof(OvertProviderApi),
    .provider_create = provider_create,
    .provider_destroy = provider_destroy,
    .device_count = device_count,
    .device_info = device_info,
    .device_open = device_open,
    .device_close = device_close,
    .kernel_open = kernel_open,
    .kernel_close = kernel_close,
    .launch = launch,
    .memory_alloc = memory_alloc,
    .memory_free = memory_free,
    .memory_copy_in = copy_in,
    .memory_copy_out_sync = copy_out,
    .memory_copy = copy,
    .memory_fill = fill,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_flush = on_stream,
    .stream_query = on_stream,
    .stream_sync = on_stream,
    .stream_wait_event = with_event,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = record,
    .event_query = on_event,
    .event_sync = on_event,
    .event_elapsed = elapsed,
};

static OvertProvider provider = {
    .size = sizeof(OvertProvider),
    .name = STR("noop"),
    .version = STR("1"),
    .ops = ops,
    .kernels = kernels,
    .op_count = COUNT(ops),
    .kernel_count = COUNT(kernels),
    .api = &api,
};

/* Values that outlive the query, one set for each kernel of attention. */
static OvertValue number[KERNELS][8];
static OvertClause clauses[KERNELS][9];
static OvertValue half_types[2];
static OvertValue family;

static OvertStr text(const char *words) {
  OvertStr str = {(const uint8_t *)words, strlen(words)};
  return str;
}

static void clause(OvertClause *to, const char *fact, uint32_t cmp, const OvertValue *values, uint32_t count) {
  memset(to, 0, sizeof *to);
  to->size = sizeof *to;
  to->cmp = cmp;
  to->fact = text(fact);
  to->values = values;
  to->value_count = count;
}

static void decimal(char *to, unsigned value) {
  char digits[12];
  int n = 0;
  do digits[n++] = (char)('0' + value % 10);
  while ((value /= 10) != 0);
  while (n > 0) *to++ = digits[--n];
  *to = 0;
}

static void declare(void) {
  OvertDType bf16 = {OVERT_DTYPE_BFLOAT, 16, 1}, f16 = {OVERT_DTYPE_FLOAT, 16, 1};
  half_types[0].kind = half_types[1].kind = OVERT_VALUE_DTYPE;
  half_types[0].data.dtype = bf16;
  half_types[1].data.dtype = f16;
  family.kind = OVERT_VALUE_ARCH_PATTERN;
  family.data.pattern = &pattern;
  for (unsigned k = 0; k < KERNELS; ++k) {
    OvertKernelDecl *decl = &kernels[k];
    decl->size = sizeof *decl;
    decl->tier = k + 1 == KERNELS ? OVERT_TIER_REFERENCE : OVERT_TIER_TUNED;
    strcpy(ids[k], "noop/paged_attention/k");
    decimal(ids[k] + strlen(ids[k]), k);
    decl->id = text(ids[k]);
    decl->op = text("paged_attention.1");
    decl->priority = (int32_t)(KERNELS - k);
    decl->flags = OVERT_KERNEL_CAPTURE_SAFE;
    decl->handles = handled;
    decl->handles_count = COUNT(handled);
    decl->entries = symbol_list;
    decl->entry_count = 1;
    decl->clauses = clauses[k];
    if (k + 1 == KERNELS) continue; /* the last one takes everything */
    /* Head sizes that the problem does not have, and thresholds on lengths, so that the facts of a real ladder are read. */
    int64_t values[8] = {64 + 8 * (int64_t)(k % 40), 16, 1 + k % 7, 16, INT64_C(1) << 31, 32 << (k % 12), 8, 16};
    for (int i = 0; i < 8; ++i) {
      number[k][i].kind = OVERT_VALUE_I64;
      number[k][i].data.i = values[i];
    }
    if (values[0] == 128) number[k][0].data.i = 120;
    clause(&clauses[k][0], "device.arch", OVERT_CMP_ARCH, &family, 1);
    clause(&clauses[k][1], "query.dtype", OVERT_CMP_IN, half_types, 2);
    clause(&clauses[k][2], "k_cache.dtype", OVERT_CMP_IN, half_types, 2);
    clause(&clauses[k][3], "D", OVERT_CMP_IS, &number[k][0], 1);
    clause(&clauses[k][4], "gqa_ratio", OVERT_CMP_AT_MOST, &number[k][1], 1);
    clause(&clauses[k][5], "max_query_len", OVERT_CMP_AT_LEAST, &number[k][2], 1);
    clause(&clauses[k][6], "query.align", OVERT_CMP_AT_LEAST, &number[k][3], 1);
    clause(&clauses[k][7], "k_cache.max_offset", OVERT_CMP_BELOW, &number[k][4], 1);
    clause(&clauses[k][8], "max_seq_len", OVERT_CMP_AT_LEAST, &number[k][5], 1);
    decl->clause_count = 9;
  }
  OvertKernelDecl *add = &kernels[KERNELS];
  *add = kernels[KERNELS - 1];
  add->id = text("noop/add/any");
  add->op = text("add.1");
  add->tier = OVERT_TIER_TUNED;
  add->handles_count = 0;
  add->flags |= OVERT_KERNEL_IN_PLACE;
  const char *names[2] = {"add.1", "paged_attention.1"};
  const uint64_t digests[2] = {ADD_DIGEST, ATTENTION_DIGEST};
  for (int i = 0; i < 2; ++i) {
    ops[i].size = sizeof ops[i];
    ops[i].name = text(names[i]);
    ops[i].digest = digests[i];
  }
}

/* For the measurement's own baseline: the launch entry, called as the host calls it. */
OVERT_EXPORT OvertStatus overt_provider_query(const OvertQueryRequest *request, OvertQueryResponse *response) {
  response->abi_version = OVERT_ABI_VERSION;
  if (request->abi_min > OVERT_ABI_VERSION || request->abi_max < OVERT_ABI_VERSION) return OVERT_E_ABI;
  if (kernels[0].size == 0) declare();
  response->provider = &provider;
  return OVERT_OK;
}
