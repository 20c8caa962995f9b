#version 460
// out[g] = sum over `steps` passes of four products of f32, each a fused multiply-add on operands in registers. An invocation takes an output;
// its four sums wait for each other no more than those of the invocations beside it.

#include "glsl/elements.glsl"

layout(push_constant) uniform Push {
    uvec2 a;
    uvec2 b;
    uvec2 to;
    uint outputs;
    uint steps;
    uint step_a;
    uint step_b;
    uint step_to;
};

void main() {
    uint g = group_number() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (g >= outputs) {
        return;
    }
    vec4 first;
    vec4 second;
    [[unroll]] for (uint i = 0; i < 4; i++) {
        uint at = 4 * (g % 8) + i;
        first[i] = uintBitsToFloat(Words(a).w[at * step_a]);
        second[i] = uintBitsToFloat(Words(b).w[at * step_b]);
    }
    precise vec4 sum = vec4(0.0);
    for (uint s = 0; s < steps; s++) {
        sum = fma(first, second, sum);
    }
    Words(to).w[g * step_to] = floatBitsToUint((sum.x + sum.y) + (sum.z + sum.w));
}
