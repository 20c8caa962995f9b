// Functions to the last bits of f32. What the specification of Vulkan asks of exp, sin and the like is far less than what ops promise.

#ifndef MATH
#define MATH

// 2^n for n from -126 to 127.
float power_of_two(int n) {
    return uintBitsToFloat(uint(n + 127) << 23);
}

// A float times 2^n, for results that are normal numbers, zero or infinity.
float scaled(float x, int n) {
    int half_n = n / 2;
    return x * power_of_two(half_n) * power_of_two(n - half_n);
}

// e^x, within 1.5 units in the last place.
float exponential(float x) {
    if (isnan(x)) {
        return x;
    }
    if (x > 88.73) {
        return uintBitsToFloat(0x7f800000u);
    }
    if (x < -87.3) {
        // What is left would be a denormal.
        return 0.0;
    }
    precise float n = roundEven(x * 1.4426950408889634);
    // ln 2 in two parts, of which the first times n is exact.
    precise float r = x - n * 0.693359375;
    r = r - n * -2.12194440e-4;
    precise float p = 1.9875691500e-4;
    p = p * r + 1.3981999507e-3;
    p = p * r + 8.3334519073e-3;
    p = p * r + 4.1665795894e-2;
    p = p * r + 1.6666665459e-1;
    p = p * r + 5.0000001201e-1;
    precise float value = p * (r * r) + r + 1.0;
    return scaled(value, int(n));
}

// tanh x.
float hyperbolic_tangent(float x) {
    float size = abs(x);
    if (size < 0.625) {
        precise float s = x * x;
        precise float p = -5.70498872745e-3;
        p = p * s + 2.06390887954e-2;
        p = p * s - 5.37397155531e-2;
        p = p * s + 1.33314422036e-1;
        p = p * s - 3.33332819422e-1;
        return p * s * x + x;
    }
    if (size > 9.1) {
        return x > 0.0 ? 1.0 : -1.0;
    }
    precise float value = 1.0 - 2.0 / (exponential(2.0 * size) + 1.0);
    return x > 0.0 ? value : -value;
}

// A sum of two floats and what its rounding lost.
vec2 two_sum(float a, float b) {
    precise float s = a + b;
    precise float v = s - a;
    precise float e = (a - (s - v)) + (b - v);
    return vec2(s, e);
}

// A product of two floats and what its rounding lost, without a fused instruction, which not every driver has.
vec2 two_product(float a, float b) {
    precise float p = a * b;
    precise float t = 4097.0 * a;
    precise float ah = t - (t - a);
    precise float al = a - ah;
    precise float u = 4097.0 * b;
    precise float bh = u - (u - b);
    precise float bl = b - bh;
    precise float e = ((ah * bh - p) + ah * bl + al * bh) + al * bl;
    return vec2(p, e);
}

#endif
