// The whole of a gated activation but its function: out[t, d] = gated(gate, up), of a row of `x` that holds both, in halves or in turns. Who
// includes this defines `gated`, and may give words of push constants to it by `PARAMETERS`.

#ifndef GATED
#define GATED

#include "glsl/chunks.glsl"
#include "glsl/math.glsl"

layout(constant_id = 3) const uint TYPE = 0;
// Whether gate and what is gated alternate.
layout(constant_id = 4) const uint INTERLEAVED = 0;

#ifndef PARAMETERS
#define PARAMETERS
#endif

layout(push_constant) uniform Push {
    uvec2 x;
    uvec2 to;
    uint rows;
    uint columns;
    uint row_x;
    uint row_to;
    PARAMETERS
};

float gated(float gate, float up);

// a * sigmoid(y) * b. The exponential is taken of half of y, so that it underflows only where the result does.
float times_sigmoid(float a, float y, float b) {
    float h = exponential(-0.5 * abs(y));
    float share = y < 0.0 ? h : 1.0;
    return (a * share) * (b * share) / (1.0 + h * h);
}

void main() {
    uint number = group_number() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    uint chunks = chunks_of(columns);
    uint row = number / chunks;
    if (row >= rows) {
        return;
    }
    uint d = (number % chunks) * CHUNK;
    uint count = columns - d;
    uint begin = row * row_x;
    float gate[CHUNK];
    float up[CHUNK];
    if (INTERLEAVED != 0) {
        float first[CHUNK];
        float second[CHUNK];
        load_chunk(TYPE, x, begin + 2 * d, 2 * count, 0.0, first);
        load_chunk(TYPE, x, begin + 2 * d + CHUNK, count > CHUNK / 2 ? 2 * count - CHUNK : 0, 0.0, second);
        [[unroll]] for (uint k = 0; k < CHUNK / 2; k++) {
            gate[k] = first[2 * k];
            up[k] = first[2 * k + 1];
            gate[k + CHUNK / 2] = second[2 * k];
            up[k + CHUNK / 2] = second[2 * k + 1];
        }
    } else {
        load_chunk(TYPE, x, begin + d, count, 0.0, gate);
        load_chunk(TYPE, x, begin + columns + d, count, 0.0, up);
    }
    [[unroll]] for (uint k = 0; k < CHUNK; k++) {
        gate[k] = gated(gate[k], up[k]);
    }
    store_chunk(TYPE, to, row * row_to + d, count, gate);
}

#endif
