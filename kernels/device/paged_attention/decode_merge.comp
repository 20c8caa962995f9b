#version 460
// Attention of requests with one query row: the second of two passes. A block joins the parts of one head of one request, which the first
// pass (decode_split) has left, and writes the row.

#include "glsl/elements.glsl"
#include "glsl/math.glsl"
#include "glsl/reduce.glsl"
#include "paged_attention/cache.glsl"
#include "paged_attention/parts.glsl"

const uint BLOCK = 128;
// Parts of a request, which the provider knows too.
const uint MOST_PARTS = 256;

layout(constant_id = 3) const uint TYPE_OUT = 0;
layout(constant_id = 4) const uint VALUE_WIDTH = 64;
layout(constant_id = 5) const uint CAUSAL = 1;
layout(constant_id = 6) const uint TILE = 256;

layout(push_constant) uniform Push {
    uvec2 sums;
    uvec2 logits;
    uvec2 lengths;
    uvec2 starts;
    uvec2 sinks;
    uvec2 to;
    uint requests;
    uint heads;
    uint parts;
    uint most_parts;
    uint to_row;
    uint to_head;
    float value_scale;
    int window;
};

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Quads {
    vec4 q[];
};

#include "paged_attention/output.glsl"

shared float weights[MOST_PARTS];
shared vec4 joined[BLOCK];

void main() {
    uint lane = gl_LocalInvocationID.x;
    uint number = group_number();
    uint request = number / heads;
    uint head = number % heads;
    if (request >= requests) {
        return;
    }
    uint row = Words(starts).w[request];
    if (Words(starts).w[request + 1] == row) {
        return;
    }
    int length = int(Words(lengths).w[request]);
    ivec2 seen = visible(length - 1, length, CAUSAL != 0, window);
    uint count = seen.y > seen.x ? parts_of(seen, TILE, most_parts) : 0;

    float most = absent(sinks) ? uintBitsToFloat(0xff800000u) : load(F32, sinks, head);
    uint entry = number * parts;
    float mine = uintBitsToFloat(0xff800000u);
    for (uint i = lane; i < count; i += BLOCK) {
        mine = max(mine, load(F32, logits, 2 * (entry + i)));
    }
    most = max(most, block_max(mine));
    float total = 0.0;
    for (uint i = lane; i < count; i += BLOCK) {
        float weight = exponential(load(F32, logits, 2 * (entry + i)) - most);
        weights[i] = weight;
        total += weight * load(F32, logits, 2 * (entry + i) + 1);
    }
    total = block_sum(total);
    if (!absent(sinks)) {
        total += exponential(load(F32, sinks, head) - most);
    }

    // `block_sum` has barriers of its own, so that weights are there. Four elements of every so manieth part.
    const uint quads = VALUE_WIDTH / 4;
    const uint sets = BLOCK / quads;
    uint set = lane / quads;
    vec4 sum = vec4(0.0);
    if (set < sets) {
        for (uint i = set; i < count; i += sets) {
            sum += weights[i] * Quads(further_by(sums, entry + i, 4 * VALUE_WIDTH)).q[lane % quads];
        }
    }
    joined[lane] = sum;
    barrier();
    if (lane < quads) {
        for (uint i = 1; i < sets; i++) {
            sum += joined[lane + i * quads];
        }
        for (uint i = 0; i < 4; i++) {
            result[4 * lane + i] = sum[i];
        }
    }
    barrier();
    write_result(row * to_row + head * to_head, count > 0 ? value_scale / total : 0.0);
}
