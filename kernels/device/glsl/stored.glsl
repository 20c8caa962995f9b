// Writing the types of a cache: 8-bit floats and blocks of codes besides those of `elements.glsl`, as bytes wherever they lie.

#ifndef STORED
#define STORED

#include "glsl/chunks.glsl"

// Elements of a block.
const uint BLOCK = 32;
// Words that the bytes of a unit take at most: a block of q8_0 has 34 bytes.
const uint UNIT_WORDS = 9;

// fp8_e4m3fn, to the nearest, ties to even. Finite numbers beyond 448 become 448; it has no infinities, which become NaN.
uint to_e4m3fn(float value) {
    uint bits = floatBitsToUint(value);
    uint sign = (bits >> 24) & 0x80u;
    uint size = bits & 0x7fffffffu;
    if (size >= 0x7f800000u) {
        return sign | 0x7fu;
    }
    if (size >= 0x43e00000u) {
        return sign | 0x7eu;
    }
    if (size < 0x3c800000u) {
        // Below the least normal number: a whole number of 2^-9.
        return sign | uint(roundEven(uintBitsToFloat(size) * 512.0));
    }
    return sign | ((size - 0x3c000000u + 0x7ffffu + ((size >> 20) & 1)) >> 20);
}

// fp8_e5m2, in the same way; beyond 57344 is 57344, and infinities stay.
uint to_e5m2(float value) {
    uint bits = floatBitsToUint(value);
    uint sign = (bits >> 24) & 0x80u;
    uint size = bits & 0x7fffffffu;
    if (size >= 0x7f800000u) {
        return sign | (size > 0x7f800000u ? 0x7eu : 0x7cu);
    }
    if (size >= 0x47600000u) {
        return sign | 0x7bu;
    }
    if (size < 0x38800000u) {
        return sign | uint(roundEven(uintBitsToFloat(size) * 65536.0));
    }
    return sign | ((size - 0x38000000u + 0xfffffu + ((size >> 21) & 1)) >> 21);
}

// Writes `count` bytes to any address. Words that hold other bytes too are changed in these bytes alone.
void put_bytes(uvec2 to, uint count, uint w[UNIT_WORDS]) {
    uint skew = to.x & 3;
    uvec2 base = uvec2(to.x - skew, to.y);
    uint end = skew + count;
    [[unroll]] for (uint k = 0; k <= UNIT_WORDS; k++) {
        if (4 * k < end) {
            uint before = k > 0 ? w[(k + UNIT_WORDS - 1) % UNIT_WORDS] : 0;
            uint here = k < UNIT_WORDS ? w[k % UNIT_WORDS] : 0;
            uint word = skew == 0 ? here : (here << (8 * skew)) | (before >> (32 - 8 * skew));
            uint from = k == 0 ? skew : 0;
            uint left = end - 4 * k;
            if (from == 0 && left >= 4) {
                Words(base).w[k] = word;
            } else {
                uint mask = left >= 4 ? 0xffffffffu : (1u << (8 * left)) - 1;
                mask &= ~((1u << (8 * from)) - 1);
                put_bits(base, k, word & mask, mask);
            }
        }
    }
}

// Writes `count` of eight neighbours whose elements stand alone.
void put_chunk(uint type, uvec2 to, uint count, float v[CHUNK]) {
    uint w[UNIT_WORDS];
    [[unroll]] for (uint k = 0; k < UNIT_WORDS; k++) {
        w[k] = 0;
    }
    if (type == F32) {
        [[unroll]] for (uint k = 0; k < CHUNK; k++) {
            w[k] = floatBitsToUint(v[k]);
        }
    } else if (type == F16 || type == BF16) {
        [[unroll]] for (uint k = 0; k < 4; k++) {
            w[k] = encoded(type, v[2 * k]) | (encoded(type, v[2 * k + 1]) << 16);
        }
    } else {
        [[unroll]] for (uint k = 0; k < CHUNK; k++) {
            w[k / 4] |= (type == FP8_E4M3FN ? to_e4m3fn(v[k]) : to_e5m2(v[k])) << (8 * (k % 4));
        }
    }
    if (count == CHUNK && bytes_of(type) > 1 && (to.x & 15) == 0) {
        Vectors(to).v[0] = uvec4(w[0], w[1], w[2], w[3]);
        if (type == F32) {
            Vectors(to).v[1] = uvec4(w[4], w[5], w[6], w[7]);
        }
        return;
    }
    put_bytes(to, count * bytes_of(type), w);
}

