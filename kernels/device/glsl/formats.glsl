// Elements of weights in any format, read through whole words wherever their bytes lie.
//
// A row is the address of its first byte, of any alignment: blocks of 34, 18 or 17 bytes begin anywhere. The layouts are those of GGUF files,
// as `kernels/src/host/blocks` has them. A value is `scale * code + least`, where a code is a small whole number; types whose elements stand
// alone have themselves as codes, under a scale of one.

#ifndef FORMATS
#define FORMATS

#include "glsl/chunks.glsl"

// Whether the device's own conversion of f16 is exact, for denormals too. A shader that has tried it says so before it reads this file.
#ifndef EXACT_HALVES
#define EXACT_HALVES false
#endif

// The value of an f16, of whose word the upper half may be anything.
float half_value(uint word) {
    return EXACT_HALVES ? unpackHalf2x16(word).x : from_f16(word & 0xffffu);
}

// The values of both halves of a word.
vec2 half_values(uint word) {
    return EXACT_HALVES ? unpackHalf2x16(word) : vec2(from_f16(word & 0xffffu), from_f16(word >> 16));
}

// Elements that are read together.
const uint RUN = 8;

// Whether elements have bytes of their own.
bool stands_alone(uint type) {
    return type <= FP8_E5M2;
}

// Elements of a block; 1 where elements stand alone.
uint format_elements(uint type) {
    return stands_alone(type) ? 1 : type == Q4_K || type == Q5_K || type == Q6_K ? 256 : 32;
}

// Bytes of a block, or of an element that stands alone.
uint format_bytes(uint type) {
    switch (type) {
        case F32: return 4;
        case F16: return 2;
        case BF16: return 2;
        case Q8_0: return 34;
        case Q4_0: return 18;
        case Q4_1: return 20;
        case Q5_0: return 22;
        case Q5_1: return 24;
        case Q4_K: return 144;
        case Q5_K: return 176;
        case Q6_K: return 210;
        case MXFP4: return 17;
        default: return 1;
    }
}

// Bytes from a row's beginning to element `k`; inside a block the element has none of its own, and its block's are meant.
uint format_offset(uint type, uint k) {
    return k / format_elements(type) * format_bytes(type);
}

// An address `count` times so many bytes further on; the bytes in 64 bits.
uvec2 further_wide(uvec2 address, uint count, uvec2 bytes) {
    uvec2 to = further_by(address, count, bytes.x);
    to.y += count * bytes.y;
    return to;
}

// The word that begins at a byte. Words that hold none of its bytes are not read.
uint word_from(uvec2 row, uint at) {
    uint begin = (row.x & 3) + at;
    uint shift = 8 * (begin & 3);
    Words words = Words(uvec2(row.x & ~3u, row.y));
    uint low = words.w[begin >> 2];
    return shift == 0 ? low : (low >> shift) | (words.w[(begin >> 2) + 1] << (32 - shift));
}

// Two words that follow each other.
uvec2 words_from(uvec2 row, uint at) {
    uint begin = (row.x & 3) + at;
    uint shift = 8 * (begin & 3);
    Words words = Words(uvec2(row.x & ~3u, row.y));
    uvec2 low = uvec2(words.w[begin >> 2], words.w[(begin >> 2) + 1]);
    if (shift == 0) {
        return low;
    }
    return (low >> shift) | (uvec2(low.y, words.w[(begin >> 2) + 2]) << (32 - shift));
}

uint byte_from(uvec2 row, uint at) {
    uint begin = (row.x & 3) + at;
    return (Words(uvec2(row.x & ~3u, row.y)).w[begin >> 2] >> (8 * (begin & 3))) & 0xffu;
}

// Sixteen bits that lie in one word: every half of a format begins at an even byte.
uint half_from(uvec2 row, uint at) {
    uint begin = (row.x & 3) + at;
    return (Words(uvec2(row.x & ~3u, row.y)).w[begin >> 2] >> (8 * (begin & 3))) & 0xffffu;
}

