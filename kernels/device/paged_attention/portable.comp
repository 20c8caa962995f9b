#version 460
// Attention of one query row and head by a block. Keys come in tiles of the block's size: an invocation takes a key for its logit, and four
// elements of some values for the sum. The softmax is taken along, its greatest logit so far and its sum so far, so that each key is read once.

#include "glsl/elements.glsl"
#include "glsl/math.glsl"
#include "glsl/reduce.glsl"
#include "paged_attention/cache.glsl"

// The block's size, which the provider knows too.
const uint BLOCK = 128;

layout(constant_id = 3) const uint TYPE_Q = 0;
layout(constant_id = 4) const uint TYPE_K = 0;
layout(constant_id = 5) const uint TYPE_V = 0;
layout(constant_id = 6) const uint TYPE_OUT = 0;
// Elements of a key and of a value; the second is at most four times the block's size.
layout(constant_id = 7) const uint WIDTH = 64;
layout(constant_id = 8) const uint VALUE_WIDTH = 64;
// Keys of a page.
layout(constant_id = 9) const uint PAGE = 16;
// Query heads of a key head.
layout(constant_id = 10) const uint RATIO = 1;
layout(constant_id = 11) const uint CAUSAL = 1;
// Bytes from page to page, from key to key and from head to head, the low word first.
layout(constant_id = 12) const uint K_PAGE = 0;
layout(constant_id = 13) const uint K_PAGE_HIGH = 0;
layout(constant_id = 14) const uint K_KEY = 0;
layout(constant_id = 15) const uint K_KEY_HIGH = 0;
layout(constant_id = 16) const uint K_HEAD = 0;
layout(constant_id = 17) const uint K_HEAD_HIGH = 0;
layout(constant_id = 18) const uint V_PAGE = 0;
layout(constant_id = 19) const uint V_PAGE_HIGH = 0;
layout(constant_id = 20) const uint V_KEY = 0;
layout(constant_id = 21) const uint V_KEY_HIGH = 0;
layout(constant_id = 22) const uint V_HEAD = 0;
layout(constant_id = 23) const uint V_HEAD_HIGH = 0;

layout(push_constant) uniform Push {
    uvec2 queries;
    uvec2 keys;
    uvec2 values;
    uvec2 table;
    uvec2 lengths;
    uvec2 starts;
    uvec2 sinks;
    uvec2 to;
    uint rows;
    uint heads;
    uint requests;
    uint table_row;
    uint table_column;
    uint query_row;
    uint query_head;
    uint to_row;
    uint to_head;
    // The scale of logits times that of keys.
    float scale;
    float value_scale;
    float softcap;
    // Keys that a window holds; 0 for all.
    int window;
};

shared vec4 query[WIDTH / 4 + 1];
shared float weights[BLOCK];
// The page of each key of the tile.
shared uint pages[BLOCK];
shared vec4 parts[BLOCK];

#include "paged_attention/output.glsl"
#include "paged_attention/rows.glsl"

// The last request that begins at or before a row: those without rows begin where the next one does.
uint owner(uint row) {
    uint low = 0;
    uint high = requests;
    while (high - low > 1) {
        uint middle = (low + high) / 2;
        if (integer(starts, middle) <= int(row)) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

float logit_of(Row key) {
    vec4 sums = vec4(0.0);
    for (uint d = 0; d < WIDTH; d += 4) {
        sums += query[d / 4] * quad(TYPE_K, key, d, WIDTH);
    }
    float logit = scale * ((sums.x + sums.y) + (sums.z + sums.w));
    if (softcap > 0.0) {
        logit = softcap * hyperbolic_tangent(logit / softcap);
    }
    return logit;
}

void main() {
    uint number = group_number();
    uint row = number / heads;
    uint head = number % heads;
    if (row >= rows) {
        return;
    }
    uint lane = gl_LocalInvocationID.x;
    uint cache_head = head / RATIO;
    uint request = owner(row);
    int begin = integer(starts, request);
    int rows_here = integer(starts, request + 1) - begin;
    int length = integer(lengths, request);
    int within = int(row) - begin;
    ivec2 seen = ivec2(0);
    // A row behind the last request's is none's, and sees nothing.
    if (within < rows_here) {
        seen = visible(length - rows_here + within, length, CAUSAL != 0, window);
    }

    uint query_begin = row * query_row + head * query_head;
    for (uint d = lane; d < WIDTH / 4 + 1; d += BLOCK) {
        vec4 some = vec4(0.0);
        for (uint i = 0; i < 4 && 4 * d + i < WIDTH; i++) {
            some[i] = load(TYPE_Q, queries, query_begin + 4 * d + i);
        }
        query[d] = some;
    }
    barrier();

    // Four elements of the values of every so manieth key.
    const uint quads = (VALUE_WIDTH + 3) / 4;
    const uint sets = BLOCK / quads;
    uint set = lane / quads;
    uint d = 4 * (lane % quads);
    vec4 sums = vec4(0.0);
    float most = uintBitsToFloat(0xff800000u);
    float total = 0.0;
    if (!absent(sinks)) {
        // A logit without a value. Of the sum over invocations one has it.
        most = load(F32, sinks, head);
        total = lane == 0 ? 1.0 : 0.0;
    }
    for (int tile = seen.x; tile < seen.y; tile += int(BLOCK)) {
        int key = tile + int(lane);
        bool real = key < seen.y;
        float logit = uintBitsToFloat(0xff800000u);
        uint page = 0;
        if (real) {
            page = Words(table).w[request * table_row + (uint(key) / PAGE) * table_column];
            logit = logit_of(row_at(key_address(page, uint(key) % PAGE, cache_head)));
        }
        float now = max(most, block_max(logit));
        float shrink = exponential(most - now);
        float weight = real ? exponential(logit - now) : 0.0;
        most = now;
        total = total * shrink + weight;
        // Nobody reads those of the tile before any more: the maximum was taken by all.
        weights[lane] = weight;
        pages[lane] = page;
        barrier();
        sums *= shrink;
        uint count = uint(min(seen.y - tile, int(BLOCK)));
        if (set < sets) {
            for (uint i = set; i < count; i += sets) {
                Row value = row_at(value_address(pages[i], (uint(tile) + i) % PAGE, cache_head));
                sums += weights[i] * quad(TYPE_V, value, d, VALUE_WIDTH);
            }
        }
    }
    total = block_sum(total);

    parts[lane] = sums;
    barrier();
    if (lane < quads) {
        for (uint i = 1; i < sets; i++) {
            sums += parts[lane + i * quads];
        }
        for (uint i = 0; i < 4; i++) {
            result[d + i] = sums[i];
        }
    }
    barrier();
    write_result(row * to_row + head * to_head, seen.y > seen.x ? value_scale / total : 0.0);
}
