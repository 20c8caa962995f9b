#version 460
// Attention of requests with one query row: the first of two passes. A block takes a part of a request's keys for some query heads that
// share them, so that each key and value is read once for all of these, and leaves the softmax of the part: its greatest logit, its sum, and
// its sum of values, not yet divided. The second pass (decode_merge) joins the parts.
//
// The part's keys come in tiles. Four neighbouring invocations share a key and so its logits; the chunks of 16 bytes of which a row consists
// go to the four in turn, two keys at once. Then each invocation owns one chunk of the values' sums and takes every so manieth value.

#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require

#include "glsl/elements.glsl"
#include "glsl/math.glsl"
#include "paged_attention/cache.glsl"
#include "paged_attention/parts.glsl"

const uint BLOCK = 128;
// Invocations that share a key.
const uint SHARE = 4;
// Keys that are in flight together: two for each such four.
const uint STEP = 2 * BLOCK / SHARE;

layout(constant_id = 3) const uint TYPE_Q = 0;
layout(constant_id = 4) const uint TYPE_K = 0;
layout(constant_id = 5) const uint TYPE_V = 0;
// Elements of a key and of a value: multiples of 16. Of a value there are at most as many chunks as invocations.
layout(constant_id = 6) const uint WIDTH = 64;
layout(constant_id = 7) const uint VALUE_WIDTH = 64;
layout(constant_id = 8) const uint PAGE = 16;
layout(constant_id = 9) const uint RATIO = 1;
// Query heads of a block.
layout(constant_id = 10) const uint HEADS = 1;
layout(constant_id = 11) const uint CAUSAL = 1;
// Keys of a tile.
layout(constant_id = 12) const uint TILE = 256;
// Whether all rows of the keys, and of the values, begin on 16 bytes.
layout(constant_id = 13) const uint K_ALIGNED = 0;
layout(constant_id = 14) const uint V_ALIGNED = 0;
layout(constant_id = 15) const uint K_PAGE = 0;
layout(constant_id = 16) const uint K_PAGE_HIGH = 0;
layout(constant_id = 17) const uint K_KEY = 0;
layout(constant_id = 18) const uint K_KEY_HIGH = 0;
layout(constant_id = 19) const uint K_HEAD = 0;
layout(constant_id = 20) const uint K_HEAD_HIGH = 0;
layout(constant_id = 21) const uint V_PAGE = 0;
layout(constant_id = 22) const uint V_PAGE_HIGH = 0;
layout(constant_id = 23) const uint V_KEY = 0;
layout(constant_id = 24) const uint V_KEY_HIGH = 0;
layout(constant_id = 25) const uint V_HEAD = 0;
layout(constant_id = 26) const uint V_HEAD_HIGH = 0;

layout(push_constant) uniform Push {
    uvec2 queries;
    uvec2 keys;
    uvec2 values;
    uvec2 table;
    uvec2 lengths;
    uvec2 starts;
    // Sums of values, and logits with sums, of each part of each head of each request.
    uvec2 sums;
    uvec2 logits;
    uint requests;
    uint heads;
    // Parts of a request that there is room for, and the most that one is cut into.
    uint parts;
    uint most_parts;
    uint table_row;
    uint table_column;
    uint query_row;
    uint query_head;
    float scale;
    float softcap;
    int window;
};

#include "paged_attention/rows.glsl"

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Chunks {
    uvec4 c[];
};

// Elements of a chunk of 16 bytes.
const uint K_ELEMENTS = TYPE_K == F32 ? 4 : TYPE_K == F16 || TYPE_K == BF16 ? 8 : 16;
const uint V_ELEMENTS = TYPE_V == F32 ? 4 : TYPE_V == F16 || TYPE_V == BF16 ? 8 : 16;
const uint K_CHUNKS = WIDTH / K_ELEMENTS;
const uint V_CHUNKS = VALUE_WIDTH / V_ELEMENTS;
const uint K_QUADS = K_ELEMENTS / 4;
const uint V_QUADS = V_ELEMENTS / 4;
// Values that are summed side by side.
const uint SETS = BLOCK / V_CHUNKS;
const uint SCORES = TILE * HEADS;
const uint SUMS = SETS * VALUE_WIDTH;
const uint ROOM = SCORES > SUMS ? SCORES : SUMS;

shared vec4 query[HEADS * WIDTH / 4];
// Logits of a tile, then its weights: of each key for each head. In the end the sums of one head by set.
shared float scores[ROOM];
shared uint pages[TILE / PAGE + 2];
shared float reduced[BLOCK];
shared float shrinks[HEADS];

uvec4 chunk(bool aligned, Row row, uint i) {
    if (aligned) {
        return Chunks(row.words).c[i];
    }
    uint at = row.skip + 16 * i;
    return uvec4(bytes_at(row.words, at), bytes_at(row.words, at + 4), bytes_at(row.words, at + 8),
        bytes_at(row.words, at + 12));
}

