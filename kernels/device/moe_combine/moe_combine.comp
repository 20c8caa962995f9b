#version 460
// out[t, d] = sum over s of weights[t, s] * x[t, s, d], plus shared[t, d] where it is given. An invocation takes eight neighbours of a row.

#include "glsl/chunks.glsl"

layout(constant_id = 3) const uint TYPE_X = 0;
layout(constant_id = 4) const uint TYPE_SHARED = 0;
layout(constant_id = 5) const uint TYPE_OUT = 0;

layout(push_constant) uniform Push {
    uvec2 x;
    uvec2 weights;
    uvec2 extra;
    uvec2 to;
    uint rows;
    uint slots;
    uint columns;
    uint row_x;
    uint slot_x;
    uint row_weights;
    uint row_extra;
    uint row_to;
};

void main() {
    uint number = group_number() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    uint chunks = chunks_of(columns);
    uint row = number / chunks;
    if (row >= rows) {
        return;
    }
    uint d = (number % chunks) * CHUNK;
    float sum[CHUNK];
    float v[CHUNK];
    [[unroll]] for (uint k = 0; k < CHUNK; k++) {
        sum[k] = 0.0;
    }
    for (uint s = 0; s < slots; s++) {
        float weight = uintBitsToFloat(Words(weights).w[row * row_weights + s]);
        load_chunk(TYPE_X, x, row * row_x + s * slot_x + d, columns - d, 0.0, v);
        [[unroll]] for (uint k = 0; k < CHUNK; k++) {
            sum[k] += weight * v[k];
        }
    }
    if (!absent(extra)) {
        load_chunk(TYPE_SHARED, extra, row * row_extra + d, columns - d, 0.0, v);
        [[unroll]] for (uint k = 0; k < CHUNK; k++) {
            sum[k] += v[k];
        }
    }
    store_chunk(TYPE_OUT, to, row * row_to + d, columns - d, sum);
}
