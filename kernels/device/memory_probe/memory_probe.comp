#version 460
// The sum of a buffer that is read once, in vectors of 16 bytes, some under way at a time. Each block leaves a sum, and a second launch adds
// those up.

#include "glsl/chunks.glsl"
#include "glsl/reduce.glsl"

layout(push_constant) uniform Push {
    uvec2 x;
    uvec2 to;
    uint count;
};

const uint DEPTH = 4;

float sum_of(uvec4 words) {
    vec4 v = uintBitsToFloat(words);
    return (v.x + v.y) + (v.z + v.w);
}

void main() {
    uint threads = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    uint me = gl_GlobalInvocationID.x;
    // Elements before the first vector and after the last stand alone.
    uint head = min(((16 - (x.x & 15)) & 15) / 4, count);
    uint vectors = (count - head) / 4;
    Vectors body = Vectors(further(x, 4 * head));
    float sum = 0.0;
    uint v = me;
    for (; v + (DEPTH - 1) * threads < vectors; v += DEPTH * threads) {
        uvec4 words[DEPTH];
        [[unroll]] for (uint k = 0; k < DEPTH; k++) {
            words[k] = body.v[v + k * threads];
        }
        [[unroll]] for (uint k = 0; k < DEPTH; k++) {
            sum += sum_of(words[k]);
        }
    }
    for (; v < vectors; v += threads) {
        sum += sum_of(body.v[v]);
    }
    uint tail = head + 4 * vectors;
    if (me < head) {
        sum += uintBitsToFloat(Words(x).w[me]);
    }
    if (me < count - tail) {
        sum += uintBitsToFloat(Words(x).w[tail + me]);
    }
    sum = block_sum(sum);
    if (gl_LocalInvocationID.x == 0) {
        Words(to).w[gl_WorkGroupID.x] = floatBitsToUint(sum);
    }
}
