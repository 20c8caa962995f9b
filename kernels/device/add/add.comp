#version 460
// out[t, d] = a[t, d] + b[t, d]. An invocation takes two neighbours of a row.

#include "glsl/elements.glsl"

layout(constant_id = 3) const uint TYPE_A = 0;
layout(constant_id = 4) const uint TYPE_B = 0;
layout(constant_id = 5) const uint TYPE_OUT = 0;

layout(push_constant) uniform Push {
    uvec2 a;
    uvec2 b;
    uvec2 to;
    uint rows;
    uint columns;
    uint row_a;
    uint row_b;
    uint row_to;
    // Invocations of a row: its pairs, and one more where a row may begin in the middle of a word.
    uint pairs;
};

void main() {
    uint number = group_number() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    uint row = number / pairs;
    if (row >= rows) {
        return;
    }
    uint begin = row * row_to;
    // Pairs are whole words of the output, so that no two invocations write one word of a row.
    int column = int((number % pairs) * 2) - int(begin & 1);
    bool first = column >= 0 && column < int(columns);
    bool second = column + 1 < int(columns);
    float x = first ? load(TYPE_A, a, row * row_a + column) + load(TYPE_B, b, row * row_b + column) : 0.0;
    float y = second ? load(TYPE_A, a, row * row_a + column + 1) + load(TYPE_B, b, row * row_b + column + 1) : 0.0;
    uint at = begin + column;
    if (first && second) {
        store_pair(TYPE_OUT, to, at, x, y);
    } else if (first) {
        store(TYPE_OUT, to, at, x);
    } else if (second) {
        store(TYPE_OUT, to, at + 1, y);
    }
}
