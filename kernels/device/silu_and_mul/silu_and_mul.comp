#version 460
// out[t, d] = silu(x[t, d]) * x[t, D + d], where silu(g) = g * sigmoid(g).

#include "glsl/gated.glsl"

float gated(float gate, float up) {
    return times_sigmoid(gate, gate, up);
}
