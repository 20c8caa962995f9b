#version 460
// out[m, n] = sum over k of a[m, k] * b[n, k], plus bias[n], for few rows of activations: weights are read once for LINES of them, and that is
// what it takes.
//
// A block takes LINES rows of activations and COLUMNS rows of the weight; its invocations go along the depth. Each has 32 elements of a chunk of
// 256, as `packed.glsl` deals them out, whether the weight is packed or not, so that both give the same bits. Activations come from the cache
// next to the core.

// Whether to try the device's own conversion of f16. Where it is not tried there is half as much to compile.
layout(constant_id = 15) const bool TRY_HALVES = false;
// Whether that is exact, for denormals too: tried once, on a number that the compiler does not see.
bool exact_halves;
#define EXACT_HALVES (TRY_HALVES && exact_halves)

#include "glsl/packed.glsl"
#include "matmul_bt/outputs.glsl"

#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require

layout(constant_id = 3) const uint TYPE_A = 0;
layout(constant_id = 4) const uint TYPE_B = 0;
layout(constant_id = 5) const uint TYPE_OUT = 0;
layout(constant_id = 6) const uint TYPE_BIAS = 0;
layout(constant_id = 7) const bool SCALED = false;
layout(constant_id = 8) const uint LINES = 1;
layout(constant_id = 9) const uint COLUMNS = 2;
// The weight lies in planes.
layout(constant_id = 10) const bool IS_PACKED = false;
// Rows of activations, or of a plain weight whose elements stand alone, begin on 16 bytes and have whole runs of eight.
layout(constant_id = 11) const bool WIDE_A = false;
layout(constant_id = 12) const bool WIDE_B = false;
// The most subgroups that a block has.
layout(constant_id = 13) const uint SUBGROUPS = 1;
// Vectors that an invocation loads of a row of a plain weight in one step.
layout(constant_id = 14) const uint LOADS = 1;
// What a step needs of a packed weight is loaded a step ahead, where there are registers for it and steps enough.
layout(constant_id = 16) const bool AHEAD = false;

layout(push_constant) uniform Push {
    uvec2 a;
    uvec2 b;
    uvec2 b_scale;
    uvec2 bias;
    uvec2 to;
    uvec2 row_b;
    uint rows;
    uint columns;
    uint depth;
    uint row_a;
    uint row_to;
    uint scale_rows;
    uint scale_depth;
    uint scale_row;
    uint scale_column;
    // The least f16 twice.
    uint least_halves;
};

shared float parts[SUBGROUPS * LINES * COLUMNS];

// A run of eight activations of a row.
void activations(uint line, uint k, out vec4 low, out vec4 high) {
    uint at = line * row_a + k;
    if (!WIDE_A) {
        float v[CHUNK];
        load_chunk(TYPE_A, a, at, depth - k, 0.0, v);
        low = vec4(v[0], v[1], v[2], v[3]);
        high = vec4(v[4], v[5], v[6], v[7]);
    } else if (TYPE_A == F32) {
        low = uintBitsToFloat(Vectors(a).v[at >> 2]);
        high = uintBitsToFloat(Vectors(a).v[(at >> 2) + 1]);
    } else {
        uvec4 words = Vectors(a).v[at >> 3];
        low = halves_of(TYPE_A, words.xy);
        high = halves_of(TYPE_A, words.zw);
    }
}

// What a step needs of a row of the weight whose elements stand alone: four runs. Places stay below LOADS in code for other types too, which is
// compiled and not run: a driver that resolves places as it compiles writes where they point.
void plain_loads(uvec2 row, uint first, uint l, out uvec4 v[LOADS]) {
    [[unroll]] for (uint j = 0; j < PACK_RUNS; j++) {
        uint at = first + run_begin(TYPE_B, j, l);
        bool there = at < depth;
        if (TYPE_B == F32) {
            v[2 * j % LOADS] = there ? Vectors(row).v[at >> 2] : uvec4(0);
            v[(2 * j + 1) % LOADS] = there ? Vectors(row).v[(at >> 2) + 1] : uvec4(0);
        } else if (TYPE_B == F16 || TYPE_B == BF16) {
            v[j % LOADS] = there ? Vectors(row).v[at >> 3] : uvec4(0);
        } else {
            v[j % LOADS].xy = there ? Couples(row).v[at >> 3] : uvec2(0);
        }
    }
}