// Four codes, one in each byte, less `middle`. A code in the last bits of 2^23 is a float without a conversion, of which devices do few at a
// time; taking 2^23 off again, at the code's place, is exact.
vec4 codes_less(uint word, float middle) {
    uint high = word >> 16;
    vec4 first = uintBitsToFloat((uvec4(word, word, high, high) & uvec4(0xffu, 0xff00u, 0xffu, 0xff00u)) | 0x4b000000u);
    float whole = -8388608.0 - middle;
    float part = -32768.0 - middle;
    return vec4(first.x + whole, fma(first.y, 0.00390625, part), first.z + whole, fma(first.w, 0.00390625, part));
}

vec4 codes_of(uint word) {
    return codes_less(word, 0.0);
}

// The same with signs.
vec4 signed_codes_of(uint word) {
    return codes_less(word ^ 0x80808080u, 128.0);
}

// Eight codes of four bits, less `middle`: those of the low halves of bytes and those of the high ones.
void nibbles_less(uint word, float middle, out vec4 low, out vec4 high) {
    uint upper = word >> 16;
    vec4 first = uintBitsToFloat((uvec4(word, word, upper, upper) & uvec4(0xfu, 0xf00u, 0xfu, 0xf00u)) | 0x4b000000u);
    vec4 second = uintBitsToFloat((uvec4(word, word, upper, upper) & uvec4(0xf0u, 0xf000u, 0xf0u, 0xf000u)) | 0x4b000000u);
    float at0 = -8388608.0 - middle;
    float at4 = -524288.0 - middle;
    float at8 = -32768.0 - middle;
    float at12 = -2048.0 - middle;
    low = vec4(first.x + at0, fma(first.y, 0.00390625, at8), first.z + at0, fma(first.w, 0.00390625, at8));
    high = vec4(fma(second.x, 0.0625, at4), fma(second.y, 0.000244140625, at12), fma(second.z, 0.0625, at4), fma(second.w, 0.000244140625, at12));
}

// Twice the values of four e2m1 codes, the low four bits of each byte. The format's library has no negative zero.
vec4 e2m1_of(uint word) {
    if (EXACT_HALVES) {
        // As f16, whose bias 2^14 makes up for. Zero may have a sign here, which no sum shows.
        uint upper = word >> 8;
        vec2 even = unpackHalf2x16(((word & 0x00070007u) << 9) | ((word & 0x00080008u) << 12));
        vec2 odd = unpackHalf2x16(((upper & 0x00070007u) << 9) | ((upper & 0x00080008u) << 12));
        return 32768.0 * vec4(even.x, odd.x, even.y, odd.y);
    }
    uvec4 code = uvec4(word, word >> 8, word >> 16, word >> 24) & 15u;
    // 0 1 2 3 4 6 8 12, four bits each.
    ivec4 size = ivec4((uvec4(0xc8643210u) >> (4 * (code & 7u))) & 15u);
    return vec4(mix(size, -size, greaterThan(code, uvec4(7))));
}

// Bit `i` of each of eight codes, from the bits of a byte, as the bit above the low four.
uvec2 fifth_bits(uint bits) {
    uint low = bits & 15u;
    uint high = (bits >> 4) & 15u;
    // Each bit to a byte of its own: copies of the four bits 7 apart, of which one bit a byte is kept.
    return ((uvec2(low, high) * 0x00204081u) & 0x01010101u) << 4;
}

// 2^(exponent - 128), the half of a scale of mxfp4. The two smallest are denormal.
float e8m0_half(uint exponent) {
    return uintBitsToFloat(exponent >= 2 ? (exponent - 1) << 23 : 0x200000u << exponent);
}

// Scale and minimum of group `j` of q4_K and q5_K, from the three words that hold those of all eight.
uvec2 group_scales(uvec3 packed, uint j) {
    uint shift = 8 * (j & 3);
    uvec3 bytes = (packed >> shift) & 0xffu;
    return j < 4 ? bytes.xy & 63u : uvec2((bytes.z & 15u) | ((bytes.x >> 6) << 4), (bytes.z >> 4) | ((bytes.y >> 6) << 4));
}

// Eight bytes of low codes from which four bits are taken, at `shift`.
uvec2 nibbles_from(uvec2 row, uint at, uint shift) {
    return (words_from(row, at) >> shift) & 0x0f0f0f0fu;
}

