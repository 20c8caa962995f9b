#version 460
// out[t, s, n] = sum over k of a[t, s, k] * b[e, n, k], plus bias[e, n], with e = experts[t, s]; zeros where e is negative. A block takes one row
// and eight columns.

#define LINES 1
#define COLUMNS 8
#include "matmul_bt/lines.glsl"

layout(constant_id = 3) const uint TYPE_A = 0;
layout(constant_id = 4) const uint TYPE_B = 0;
layout(constant_id = 5) const uint TYPE_OUT = 0;
layout(constant_id = 6) const uint TYPE_BIAS = 0;
layout(constant_id = 7) const bool SCALED = false;
// Extents of a weight and its scales, and how scales are shared: constants, since there is no room for them beside the strides.
layout(constant_id = 8) const uint EXPERTS = 1;
layout(constant_id = 9) const uint SCALE_ROWS = 1;
layout(constant_id = 10) const uint SCALE_DEPTH = 1;

layout(push_constant) uniform Push {
    uvec2 a;
    uvec2 b;
    uvec2 experts;
    uvec2 b_scale;
    uvec2 bias;
    uvec2 to;
    // Bytes between experts' weights and between their rows.
    uvec2 matrix_b;
    uvec2 row_b;
    uint rows;
    uint slots;
    uint columns;
    uint depth;
    uint row_a;
    uint slot_a;
    uint row_experts;
    uint slot_experts;
    uint row_to;
    uint slot_to;
    uint scale_matrix;
    uint scale_row;
    uint scale_column;
    uint bias_matrix;
};

void main() {
    uint across = (columns + COLUMNS - 1) / COLUMNS;
    uint group = group_number();
    uint n = group % across * COLUMNS;
    uint row = group / across;
    if (row >= rows * slots) {
        return;
    }
    uint t = row / slots;
    uint s = row % slots;
    int chosen = int(Words(experts).w[t * row_experts + s * slot_experts]);
    // What is not there is not read, and shows.
    bool outside = chosen >= int(EXPERTS);
    bool none = chosen < 0 || outside;
    uint expert = none ? 0 : uint(chosen);
    uint line[LINES];
    line[0] = t * row_a + s * slot_a;
    uvec2 matrix = further_wide(b, expert, matrix_b);
    uvec2 column[COLUMNS];
    uint number[COLUMNS];
    [[unroll]] for (uint c = 0; c < COLUMNS; c++) {
        number[c] = min(n + c, columns - 1);
        column[c] = further_wide(matrix, number[c], row_b);
    }
    Scales scales = Scales(further_by(b_scale, expert, 4 * scale_matrix), SCALE_ROWS, SCALE_DEPTH, scale_row, scale_column);
    line_sums(TYPE_A, TYPE_B, SCALED, a, line, column, number, none ? 0 : depth, scales);
    uint c = 2 * gl_LocalInvocationID.x;
    if (c < COLUMNS && n + c < columns) {
        vec2 two = vec2(line_sum(0, c), line_sum(0, c + 1));
        if (!absent(bias) && !none) {
            uint at = expert * bias_matrix + n + c;
            two.x += load(TYPE_BIAS, bias, at);
            two.y += n + c + 1 < columns ? load(TYPE_BIAS, bias, at + 1) : 0.0;
        }
        if (outside) {
            two = uintBitsToFloat(uvec2(0x7fc00000u));
        }
        store_two(TYPE_OUT, to, t * row_to + s * slot_to + n + c, min(columns - n - c, 2), two.x, two.y);
    }
}