// Bytes of a block.
uint block_bytes(uint type) {
    return type == Q8_0 ? 34 : type == Q4_0 ? 18 : type == Q5_0 ? 22 : 24;
}

// Writes a block of q8_0, q4_0, q5_0 or q5_1. Scale and codes are chosen as the library of the format does.
void put_block(uint type, uvec2 to, float v[BLOCK]) {
    uint w[UNIT_WORDS];
    [[unroll]] for (uint k = 0; k < UNIT_WORDS; k++) {
        w[k] = 0;
    }
    float least = v[0];
    float most = v[0];
    [[unroll]] for (uint k = 1; k < BLOCK; k++) {
        least = min(least, v[k]);
        most = max(most, v[k]);
    }
    float size = max(abs(least), abs(most));
    if (type == Q8_0) {
        float d = size / 127.0;
        float inverse = d == 0.0 ? 0.0 : 1.0 / d;
        w[0] = to_f16(d);
        [[unroll]] for (uint k = 0; k < BLOCK; k++) {
            float x = v[k] * inverse;
            // To nearest, halves away from zero.
            int code = int(sign(x) * floor(abs(x) + 0.5));
            uint at = k + 2;
            w[at / 4] |= (uint(clamp(code, -127, 127)) & 0xffu) << (8 * (at % 4));
        }
        put_bytes(to, 34, w);
        return;
    }
    bool five = type != Q4_0;
    float middle = five ? 16.0 : 8.0;
    float d;
    float shift;
    if (type == Q5_1) {
        d = (most - least) / 31.0;
        shift = 0.5;
    } else {
        // The value of greatest magnitude gets code 0, whatever its sign. Of two the first counts.
        float extreme = most;
        if (-least == most) {
            bool seen = false;
            [[unroll]] for (uint k = 0; k < BLOCK; k++) {
                if (!seen && abs(v[k]) == size) {
                    extreme = v[k];
                    seen = true;
                }
            }
        } else if (-least > most) {
            extreme = least;
        }
        d = extreme / -middle;
        shift = middle + 0.5;
    }
    float inverse = d == 0.0 ? 0.0 : 1.0 / d;
    uint low[4] = uint[4](0, 0, 0, 0);
    uint high = 0;
    uint greatest = five ? 31 : 15;
    [[unroll]] for (uint k = 0; k < BLOCK; k++) {
        float x = type == Q5_1 ? v[k] - least : v[k];
        uint code = min(uint(max(x * inverse + shift, 0.0)), greatest);
        low[(k % 16) / 4] |= (code & 15) << (8 * (k % 4) + 4 * (k / 16));
        high |= (code >> 4) << k;
    }
    if (type == Q5_1) {
        w[0] = to_f16(d) | (to_f16(least) << 16);
        w[1] = high;
        [[unroll]] for (uint k = 0; k < 4; k++) {
            w[k + 2] = low[k];
        }
        put_bytes(to, 24, w);
        return;
    }
    // A scale of two bytes comes first, so that words are put together from halves.
    uint first = five ? 1 : 0;
    w[0] = to_f16(d);
    if (five) {
        w[0] |= high << 16;
        w[1] = high >> 16;
    }
    [[unroll]] for (uint k = 0; k < 4; k++) {
        w[first + k] |= low[k] << 16;
        w[first + k + 1] |= low[k] >> 16;
    }
    put_bytes(to, five ? 22 : 18, w);
}

#endif