// Four neighbours of a chunk: the first four, the second and so on.
vec4 elements(uint type, uvec4 raw, uint i) {
    if (type == F32) {
        return uintBitsToFloat(raw);
    }
    if (type == BF16) {
        uvec2 pair = i == 0 ? raw.xy : raw.zw;
        return uintBitsToFloat(uvec4(pair.x << 16, pair.x & 0xffff0000u, pair.y << 16, pair.y & 0xffff0000u));
    }
    if (type == F16) {
        uvec2 pair = i == 0 ? raw.xy : raw.zw;
        return vec4(from_f16(pair.x & 0xffffu), from_f16(pair.x >> 16), from_f16(pair.y & 0xffffu),
            from_f16(pair.y >> 16));
    }
    uint codes = raw[i];
    uvec4 bytes = uvec4(codes & 0xff, (codes >> 8) & 0xff, (codes >> 16) & 0xff, codes >> 24);
    return type == FP8_E4M3FN
        ? vec4(from_e4m3fn(bytes.x), from_e4m3fn(bytes.y), from_e4m3fn(bytes.z), from_e4m3fn(bytes.w))
        : vec4(from_e5m2(bytes.x), from_e5m2(bytes.y), from_e5m2(bytes.z), from_e5m2(bytes.w));
}

// Adds to the products of a key and each head those of one chunk.
void add_products(inout float sum[HEADS], uvec4 raw, uint i) {
    [[unroll]] for (uint j = 0; j < K_QUADS; j++) {
        vec4 key = elements(TYPE_K, raw, j);
        [[unroll]] for (uint h = 0; h < HEADS; h++) {
            sum[h] += dot(query[h * (WIDTH / 4) + i * K_QUADS + j], key);
        }
    }
}

// The products of keys `tile .. tile + count`, the first of which is key `within` of the first page, with all heads.
void score(uint within, uint count, uint cache_head) {
    uint lane = gl_LocalInvocationID.x;
    uint share = lane % SHARE;
    for (uint base = 0; base < count; base += STEP) {
        uint at[2] = uint[2](base + lane / SHARE, base + lane / SHARE + STEP / 2);
        Row row[2];
        float sum[2][HEADS];
        [[unroll]] for (uint k = 0; k < 2; k++) {
            // Behind the end the last key is taken once more.
            uint place = within + min(at[k], count - 1);
            row[k] = key_row(pages[place / PAGE], place % PAGE, cache_head);
            [[unroll]] for (uint h = 0; h < HEADS; h++) {
                sum[k][h] = 0.0;
            }
        }
        for (uint first = 0; first < K_CHUNKS; first += 4 * SHARE) {
            uvec4 raw[2][4];
            [[unroll]] for (uint j = 0; j < 4; j++) {
                if (first + j * SHARE < K_CHUNKS) {
                    uint i = min(first + j * SHARE + share, K_CHUNKS - 1);
                    raw[0][j] = chunk(K_ALIGNED != 0, row[0], i);
                    raw[1][j] = chunk(K_ALIGNED != 0, row[1], i);
                }
            }
            [[unroll]] for (uint j = 0; j < 4; j++) {
                uint i = first + j * SHARE + share;
                if (i < K_CHUNKS) {
                    add_products(sum[0], raw[0][j], i);
                    add_products(sum[1], raw[1][j], i);
                }
            }
        }
        [[unroll]] for (uint k = 0; k < 2; k++) {
            [[unroll]] for (uint h = 0; h < HEADS; h++) {
                float all = sum[k][h];
                all += subgroupShuffleXor(all, 1);
                all += subgroupShuffleXor(all, 2);
                if (share == h % SHARE && at[k] < count) {
                    scores[at[k] * HEADS + h] = all;
                }
            }
        }
    }
}

