#version 460
// Chooses the experts of a token, a block for each. An expert's place in the order is the number of those before it, which an invocation
// counts for some experts; so places are right for equal keys too, and nothing is sorted.

#include "glsl/elements.glsl"
#include "glsl/math.glsl"
#include "glsl/reduce.glsl"

// The block's size, which the provider knows too.
const uint BLOCK = 128;

layout(constant_id = 3) const uint TYPE = 0;
layout(constant_id = 4) const uint EXPERTS = 1;
layout(constant_id = 5) const uint GROUPS = 1;
layout(constant_id = 6) const uint TOP_GROUPS = 1;
layout(constant_id = 7) const uint GROUP_SCORE = 1;
layout(constant_id = 8) const uint SIGMOID = 0;
layout(constant_id = 9) const uint RENORMALISE = 0;

layout(push_constant) uniform Push {
    uvec2 logits;
    uvec2 bias;
    uvec2 weights;
    uvec2 chosen;
    uint rows;
    uint wanted;
    uint row_logits;
    uint row_weights;
    uint row_chosen;
    float scale;
};

// Experts of a group.
const uint SIZE = EXPERTS / GROUPS;

shared float scores[EXPERTS];
shared float keys[EXPERTS];
// Keys of each group in descending order.
shared float ordered[EXPERTS];
shared float group_keys[GROUPS];
shared uint allowed[GROUPS];

void main() {
    uint row = group_number();
    if (row >= rows) {
        return;
    }
    uint lane = gl_LocalInvocationID.x;
    uint begin = row * row_logits;
    if (SIGMOID != 0) {
        for (uint e = lane; e < EXPERTS; e += BLOCK) {
            scores[e] = 1.0 / (1.0 + exponential(-load(TYPE, logits, begin + e)));
        }
    } else {
        float most = uintBitsToFloat(0xff800000u);
        for (uint e = lane; e < EXPERTS; e += BLOCK) {
            most = max(most, load(TYPE, logits, begin + e));
        }
        most = block_max(most);
        float total = 0.0;
        for (uint e = lane; e < EXPERTS; e += BLOCK) {
            float score = exponential(load(TYPE, logits, begin + e) - most);
            scores[e] = score;
            total += score;
        }
        total = block_sum(total);
        // Each invocation divides what it wrote itself.
        for (uint e = lane; e < EXPERTS; e += BLOCK) {
            scores[e] = scores[e] / total;
        }
    }
    for (uint e = lane; e < EXPERTS; e += BLOCK) {
        keys[e] = scores[e] + (absent(bias) ? 0.0 : load(F32, bias, e));
    }
    barrier();

    if (TOP_GROUPS < GROUPS) {
        for (uint e = lane; e < EXPERTS; e += BLOCK) {
            uint first = e / SIZE * SIZE;
            uint place = 0;
            for (uint other = first; other < first + SIZE; other++) {
                place += uint(keys[other] > keys[e] || (keys[other] == keys[e] && other < e));
            }
            ordered[first + place] = keys[e];
        }
        barrier();
        // In descending order, so that groups of equal keys have equal sums wherever these stand in them.
        for (uint g = lane; g < GROUPS; g += BLOCK) {
            float sum = 0.0;
            for (uint i = 0; i < GROUP_SCORE; i++) {
                sum += ordered[g * SIZE + i];
            }
            group_keys[g] = sum;
        }
        barrier();
        for (uint g = lane; g < GROUPS; g += BLOCK) {
            uint place = 0;
            for (uint other = 0; other < GROUPS; other++) {
                place += uint(group_keys[other] > group_keys[g] || (group_keys[other] == group_keys[g] && other < g));
            }
            allowed[g] = uint(place < TOP_GROUPS);
        }
        barrier();
    }

    float sum = 0.0;
    for (uint e = lane; e < EXPERTS; e += BLOCK) {
        uint place = wanted;
        if (TOP_GROUPS >= GROUPS || allowed[e / SIZE] != 0) {
            place = 0;
            for (uint other = 0; other < EXPERTS; other++) {
                bool counts = TOP_GROUPS >= GROUPS || allowed[other / SIZE] != 0;
                place += uint(counts && (keys[other] > keys[e] || (keys[other] == keys[e] && other < e)));
            }
        }
        if (place < wanted) {
            Words(chosen).w[row * row_chosen + place] = e;
            sum += scores[e];
        }
        // Its place, for when the sum is known.
        ordered[e] = float(place);
    }
    float factor = scale;
    if (RENORMALISE != 0) {
        sum = block_sum(sum);
        factor = sum > 0.0 ? scale / sum : scale;
    }
    for (uint e = lane; e < EXPERTS; e += BLOCK) {
        uint place = uint(ordered[e]);
        if (place < wanted) {
            Words(weights).w[row * row_weights + place] = floatBitsToUint(scores[e] * factor);
        }
    }
}
