#version 460
// Activations as `int8_activations` has them: each block of 32 columns in whole multiples of its greatest magnitude over 127. An invocation
// takes a block, and leaves values in f32 in rows without gaps but for the last columns.

#include "glsl/chunks.glsl"
#include "glsl/math.glsl"

layout(constant_id = 3) const uint TYPE_A = 0;

layout(push_constant) uniform Push {
    uvec2 a;
    uvec2 to;
    // A row is a pair of numbers: two strides of the source, one of the result.
    uint rows;
    uint slots;
    uint depth;
    uint row_a;
    uint slot_a;
    uint row_to;
};

const uint BLOCK = 32;

// x / y rounded to the nearest, which a division of Vulkan need not be: what it leaves is found exactly and divided again.
float divided(float x, float y) {
    float q = x / y;
    if (y < 1e-30 || y > 1e30) {
        return q;
    }
    vec2 product = two_product(q, y);
    precise float rest = (x - product.x) - product.y;
    precise float better = q + rest / y;
    return better;
}

void main() {
    uint blocks = (depth + BLOCK - 1) / BLOCK;
    uint number = group_number() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    uint row = number / blocks;
    if (row >= rows) {
        return;
    }
    uint k = number % blocks * BLOCK;
    uint at = row / slots * row_a + row % slots * slot_a;
    float v[BLOCK];
    float greatest = 0.0;
    [[unroll]] for (uint c = 0; c < BLOCK / CHUNK; c++) {
        float some[CHUNK];
        uint begin = k + c * CHUNK;
        load_chunk(TYPE_A, a, at + begin, begin < depth ? depth - begin : 0, 0.0, some);
        [[unroll]] for (uint e = 0; e < CHUNK; e++) {
            v[c * CHUNK + e] = some[e];
            greatest = max(greatest, abs(some[e]));
        }
    }
    float inverse = greatest == 0.0 ? 0.0 : divided(127.0, greatest);
    float step = divided(greatest, 127.0);
    [[unroll]] for (uint c = 0; c < BLOCK / CHUNK; c++) {
        float some[CHUNK];
        [[unroll]] for (uint e = 0; e < CHUNK; e++) {
            precise float code = v[c * CHUNK + e] * inverse;
            some[e] = roundEven(code) * step;
        }
        uint begin = k + c * CHUNK;
        store_chunk(F32, to, row * row_to + begin, begin < depth ? depth - begin : 0, some);
    }
}
