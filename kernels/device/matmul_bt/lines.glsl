// Sums of a few rows of activations times a few rows of a weight, all of one block, whose invocations go along the depth in runs of eight.
//
// Before this file is read: LINES and COLUMNS, how many of each. A sum's order hangs on the block's size alone, not on what else the block takes.

#ifndef LINES_OF_A_BLOCK
#define LINES_OF_A_BLOCK

#include "glsl/formats.glsl"
#include "matmul_bt/outputs.glsl"
#include "matmul_bt/scales.glsl"

#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require

// Subgroups of a block of 64, of four invocations at least.
const uint MOST_SUBGROUPS = 16;

shared float line_parts[MOST_SUBGROUPS * LINES * COLUMNS];

// `a` begins with the first line's row; line `l` of the block begins at element `line[l]`, column `c` of the weight is row `number[c]`, at
// `column[c]`. Afterwards every invocation may ask for the sums.
void line_sums(
    uint type_a, uint type_b, bool scaled_b, uvec2 a, uint line[LINES], uvec2 column[COLUMNS], uint number[COLUMNS], uint depth, Scales scales
) {
    float sums[LINES * COLUMNS];
    [[unroll]] for (uint i = 0; i < LINES * COLUMNS; i++) {
        sums[i] = 0.0;
    }
    for (uint k = RUN * gl_LocalInvocationID.x; k < depth; k += RUN * gl_WorkGroupSize.x) {
        uint count = depth - k;
        vec4 low[COLUMNS];
        vec4 high[COLUMNS];
        [[unroll]] for (uint c = 0; c < COLUMNS; c++) {
            format_values(type_b, column[c], k, count, low[c], high[c]);
            if (scaled_b) {
                apply_scales(scales, number[c], k, count, low[c], high[c]);
            }
        }
        [[unroll]] for (uint l = 0; l < LINES; l++) {
            float v[CHUNK];
            load_chunk(type_a, a, line[l] + k, count, 0.0, v);
            [[unroll]] for (uint c = 0; c < COLUMNS; c++) {
                float sum = sums[l * COLUMNS + c];
                [[unroll]] for (uint e = 0; e < 4; e++) {
                    sum = fma(v[e], low[c][e], sum);
                }
                [[unroll]] for (uint e = 0; e < 4; e++) {
                    sum = fma(v[e + 4], high[c][e], sum);
                }
                sums[l * COLUMNS + c] = sum;
            }
        }
    }
    [[unroll]] for (uint i = 0; i < LINES * COLUMNS; i++) {
        float sum = subgroupAdd(sums[i]);
        if (subgroupElect()) {
            line_parts[gl_SubgroupID * LINES * COLUMNS + i] = sum;
        }
    }
    barrier();
}

// A sum of the block.
float line_sum(uint l, uint c) {
    float sum = 0.0;
    for (uint i = 0; i < gl_NumSubgroups; i++) {
        sum += line_parts[(i * LINES + l) * COLUMNS + c];
    }
    return sum;
}

#endif
