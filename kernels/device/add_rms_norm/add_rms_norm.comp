#version 460
// residual[t, d] += x[t, d], rounded to its type; out[t, d] = residual[t, d] * (weight[d] + offset) / sqrt(mean of the row's squares + eps).

#include "glsl/rows.glsl"

layout(constant_id = 4) const uint TYPE_X = 0;
layout(constant_id = 5) const uint TYPE_RESIDUAL = 0;
layout(constant_id = 6) const uint TYPE_WEIGHT = 0;

layout(push_constant) uniform Push {
    uvec2 x;
    uvec2 residual;
    uvec2 weight;
    uvec2 to;
    uint rows;
    uint columns;
    uint row_x;
    uint row_residual;
    uint row_to;
    float eps;
    float offset;
};

void main() {
    uint row = row_number();
    uint chunks = row < rows ? chunks_of(columns) : 0;
    float v[CHUNK];
    float w[CHUNK];
    float squares = 0.0;
    for (uint c = lane_number(); c < chunks; c += LANES) {
        uint d = c * CHUNK;
        load_chunk(TYPE_X, x, row * row_x + d, columns - d, 0.0, v);
        load_chunk(TYPE_RESIDUAL, residual, row * row_residual + d, columns - d, 0.0, w);
        [[unroll]] for (uint k = 0; k < CHUNK; k++) {
            v[k] = rounded(TYPE_RESIDUAL, v[k] + w[k]);
            squares += v[k] * v[k];
        }
        store_chunk(TYPE_RESIDUAL, residual, row * row_residual + d, columns - d, v);
    }
    float factor = inversesqrt(row_sum(squares) / float(columns) + eps);
    // Each invocation reads what it has written itself.
    for (uint c = lane_number(); c < chunks; c += LANES) {
        uint d = c * CHUNK;
        load_chunk(TYPE_RESIDUAL, residual, row * row_residual + d, columns - d, 0.0, v);
        load_chunk(TYPE_WEIGHT, weight, d, columns - d, 0.0, w);
        [[unroll]] for (uint k = 0; k < CHUNK; k++) {
            v[k] = v[k] * factor * (w[k] + offset);
        }
        store_chunk(TYPE_X, to, row * row_to + d, columns - d, v);
    }
}
