// Cosine and sine of a position times a frequency, however many turns that is.
//
// A position is a whole number, so whole turns of the frequency never matter: what is left of it is a fraction of a turn, and the position
// times that fraction, modulo a turn, is a product of whole numbers in 64 bits. Nothing is rounded before the angle is within an eighth of a
// turn. The fraction is cut at 2^-64 of a turn, so that at a position of 2^31 the angle is off by 2^-33 of a turn at most, 7.3e-10.

#ifndef ANGLE
#define ANGLE

#include "glsl/math.glsl"

// Words of 1 / (2 pi), from the point on.
uint inverse_turn(int word) {
    switch (word) {
        case 0: return 0x28be60dbu;
        case 1: return 0x9391054au;
        case 2: return 0x7f09d5f4u;
        case 3: return 0x7d4d3770u;
        case 4: return 0x36d8a566u;
        case 5: return 0x4f10e410u;
        // The last that the greatest float reaches: its lowest bit stands for 2^104.
        case 6: return 0x7f9458eau;
        default: return 0u;
    }
}

// 32 bits that begin `shift` bits after those of `high`.
uint funnel(uint high, uint low, uint shift) {
    return shift == 0 ? high : (high << shift) | (low >> (32 - shift));
}

// What is left of a frequency in radians without its whole turns, in 2^-64 of a turn, the low word first. Any finite float; a negative one
// gives the rest to a whole turn.
uvec2 turns_of(float frequency) {
    uint bits = floatBitsToUint(frequency);
    uint exponent = (bits >> 23) & 0xffu;
    uint mantissa = (bits & 0x7fffffu) | (exponent > 0 ? 0x800000u : 0u);
    // The frequency is the mantissa times 2^place. Of 2^place / (2 pi), the 96 bits behind the point.
    int place = int(max(exponent, 1u)) - 150;
    int word = place >> 5;
    uint shift = uint(place & 31);
    uint w[4];
    [[unroll]] for (int i = 0; i < 4; i++) {
        w[i] = inverse_turn(word + i);
    }
    uint high = funnel(w[0], w[1], shift);
    uint middle = funnel(w[1], w[2], shift);
    uint low = funnel(w[2], w[3], shift);
    // The upper 64 of the product's 96 bits.
    uint low_over, low_rest, middle_over, middle_rest, carry;
    umulExtended(mantissa, low, low_over, low_rest);
    umulExtended(mantissa, middle, middle_over, middle_rest);
    uvec2 turns;
    turns.x = uaddCarry(low_over, middle_rest, carry);
    turns.y = mantissa * high + middle_over + carry;
    if ((bits >> 31) != 0) {
        turns = uvec2(~turns.x + 1, ~turns.y + uint(turns.x == 0));
    }
    return turns;
}

// Cosine and sine of so many times a fraction of a turn.
vec2 cosine_sine(uint position, uvec2 turns) {
    uint high, low;
    umulExtended(position, turns.x, high, low);
    high += position * turns.y;
    // Quarters of a turn to the nearest, and what is over as a size and a sign.
    uint quarter = (high + 0x20000000u) >> 30;
    high -= quarter << 30;
    bool negative = int(high) < 0;
    if (negative) {
        high = ~high + uint(low == 0);
        low = ~low + 1;
    }
    float x = 0.0;
    float rest = 0.0;
    if ((high | low) != 0) {
        uint shift = high != 0 ? 31 - uint(findMSB(high)) : 63 - uint(findMSB(low));
        if (shift >= 32) {
            high = low << (shift - 32);
            low = 0;
        } else {
            high = funnel(high, low, shift);
            low <<= shift;
        }
        // 48 bits in two floats, times 2 pi in two.
        float first = float(high >> 8) * 5.9604644775390625e-8;
        float second = float(((high & 0xffu) << 16) | (low >> 16)) * 3.5527136788005009e-15;
        vec2 product = two_product(first, 6.2831854820251465);
        precise float small = product.y + (second * 6.2831854820251465 - first * 1.7484556e-7);
        precise float angle = product.x + small;
        precise float lost = (product.x - angle) + small;
        float size = power_of_two(-int(shift));
        size = negative ? -size : size;
        x = angle * size;
        rest = lost * size;
    }
    precise float s = x * x;
    precise float sine = -1.9515295891e-4;
    sine = sine * s + 8.3321608736e-3;
    sine = sine * s - 1.6666654611e-1;
    sine = x + (sine * s * x + rest);
    precise float cosine = 2.443315711809948e-5;
    cosine = cosine * s - 1.388731625493765e-3;
    cosine = cosine * s + 4.166664568298827e-2;
    cosine = (1.0 - 0.5 * s) + (cosine * s * s - x * rest);
    vec2 turned = (quarter & 1) == 1 ? vec2(-sine, cosine) : vec2(cosine, sine);
    return (quarter & 2) == 2 ? -turned : turned;
}

#endif
