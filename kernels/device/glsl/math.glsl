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

// Cosine and sine of the product of a position and a frequency, which may be many turns.
vec2 cosine_sine(float position, float frequency) {
    vec2 angle = two_product(position, frequency);
    // Quarter turns. pi/2 in four parts whose products with fewer than 2^13 of them are exact, and the same for what is more by steps.
    precise float n = roundEven(angle.x * 0.6366197723675814);
    // Three parts of pi/2, each product with its rounding.
    vec2 a = two_product(n, 1.5707963705062866);
    vec2 b = two_product(n, -4.371139000186241e-8);
    vec2 c = two_product(n, -1.7151245100059e-15);
    vec2 r = two_sum(angle.x, -a.x);
    precise float low = r.y + (angle.y - a.y);
    vec2 q = two_sum(r.x, -b.x);
    low = low + q.y - b.y - c.x;
    precise float x = q.x + low;
    precise float rest = (q.x - x) + low;
    precise float s = x * x;
    precise float sine = -1.9515295891e-4;
    sine = sine * s + 8.3321608736e-3;
    sine = sine * s - 1.6666654611e-1;
    sine = x + (sine * s * x + rest);
    precise float cosine = 2.443315711809948e-5;
    cosine = cosine * s - 1.388731625493765e-3;
    cosine = cosine * s + 4.166664568298827e-2;
    cosine = (1.0 - 0.5 * s) + (cosine * s * s - x * rest);
    int quarter = int(n - 4.0 * floor(n * 0.25));
    vec2 turned = (quarter & 1) == 1 ? vec2(-sine, cosine) : vec2(cosine, sine);
    return quarter >= 2 ? -turned : turned;
}

#endif