void plain_run(uvec4 v[LOADS], uint j, out vec4 low, out vec4 high) {
    if (TYPE_B == F32) {
        low = uintBitsToFloat(v[2 * j % LOADS]);
        high = uintBitsToFloat(v[(2 * j + 1) % LOADS]);
    } else if (TYPE_B == F16 || TYPE_B == BF16) {
        low = halves_of(TYPE_B, v[j % LOADS].xy);
        high = halves_of(TYPE_B, v[j % LOADS].zw);
    } else {
        low = fp8_of(TYPE_B, v[j % LOADS].x);
        high = fp8_of(TYPE_B, v[j % LOADS].y);
    }
}

const bool HAS_LEAST = TYPE_B == Q4_1 || TYPE_B == Q5_1 || TYPE_B == Q4_K || TYPE_B == Q5_K;

void main() {
    exact_halves = unpackHalf2x16(least_halves) == vec2(5.9604644775390625e-8);
    // Blocks that share rows of the weight follow each other, so that one of them finds these in the cache.
    uint turns = (rows + LINES - 1) / LINES;
    uint begin = group_number() / turns * COLUMNS;
    uint top = group_number() % turns * LINES;
    if (begin >= columns) {
        return;
    }
    uint line[LINES];
    [[unroll]] for (uint m = 0; m < LINES; m++) {
        line[m] = min(top + m, rows - 1);
    }
    uint chunks = (depth + PACK - 1) / PACK;
    uvec2 row[COLUMNS];
    Planes planes[COLUMNS];
    uint scale_at[COLUMNS];
    [[unroll]] for (uint c = 0; c < COLUMNS; c++) {
        // What lies past the end is not stored.
        uint n = min(begin + c, columns - 1);
        if (IS_PACKED) {
            planes[c] = planes_of(TYPE_B, b, columns, chunks, n);
        } else {
            row[c] = further_wide(b, n, row_b);
        }
        if (SCALED) {
            scale_at[c] = n / scale_rows * scale_row;
        }
    }
    float sums[LINES * COLUMNS];
    [[unroll]] for (uint i = 0; i < LINES * COLUMNS; i++) {
        sums[i] = 0.0;
    }
    // In blocks every piece that begins inside the depth is whole.
    uint items = stands_alone(TYPE_B) ? chunks * PACK_LANES : depth / 32;
    Piece next[COLUMNS];
    if (IS_PACKED && AHEAD && gl_LocalInvocationID.x < items) {
        [[unroll]] for (uint c = 0; c < COLUMNS; c++) {
            next[c] = piece_of(TYPE_B, planes[c], gl_LocalInvocationID.x / PACK_LANES, gl_LocalInvocationID.x % PACK_LANES);
        }
    }
    for (uint item = gl_LocalInvocationID.x; item < items; item += gl_WorkGroupSize.x) {
        uint chunk = item / PACK_LANES;
        uint l = item % PACK_LANES;
        uint first = chunk * PACK;
        Piece piece[COLUMNS];
        uvec4 loads[COLUMNS][LOADS];
        float scale[COLUMNS];
        float least[COLUMNS];
        // Behind the end the last is loaded again, and not used.
        uint ahead = min(item + gl_WorkGroupSize.x, items - 1);
        [[unroll]] for (uint c = 0; c < COLUMNS; c++) {
            scale[c] = 1.0;
            least[c] = 0.0;
            if (IS_PACKED) {
                if (AHEAD) {
                    piece[c] = next[c];
                    next[c] = piece_of(TYPE_B, planes[c], ahead / PACK_LANES, ahead % PACK_LANES);
                } else {
                    piece[c] = piece_of(TYPE_B, planes[c], chunk, l);
                }
                if (TYPE_B != Q6_K) {
                    piece_scales(TYPE_B, piece[c], 0, l, scale[c], least[c]);
                }
            } else if (WIDE_B) {
                plain_loads(row[c], first, l, loads[c]);
            }
        }
        [[unroll]] for (uint j = 0; j < PACK_RUNS; j++) {
            uint k = first + run_begin(TYPE_B, j, l);
            if (!stands_alone(TYPE_B) || k < depth) {
                vec4 a_low[LINES];
                vec4 a_high[LINES];
                float a_sum[LINES];
                [[unroll]] for (uint m = 0; m < LINES; m++) {
                    activations(line[m], k, a_low[m], a_high[m]);
                    if (HAS_LEAST) {
                        vec4 both = a_low[m] + a_high[m];
                        a_sum[m] = (both.x + both.y) + (both.z + both.w);
                    }
                }
                [[unroll]] for (uint c = 0; c < COLUMNS; c++) {
                    vec4 low, high;
                    if (IS_PACKED) {
                        piece_codes(TYPE_B, piece[c], j, low, high);
                        if (TYPE_B == Q6_K && j % 2 == 0) {
                            piece_scales(TYPE_B, piece[c], j, l, scale[c], least[c]);
                        }
                    } else if (WIDE_B) {
                        plain_run(loads[c], j, low, high);
                    } else if (stands_alone(TYPE_B)) {
                        format_values(TYPE_B, row[c], k, depth - k, low, high);
                    } else {
                        format_run(TYPE_B, row[c], k, low, high, scale[c], least[c]);
                    }
                    float by_scale = scale[c];
                    float by_least = least[c];
                    if (SCALED) {
                        // A run lies under one scale, by the guard.
                        float by = uintBitsToFloat(Words(b_scale).w[scale_at[c] + k / scale_depth * scale_column]);
                        by_scale = scale[c] * by;
                        by_least = least[c] * by;
                    }
                    [[unroll]] for (uint m = 0; m < LINES; m++) {
                        float sum = sums[m * COLUMNS + c];
                        if (stands_alone(TYPE_B) && !SCALED) {
                            [[unroll]] for (uint e = 0; e < 4; e++) {
                                sum = fma(a_low[m][e], low[e], sum);
                            }
                            [[unroll]] for (uint e = 0; e < 4; e++) {
                                sum = fma(a_high[m][e], high[e], sum);
                            }
                        } else {
                            float dot = a_low[m].x * low.x;
                            [[unroll]] for (uint e = 1; e < 4; e++) {
                                dot = fma(a_low[m][e], low[e], dot);
                            }
                            [[unroll]] for (uint e = 0; e < 4; e++) {
                                dot = fma(a_high[m][e], high[e], dot);
                            }
                            sum = fma(by_scale, dot, sum);
                            if (HAS_LEAST) {
                                sum = fma(by_least, a_sum[m], sum);
                            }
                        }
                        sums[m * COLUMNS + c] = sum;
                    }
                }
            }
        }
    }
    [[unroll]] for (uint i = 0; i < LINES * COLUMNS; i++) {
        float sum = subgroupAdd(sums[i]);
        if (subgroupElect()) {
            parts[gl_SubgroupID * LINES * COLUMNS + i] = sum;
        }
    }
    barrier();
    uint pairs = (COLUMNS + 1) / 2;
    for (uint i = gl_LocalInvocationID.x; i < LINES * pairs; i += gl_WorkGroupSize.x) {
        uint m = i / pairs;
        uint c = i % pairs * 2;
        uint n = begin + c;
        if (n < columns && top + m < rows) {
            uint count = min(min(columns - n, COLUMNS - c), 2);
            vec2 two = vec2(0);
            for (uint s = 0; s < gl_NumSubgroups; s++) {
                uint at = (s * LINES + m) * COLUMNS + c;
                two.x += parts[at];
                two.y += count > 1 ? parts[at + 1] : 0.0;
            }
            if (!absent(bias)) {
                two.x += load(TYPE_BIAS, bias, n);
                two.y += load(TYPE_BIAS, bias, min(n + 1, columns - 1));
            }
            store_two(TYPE_OUT, to, (top + m) * row_to + n, count, two.x, two.y);
        }
    }
}
