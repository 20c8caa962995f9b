#version 460
// out[t, d] = exp(y[d] - m) / sum of exp(y - m), where y = x[t, :] * scale and m is its greatest element. Three passes over a row: the
// greatest, the sum, the shares.

#include "glsl/rows.glsl"
#include "glsl/math.glsl"

layout(constant_id = 4) const uint TYPE_X = 0;
layout(constant_id = 5) const uint TYPE_OUT = 0;

layout(push_constant) uniform Push {
    uvec2 x;
    uvec2 to;
    uint rows;
    uint columns;
    uint row_x;
    uint row_to;
    float scale;
};

const uint MINUS_INFINITY = 0xff800000u;

bool is_nan(float value) {
    return (floatBitsToUint(value) & 0x7fffffffu) > 0x7f800000u;
}

void main() {
    uint row = row_number();
    uint chunks = row < rows ? chunks_of(columns) : 0;
    uint from = row * row_x;
    float v[CHUNK];
    float most = uintBitsToFloat(MINUS_INFINITY);
    // How many are NaN. They are no part of the greatest.
    float nans = 0.0;
    for (uint c = lane_number(); c < chunks; c += LANES) {
        uint d = c * CHUNK;
        load_chunk(TYPE_X, x, from + d, columns - d, 0.0, v);
        [[unroll]] for (uint k = 0; k < CHUNK; k++) {
            if (k < columns - d) {
                float y = v[k] * scale;
                if (is_nan(y)) {
                    nans += 1.0;
                } else if (y > most) {
                    most = y;
                }
            }
        }
    }
    most = row_max(most);
    nans = row_sum(nans);
    float sum = 0.0;
    for (uint c = lane_number(); c < chunks; c += LANES) {
        uint d = c * CHUNK;
        load_chunk(TYPE_X, x, from + d, columns - d, 0.0, v);
        [[unroll]] for (uint k = 0; k < CHUNK; k++) {
            sum += k < columns - d ? exponential(v[k] * scale - most) : 0.0;
        }
    }
    sum = row_sum(sum);
    // A row of NaN or with an infinity above all has no shares; one of nothing but -infinity has none to give.
    bool infinite = floatBitsToUint(most) == 0x7f800000u;
    bool nothing = floatBitsToUint(most) == MINUS_INFINITY;
    float share = 1.0 / sum;
    for (uint c = lane_number(); c < chunks; c += LANES) {
        uint d = c * CHUNK;
        load_chunk(TYPE_X, x, from + d, columns - d, 0.0, v);
        [[unroll]] for (uint k = 0; k < CHUNK; k++) {
            float value = exponential(v[k] * scale - most) * share;
            value = nothing ? 0.0 : value;
            v[k] = infinite || nans > 0.0 ? uintBitsToFloat(0x7fc00000u) : value;
        }
        store_chunk(TYPE_OUT, to, row * row_to + d, columns - d, v);
    }
}
