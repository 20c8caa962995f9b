#version 460
// out[t, d] = (u + 1) * g * sigmoid(alpha * g), where g is the gate, at most `limit`, and u the other half, within `limit` of 0.

#define PARAMETERS float limit; float alpha;
#include "glsl/gated.glsl"

float gated(float gate, float up) {
    // Comparisons, which leave a NaN as it is.
    gate = gate > limit ? limit : gate;
    up = up > limit ? limit : up < -limit ? -limit : up;
    return times_sigmoid(gate, alpha * gate, up + 1.0);
}