// Four elements of 8-bit floats. Through f16 where that is exact: e5m2 is its upper byte; e4m3fn has its fields three bits lower and another
// bias, which 2^8 makes up for. Only the NaN of e4m3fn is none there.
vec4 fp8_of(uint type, uint word) {
    if (EXACT_HALVES && type == FP8_E5M2) {
        vec2 even = unpackHalf2x16((word << 8) & 0xff00ff00u);
        vec2 odd = unpackHalf2x16(word & 0xff00ff00u);
        return vec4(even.x, odd.x, even.y, odd.y);
    }
    bool nan = (((word & 0x7f7f7f7fu) + 0x01010101u) & 0x80808080u) != 0;
    if (EXACT_HALVES && !nan) {
        uint upper = word >> 8;
        vec2 even = unpackHalf2x16(((word & 0x007f007fu) << 7) | ((word & 0x00800080u) << 8));
        vec2 odd = unpackHalf2x16(((upper & 0x007f007fu) << 7) | ((upper & 0x00800080u) << 8));
        return 256.0 * vec4(even.x, odd.x, even.y, odd.y);
    }
    return vec4(from_fp8(type, word & 0xffu), from_fp8(type, (word >> 8) & 0xffu), from_fp8(type, (word >> 16) & 0xffu), from_fp8(type, word >> 24));
}

// Four elements of 16 bits.
vec4 halves_of(uint type, uvec2 words) {
    if (type == F16) {
        return vec4(half_values(words.x), half_values(words.y));
    }
    return uintBitsToFloat(uvec4(words.x << 16, words.x & 0xffff0000u, words.y << 16, words.y & 0xffff0000u));
}

// One element that stands alone.
float lone(uint type, uvec2 row, uint k) {
    switch (type) {
        case F32: return uintBitsToFloat(word_from(row, 4 * k));
        case F16: return half_value(half_from(row, 2 * k));
        case BF16: return from_bf16(half_from(row, 2 * k));
        default: return from_fp8(type, byte_from(row, k));
    }
}

// Eight elements of a format whose elements stand alone.
void lone_run(uint type, uvec2 row, uint k, out vec4 low, out vec4 high) {
    if (type == FP8_E4M3FN || type == FP8_E5M2) {
        uvec2 words = words_from(row, k);
        low = fp8_of(type, words.x);
        high = fp8_of(type, words.y);
        return;
    }
    uint bytes = format_bytes(type);
    uint at = k * bytes;
    if (((row.x + at) & 15) == 0) {
        Vectors wide = Vectors(further(row, at));
        uvec4 first = wide.v[0];
        if (type == F32) {
            low = uintBitsToFloat(first);
            high = uintBitsToFloat(wide.v[1]);
        } else {
            low = halves_of(type, first.xy);
            high = halves_of(type, first.zw);
        }
    } else if (type == F32) {
        low = uintBitsToFloat(uvec4(words_from(row, at), words_from(row, at + 8)));
        high = uintBitsToFloat(uvec4(words_from(row, at + 16), words_from(row, at + 24)));
    } else {
        low = halves_of(type, words_from(row, at));
        high = halves_of(type, words_from(row, at + 8));
    }
}

