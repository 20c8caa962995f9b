#version 460
// Attention of requests with one query row: the first of two passes. A block takes a part of a request's keys for some query heads that
// share them, so that each key and value is read once for all of these, and leaves the softmax of the part: its greatest logit, its sum, and
// its sum of values, not yet divided. The second pass (decode_merge) joins the parts.
//
// The part's keys come in tiles. Four neighbouring invocations share a key and so its logits; the chunks of 16 bytes of which a row consists
// go to the four in turn, several keys at once, since each needs the same part of the query. Then each invocation owns one chunk of the values' sums and takes every so manieth value.

#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require

#include "glsl/elements.glsl"
#include "glsl/math.glsl"
#include "paged_attention/cache.glsl"
#include "paged_attention/parts.glsl"

const uint BLOCK = 128;
// Invocations that share a key.
const uint SHARE = 4;

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
// Keys that such four take at once, chunks of each that an invocation has in flight, and values.
layout(constant_id = 27) const uint KEYS = 2;
layout(constant_id = 28) const uint AHEAD = 4;
layout(constant_id = 29) const uint VALUES = 4;

const uint STEP = KEYS * BLOCK / SHARE;

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
    // Two halves of 2^-24, the least that is not 0. Given, so that what the device makes of them is found when it runs.
    uint least_halves;
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
// Where the block's head begins in each page of the tile.
shared uvec2 key_pages[TILE / PAGE + 2];
shared uvec2 value_pages[TILE / PAGE + 2];
shared float reduced[BLOCK];
shared float shrinks[HEADS];

// Whether a page's keys lie within 32 bits, so that offsets in it need no more.
const bool K_NEAR = K_KEY_HIGH == 0 && K_KEY <= 0xffffffffu / PAGE;
const bool V_NEAR = V_KEY_HIGH == 0 && V_KEY <= 0xffffffffu / PAGE;

// A row of a page.
Row near_row(bool near, bool aligned, uvec2 page, uint key, uint low, uint high) {
    uvec2 at = near ? further(page, key * low) : further_long(page, key, low, high);
    return aligned ? Row(at, 0) : row_at(at);
}

// The rows of key `place`, counted from the beginning of the first page.
Row key_at(uint place) {
    return near_row(K_NEAR, K_ALIGNED != 0, key_pages[place / PAGE], place % PAGE, K_KEY, K_KEY_HIGH);
}

Row value_at(uint place) {
    return near_row(V_NEAR, V_ALIGNED != 0, value_pages[place / PAGE], place % PAGE, V_KEY, V_KEY_HIGH);
}

uvec4 chunk(bool aligned, Row row, uint i) {
    if (aligned) {
        return Chunks(row.words).c[i];
    }
    uint at = row.skip + 16 * i;
    return uvec4(bytes_at(row.words, at), bytes_at(row.words, at + 4), bytes_at(row.words, at + 8),
        bytes_at(row.words, at + 12));
}

// Numbers in e4m3fn are decoded as f16 of the same bits, whose exponent counts from 8 lower.
const float K_FACTOR = TYPE_K == FP8_E4M3FN ? 256.0 : 1.0;
const float V_FACTOR = TYPE_V == FP8_E4M3FN ? 256.0 : 1.0;
// Whether a type is decoded without the device's own conversion of f16.
const bool K_PLAIN = TYPE_K == F32 || TYPE_K == BF16;
const bool V_PLAIN = TYPE_V == F32 || TYPE_V == BF16;

// Two f16. The device's conversion is one instruction where bits take ten, but it may make denormals 0: `exact` says that this one does not.
vec2 halves(uint bits, bool exact) {
    return exact ? unpackHalf2x16(bits) : vec2(from_f16(bits & 0xffffu), from_f16(bits >> 16));
}

// Four neighbours of a chunk, the first four, the second and so on, divided by the type's factor.
vec4 elements(uint type, uvec4 raw, uint i, bool exact) {
    if (type == F32) {
        return uintBitsToFloat(raw);
    }
    if (type == BF16) {
        uvec2 pair = i == 0 ? raw.xy : raw.zw;
        return uintBitsToFloat(uvec4(pair.x << 16, pair.x & 0xffff0000u, pair.y << 16, pair.y & 0xffff0000u));
    }
    if (type == F16) {
        uvec2 pair = i == 0 ? raw.xy : raw.zw;
        return vec4(halves(pair.x, exact), halves(pair.y, exact));
    }
    uint codes = raw[i];
    if (type == FP8_E5M2) {
        vec2 even = halves((codes & 0x00ff00ffu) << 8, exact);
        vec2 odd = halves(codes & 0xff00ff00u, exact);
        return vec4(even.x, odd.x, even.y, odd.y);
    }
    if ((((codes & 0x7f7f7f7fu) + 0x01010101u) & 0x80808080u) != 0) {
        // A NaN, whose bits are a number as f16.
        return vec4(from_e4m3fn(codes & 0xff), from_e4m3fn((codes >> 8) & 0xff), from_e4m3fn((codes >> 16) & 0xff),
            from_e4m3fn(codes >> 24)) / 256.0;
    }
    vec2 even = halves(((codes & 0x007f007fu) << 7) | ((codes & 0x00800080u) << 8), exact);
    vec2 odd = halves(((codes & 0x7f007f00u) >> 1) | (codes & 0x80008000u), exact);
    return vec4(even.x, odd.x, even.y, odd.y);
}

