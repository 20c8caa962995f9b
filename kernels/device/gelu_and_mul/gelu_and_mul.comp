#version 460
// out[t, d] = gelu(x[t, d]) * x[t, D + d].

#include "glsl/gated.glsl"

// Whether gelu(g) is g times the normal distribution's cumulative function, or the form with a hyperbolic tangent.
layout(constant_id = 5) const uint ERF = 0;

// m times the normal distribution's cumulative function of x, whose relative error the rounding of x * x dominates, in the lower tail too.
//
// The tail below -a is exp(-a * a / 2) * R(a), R smooth. R = t * P(t - T0) with t = 1 / (1 + 0.3 * a); P meets it at the Chebyshev points of
// 0 to 19, and is off by 2.5e-8 of it at most.
float times_cumulative(float x, float m) {
    float a = abs(x);
    float t = 1.0 / (1.0 + 0.3 * a);
    float u = t - 0.57462686;
    float p = -0.020918868;
    p = p * u + 0.0057677417;
    p = p * u + 0.04363022;
    p = p * u - 0.015353808;
    p = p * u - 0.0893188;
    p = p * u - 0.0023675594;
    p = p * u + 0.22617644;
    p = p * u + 0.39655232;
    p = p * u + 0.38457668;
    p = p * u + 0.24855576;
    float ratio = t * p;
    // As a square, so that it underflows only far behind the result.
    float h = exponential(-0.25 * (a * a));
    return x < 0.0 ? (m * h) * (h * ratio) : m * (1.0 - (h * h) * ratio);
}

float gated(float gate, float up) {
    if (ERF != 0) {
        return times_cumulative(gate, gate * up);
    }
    // The tangent's form is a sigmoid of 2 * sqrt(2 / pi) * (g + 0.044715 * g^3).
    float y = gate * (1.5957691216 + 0.0713548163 * (gate * gate));
    return times_sigmoid(gate, y, up);
}