// The codes of elements `k` to `k + 7`, of which `k` is a multiple of eight; value = scale * code + least. All eight are there.
void format_run(uint type, uvec2 row, uint k, out vec4 low, out vec4 high, out float scale, out float least) {
    scale = 1.0;
    least = 0.0;
    if (stands_alone(type)) {
        lone_run(type, row, k, low, high);
        return;
    }
    uint at = format_offset(type, k);
    // Four-bit codes of a block of 32 lie in 16 bytes: the low bits are the first half, the high ones the second.
    uint i = k & 31;
    uint half_at_byte = i & 8;
    uint half_shift = (i >> 4) * 4;
    if (type == Q8_0) {
        uvec2 words = words_from(row, at + 2 + i);
        scale = half_value(half_from(row, at));
        low = signed_codes_of(words.x);
        high = signed_codes_of(words.y);
    } else if (type == Q4_0) {
        uvec2 words = nibbles_from(row, at + 2 + half_at_byte, half_shift);
        scale = half_value(half_from(row, at));
        low = codes_less(words.x, 8.0);
        high = codes_less(words.y, 8.0);
    } else if (type == Q4_1) {
        uvec2 words = nibbles_from(row, at + 4 + half_at_byte, half_shift);
        scale = half_value(half_from(row, at));
        least = half_value(half_from(row, at + 2));
        low = codes_of(words.x);
        high = codes_of(words.y);
    } else if (type == Q5_0) {
        uvec2 words = nibbles_from(row, at + 6 + half_at_byte, half_shift);
        words |= fifth_bits(byte_from(row, at + 2 + i / 8));
        scale = half_value(half_from(row, at));
        low = codes_less(words.x, 16.0);
        high = codes_less(words.y, 16.0);
    } else if (type == Q5_1) {
        uvec2 words = nibbles_from(row, at + 8 + half_at_byte, half_shift);
        words |= fifth_bits(byte_from(row, at + 4 + i / 8));
        scale = half_value(half_from(row, at));
        least = half_value(half_from(row, at + 2));
        low = codes_of(words.x);
        high = codes_of(words.y);
    } else if (type == Q4_K || type == Q5_K) {
        uint group = (k >> 5) & 7;
        uvec2 words = nibbles_from(row, at + (type == Q5_K ? 48 : 16) + (group >> 1) * 32 + i, (group & 1) * 4);
        if (type == Q5_K) {
            words |= ((words_from(row, at + 16 + i) >> group) & 0x01010101u) << 4;
        }
        uint halves = word_from(row, at);
        uvec3 packed = uvec3(words_from(row, at + 4), word_from(row, at + 12));
        vec2 scales = vec2(group_scales(packed, group));
        scale = half_value(halves) * scales.x;
        least = -(half_value(halves >> 16) * scales.y);
        low = codes_of(words.x);
        high = codes_of(words.y);
    } else if (type == Q6_K) {
        uint part = (k >> 7) & 1;
        uint run = (k >> 5) & 3;
        uvec2 words = nibbles_from(row, at + part * 64 + (run & 1) * 32 + i, (run >> 1) * 4);
        words |= ((words_from(row, at + 128 + part * 32 + i) >> (2 * run)) & 0x03030303u) << 4;
        int by = int(byte_from(row, at + 192 + ((k >> 4) & 15)) << 24) >> 24;
        scale = half_value(half_from(row, at + 208)) * float(by);
        low = codes_less(words.x, 32.0);
        high = codes_less(words.y, 32.0);
    } else {
        uvec2 words = nibbles_from(row, at + 1 + half_at_byte, half_shift);
        scale = e8m0_half(byte_from(row, at));
        low = e2m1_of(words.x);
        high = e2m1_of(words.y);
    }
}

// The values of eight elements, of which `count` are there: the others are zero and not read. Block formats have all or none.
void format_values(uint type, uvec2 row, uint k, uint count, out vec4 low, out vec4 high) {
    if (count >= RUN) {
        float scale, least;
        format_run(type, row, k, low, high, scale, least);
        if (!stands_alone(type)) {
            precise vec4 first = low * scale;
            precise vec4 second = high * scale;
            low = first + least;
            high = second + least;
        }
        return;
    }
    low = vec4(0);
    high = vec4(0);
    if (stands_alone(type)) {
        [[unroll]] for (uint e = 0; e < RUN; e++) {
            if (e < count) {
                float value = lone(type, row, k + e);
                if (e < 4) {
                    low[e] = value;
                } else {
                    high[e - 4] = value;
                }
            }
        }
    }
}

// Elements that are there of sixteen and of 32, in runs of eight: block formats have all of them.
void format_values_16(uint type, uvec2 row, uint k, out vec4 v[4]) {
    [[unroll]] for (uint r = 0; r < 2; r++) {
        format_values(type, row, k + RUN * r, RUN, v[2 * r], v[2 * r + 1]);
    }
}

void format_values_32(uint type, uvec2 row, uint k, out vec4 v[8]) {
    [[unroll]] for (uint r = 0; r < 4; r++) {
        format_values(type, row, k + RUN * r, RUN, v[2 * r], v[2 * r + 1]);
    }
}

// One element.
float format_element(uint type, uvec2 row, uint k) {
    if (stands_alone(type)) {
        return lone(type, row, k);
    }
    vec4 low, high;
    format_values(type, row, k & ~7u, RUN, low, high);
    uint e = k & 3;
    vec4 four = (k & 4) == 0 ? low : high;
    return e == 0 ? four.x : e == 1 ? four.y : e == 2 ? four.z : four.w;
}

#endif