// The products of keys `tile .. tile + count`, the first of which is key `within` of the first page, with all heads.
void score(uint within, uint count, bool exact) {
    uint lane = gl_LocalInvocationID.x;
    uint share = lane % SHARE;
    for (uint base = lane / SHARE; base - lane / SHARE < count; base += STEP) {
        Row row[KEYS];
        float product[KEYS][HEADS];
        [[unroll]] for (uint k = 0; k < KEYS; k++) {
            // Behind the end the last key is taken once more.
            row[k] = key_at(within + min(base + k * (BLOCK / SHARE), count - 1));
            [[unroll]] for (uint h = 0; h < HEADS; h++) {
                product[k][h] = 0.0;
            }
        }
        for (uint first = 0; first < K_CHUNKS; first += AHEAD * SHARE) {
            uvec4 raw[KEYS][AHEAD];
            [[unroll]] for (uint j = 0; j < AHEAD; j++) {
                if (first + j * SHARE < K_CHUNKS) {
                    uint i = min(first + j * SHARE + share, K_CHUNKS - 1);
                    [[unroll]] for (uint k = 0; k < KEYS; k++) {
                        raw[k][j] = chunk(K_ALIGNED != 0, row[k], i);
                    }
                }
            }
            [[unroll]] for (uint j = 0; j < AHEAD; j++) {
                uint i = first + j * SHARE + share;
                if (i < K_CHUNKS) {
                    [[unroll]] for (uint q = 0; q < K_QUADS; q++) {
                        vec4 key[KEYS];
                        [[unroll]] for (uint k = 0; k < KEYS; k++) {
                            key[k] = elements(TYPE_K, raw[k][j], q, exact);
                        }
                        [[unroll]] for (uint h = 0; h < HEADS; h++) {
                            vec4 some = query[h * (WIDTH / 4) + i * K_QUADS + q];
                            [[unroll]] for (uint k = 0; k < KEYS; k++) {
                                // One by one, so that each is one instruction; a dot product takes a fifth.
                                product[k][h] += some.x * key[k].x;
                                product[k][h] += some.y * key[k].y;
                                product[k][h] += some.z * key[k].z;
                                product[k][h] += some.w * key[k].w;
                            }
                        }
                    }
                }
            }
        }
        [[unroll]] for (uint k = 0; k < KEYS; k++) {
            uint at = base + k * (BLOCK / SHARE);
            [[unroll]] for (uint h = 0; h < HEADS; h++) {
                float all = product[k][h];
                all += subgroupShuffleXor(all, 1);
                all += subgroupShuffleXor(all, 2);
                if (share == h % SHARE && at < count) {
                    scores[at * HEADS + h] = all;
                }
            }
        }
    }
}

// What an invocation sums up: its chunk of the values for each head.
vec4 sum[HEADS * V_QUADS];

// Adds one chunk of the values of every so manieth key from `set` on, times their weights.
void add_values(uint set, uint mine, uint within, uint count, bool exact) {
    for (uint key = set; key < count; key += VALUES * SETS) {
        uvec4 raw[VALUES];
        [[unroll]] for (uint k = 0; k < VALUES; k++) {
            raw[k] = chunk(V_ALIGNED != 0, value_at(within + min(key + k * SETS, count - 1)), mine);
        }
        [[unroll]] for (uint k = 0; k < VALUES; k++) {
            uint at = key + k * SETS;
            if (at < count) {
                [[unroll]] for (uint j = 0; j < V_QUADS; j++) {
                    vec4 value = elements(TYPE_V, raw[k], j, exact);
                    [[unroll]] for (uint h = 0; h < HEADS; h++) {
                        sum[h * V_QUADS + j] += scores[at * HEADS + h] * value;
                    }
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

    bool exact = unpackHalf2x16(least_halves) == vec2(5.9604644775390625e-8);
    // In turn with the heads, as the scores lie, so that an invocation sees those of one head alone.
    const uint busy = BLOCK / HEADS * HEADS;
    uint my_head = lane % HEADS;
    uint set = lane / V_CHUNKS;
    uint mine = lane % V_CHUNKS;
    float most = uintBitsToFloat(0xff800000u);
    float total = 0.0;
    [[unroll]] for (uint i = 0; i < HEADS * V_QUADS; i++) {
        sum[i] = vec4(0.0);
    }
    for (int tile = seen.x; tile < seen.y; tile += int(TILE)) {
        uint count = uint(min(seen.y - tile, int(TILE)));
        uint first_page = uint(tile) / PAGE;
        uint within = uint(tile) % PAGE;
        for (uint i = lane; i <= (within + count - 1) / PAGE; i += BLOCK) {
            uint page = Words(table).w[request * table_row + (first_page + i) * table_column];
            key_pages[i] = key_address(page, 0, cache_head);
            value_pages[i] = value_address(page, 0, cache_head);
        }
        barrier();
        if (K_PLAIN || exact) {
            score(within, count, true);
        } else {
            score(within, count, false);
        }
        barrier();

        float now = most;
        if (lane < busy) {
            for (uint i = lane; i < count * HEADS; i += busy) {
                float logit = scale * K_FACTOR * scores[i];
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
            if (V_PLAIN || exact) {
                add_values(set, mine, within, count, true);
            } else {
                add_values(set, mine, within, count, false);
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
                vec4 some = V_FACTOR * sum[h * V_QUADS + j];
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
