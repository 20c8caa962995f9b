#version 460
// out[m, n] = sum over k of a[m, k] * b[n, k], plus bias[n], for few rows of activations: weights are read once, and that is what it takes.
//
// A block takes LINES rows of activations, all there are, and COLUMNS rows of the weight; its invocations go along the depth. Each has 32
// elements of a chunk of 256, as `packed.glsl` deals them out, whether the weight is packed or not, so that both give the same bits. All
// loads of a step from the weight are begun before the first is used. Activations come from the cache next to the core.

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

// What a step needs of a row of the weight whose elements stand alone: four runs.
void plain_loads(uvec2 row, uint k, out uvec4 v[LOADS]) {
    [[unroll]] for (uint j = 0; j < PACK_RUNS; j++) {
        uint at = k + 64 * j;
        bool there = at < depth;
        if (TYPE_B == F32) {
            v[2 * j] = there ? Vectors(row).v[at >> 2] : uvec4(0);
            v[2 * j + 1] = there ? Vectors(row).v[(at >> 2) + 1] : uvec4(0);
        } else if (TYPE_B == F16 || TYPE_B == BF16) {
            v[j] = there ? Vectors(row).v[at >> 3] : uvec4(0);
        } else {
            v[j].xy = there ? Couples(row).v[at >> 3] : uvec2(0);
        }
    }
}

void plain_run(uvec4 v[LOADS], uint j, out vec4 low, out vec4 high) {
    if (TYPE_B == F32) {
        low = uintBitsToFloat(v[2 * j]);
        high = uintBitsToFloat(v[2 * j + 1]);
    } else if (TYPE_B == F16 || TYPE_B == BF16) {
        low = halves_of(TYPE_B, v[j].xy);
        high = halves_of(TYPE_B, v[j].zw);
    } else {
        low = fp8_of(TYPE_B, v[j].x);
        high = fp8_of(TYPE_B, v[j].y);
    }
}

const bool HAS_LEAST = TYPE_B == Q4_1 || TYPE_B == Q5_1 || TYPE_B == Q4_K || TYPE_B == Q5_K;

void main() {
    uint begin = group_number() * COLUMNS;
    if (begin >= columns) {
        return;
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
    for (uint item = gl_LocalInvocationID.x; item < chunks * PACK_LANES; item += gl_WorkGroupSize.x) {
        uint chunk = item / PACK_LANES;
        uint l = item % PACK_LANES;
        uint first = chunk * PACK + l * RUN;
        Piece piece[COLUMNS];
        uvec4 loads[COLUMNS][LOADS];
        [[unroll]] for (uint c = 0; c < COLUMNS; c++) {
            if (IS_PACKED) {
                piece[c] = piece_of(TYPE_B, planes[c], chunk, l);
            } else if (WIDE_B) {
                plain_loads(row[c], first, loads[c]);
            }
        }
        [[unroll]] for (uint j = 0; j < PACK_RUNS; j++) {
            uint k = first + 64 * j;
            if (k < depth) {
                vec4 a_low[LINES];
                vec4 a_high[LINES];
                float a_sum[LINES];
                [[unroll]] for (uint m = 0; m < LINES; m++) {
                    activations(m, k, a_low[m], a_high[m]);
                    if (HAS_LEAST) {
                        vec4 both = a_low[m] + a_high[m];
                        a_sum[m] = (both.x + both.y) + (both.z + both.w);
                    }
                }
                [[unroll]] for (uint c = 0; c < COLUMNS; c++) {
                    vec4 low, high;
                    float scale = 1.0;
                    float least = 0.0;
                    if (IS_PACKED) {
                        piece_run(TYPE_B, piece[c], j, l, low, high, scale, least);
                    } else if (WIDE_B) {
                        plain_run(loads[c], j, low, high);
                    } else if (stands_alone(TYPE_B)) {
                        format_values(TYPE_B, row[c], k, depth - k, low, high);
                    } else {
                        format_run(TYPE_B, row[c], k, low, high, scale, least);
                    }
                    if (SCALED) {
                        // A run lies under one scale, by the guard.
                        float by = uintBitsToFloat(Words(b_scale).w[scale_at[c] + k / scale_depth * scale_column]);
                        scale *= by;
                        least *= by;
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
                            sum = fma(scale, dot, sum);
                            if (HAS_LEAST) {
                                sum = fma(least, a_sum[m], sum);
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
        if (n < columns) {
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
            store_two(TYPE_OUT, to, m * row_to + n, count, two.x, two.y);
        }
    }
}
