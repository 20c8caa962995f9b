#version 460
// out[m, n] = sum over k of a[m, k] * b[n, k], plus bias[n]. A block takes four rows and two columns.

#define LINES 4
#define COLUMNS 2
#include "matmul_bt/lines.glsl"

layout(constant_id = 3) const uint TYPE_A = 0;
layout(constant_id = 4) const uint TYPE_B = 0;
layout(constant_id = 5) const uint TYPE_OUT = 0;
layout(constant_id = 6) const uint TYPE_BIAS = 0;
layout(constant_id = 7) const bool SCALED = false;

layout(push_constant) uniform Push {
    uvec2 a;
    uvec2 b;
    uvec2 b_scale;
    uvec2 bias;
    uvec2 to;
    // Bytes between rows of the weight.
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

void main() {
    uint pairs = (columns + 1) / 2;
    uint group = group_number();
    uint n = group % pairs * 2;
    uint m = group / pairs * LINES;
    if (m >= rows) {
        return;
    }
    uint line[LINES];
    [[unroll]] for (uint l = 0; l < LINES; l++) {
        // What lies past the end is not stored.
        line[l] = min(m + l, rows - 1) * row_a;
    }
    uvec2 column[COLUMNS];
    uint number[COLUMNS];
    [[unroll]] for (uint c = 0; c < COLUMNS; c++) {
        number[c] = min(n + c, columns - 1);
        column[c] = further_wide(b, number[c], row_b);
    }
    line_sums(TYPE_A, TYPE_B, SCALED, a, line, column, number, depth, Scales(b_scale, scale_rows, scale_depth, scale_row, scale_column));
    uint l = gl_LocalInvocationID.x;
    if (l < LINES && m + l < rows) {
        float first = line_sum(l, 0);
        float second = line_sum(l, 1);
        if (!absent(bias)) {
            first += load(TYPE_BIAS, bias, number[0]);
            second += load(TYPE_BIAS, bias, number[1]);
        }
        store_two(TYPE_OUT, to, (m + l) * row_to + n, min(columns - n, 2), first, second);
    }
}