void main() {
    uint lane = gl_LocalInvocationID.x;
    const uint tiles = (RATIO + HEADS - 1) / HEADS;
    // Blocks that read the same keys are neighbours, then those of neighbouring heads.
    uint number = group_number();
    uint first_head = (number % tiles) * HEADS;
    number /= tiles;
    uint cache_heads = heads / RATIO;
    uint cache_head = number % cache_heads;
    number /= cache_heads;
    uint part = number % parts;
    uint request = number / parts;
    if (request >= requests) {
        return;
    }
    uint row = integer(starts, request);
    int length = integer(lengths, request);
    if (integer(starts, request + 1) == int(row)) {
        return;
    }
    ivec2 seen = part_of(visible(length - 1, length, CAUSAL != 0, window), part, TILE, most_parts);
    if (seen.x >= seen.y) {
        return;
    }

    // Heads of the block that there are: of a ratio that HEADS does not divide the last block has fewer.
    uint heads_here = min(HEADS, RATIO - first_head);
    uint head = cache_head * RATIO + first_head;
    for (uint i = lane; i < HEADS * WIDTH / 4; i += BLOCK) {
        uint h = min(i / (WIDTH / 4), heads_here - 1);
        uint at = row * query_row + (head + h) * query_head + 4 * (i % (WIDTH / 4));
        query[i] = vec4(load(TYPE_Q, queries, at), load(TYPE_Q, queries, at + 1), load(TYPE_Q, queries, at + 2),
            load(TYPE_Q, queries, at + 3));
    }

    // In turn with the heads, as the scores lie, so that an invocation sees those of one head alone.
    const uint busy = BLOCK / HEADS * HEADS;
    uint my_head = lane % HEADS;
    uint set = lane / V_CHUNKS;
    uint mine = lane % V_CHUNKS;
    float most = uintBitsToFloat(0xff800000u);
    float total = 0.0;
    vec4 sum[HEADS * V_QUADS];
    [[unroll]] for (uint i = 0; i < HEADS * V_QUADS; i++) {
        sum[i] = vec4(0.0);
    }
    for (int tile = seen.x; tile < seen.y; tile += int(TILE)) {
        uint count = uint(min(seen.y - tile, int(TILE)));
        uint first_page = uint(tile) / PAGE;
        uint within = uint(tile) % PAGE;
        for (uint i = lane; i <= (within + count - 1) / PAGE; i += BLOCK) {
            pages[i] = Words(table).w[request * table_row + (first_page + i) * table_column];
        }
        barrier();
        score(within, count, cache_head);
        barrier();

        float now = most;
        if (lane < busy) {
            for (uint i = lane; i < count * HEADS; i += busy) {
                float logit = scale * scores[i];
                if (softcap > 0.0) {
                    logit = softcap * hyperbolic_tangent(logit / softcap);
                }
                scores[i] = logit;
                now = max(now, logit);
            }
        }
        reduced[lane] = now;
        barrier();
        for (uint i = my_head; i < busy; i += HEADS) {
            now = max(now, reduced[i]);
        }
        float shrink = exponential(most - now);
        most = now;
        total *= shrink;
        if (lane < busy) {
            for (uint i = lane; i < count * HEADS; i += busy) {
                float weight = exponential(scores[i] - now);
                scores[i] = weight;
                total += weight;
            }
        }
        if (lane < HEADS) {
            shrinks[lane] = shrink;
        }
        barrier();

        [[unroll]] for (uint h = 0; h < HEADS; h++) {
            [[unroll]] for (uint j = 0; j < V_QUADS; j++) {
                sum[h * V_QUADS + j] *= shrinks[h];
            }
        }
        if (set < SETS) {
            for (uint key = set; key < count; key += 4 * SETS) {
                uvec4 raw[4];
                [[unroll]] for (uint k = 0; k < 4; k++) {
                    uint place = within + min(key + k * SETS, count - 1);
                    raw[k] = chunk(V_ALIGNED != 0, value_row(pages[place / PAGE], place % PAGE, cache_head), mine);
                }
                [[unroll]] for (uint k = 0; k < 4; k++) {
                    uint at = key + k * SETS;
                    if (at < count) {
                        [[unroll]] for (uint j = 0; j < V_QUADS; j++) {
                            vec4 value = elements(TYPE_V, raw[k], j);
                            [[unroll]] for (uint h = 0; h < HEADS; h++) {
                                sum[h * V_QUADS + j] += scores[at * HEADS + h] * value;
                            }
                        }
                    }
                }
            }
        }
        // The next tile writes over pages and scores.
        barrier();
    }

    reduced[lane] = total;
    barrier();
    uint entry = (request * heads + head) * parts + part;
    if (lane < heads_here) {
        for (uint i = lane + HEADS; i < busy; i += HEADS) {
            total += reduced[i];
        }
        Words(logits).w[2 * (entry + lane * parts)] = floatBitsToUint(most);
        Words(logits).w[2 * (entry + lane * parts) + 1] = floatBitsToUint(total);
    }
    [[unroll]] for (uint h = 0; h < HEADS; h++) {
        if (set < SETS) {
            [[unroll]] for (uint j = 0; j < V_QUADS; j++) {
                vec4 some = sum[h * V_QUADS + j];
                uint at = set * VALUE_WIDTH + mine * V_ELEMENTS + 4 * j;
                scores[at] = some.x;
                scores[at + 1] = some.y;
                scores[at + 2] = some.z;
                scores[at + 3] = some.w;
            }
        }
        barrier();
        if (h < heads_here) {
            uvec2 place = further_by(sums, entry + h * parts, 4 * VALUE_WIDTH);
            for (uint d = lane; d < VALUE_WIDTH; d += BLOCK) {
                float all = scores[d];
                for (uint i = 1; i < SETS; i++) {
                    all += scores[i * VALUE_WIDTH + d];
                }
                Words(place).w[d] = floatBitsToUint(all);
            }
        }
        barrier();
    }
}
