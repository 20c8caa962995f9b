// A paged cache of keys or values: where a head's row lies, what of it is visible, and its elements, four at a time.

#ifndef CACHE
#define CACHE

#include "glsl/elements.glsl"

// A head's row: the word in which it begins, and the bytes of that word before it.
struct Row {
    uvec2 words;
    uint skip;
};

// An address `count * bytes` further on, where a stride itself may need 64 bits, its low word first.
uvec2 further_long(uvec2 address, uint count, uint low, uint high) {
    uvec2 at = further_by(address, count, low);
    return uvec2(at.x, at.y + count * high);
}

// The row at an address. A tensor begins on a whole word, but not each of its rows.
Row row_at(uvec2 address) {
    return Row(uvec2(address.x & ~3u, address.y), address.x & 3);
}

// Keys that a query at `position` sees of a sequence, from the first to the end, which is at the first where it sees none.
ivec2 visible(int position, int length, bool causal, int window) {
    int begin = 0;
    int end = causal ? position + 1 : length;
    if (window > 0) {
        // A window beyond the sequence is cut, so that no sum leaves 31 bits.
        begin = position - min(window, length) + 1;
        end = min(end, position + min(window, length - position));
    }
    end = clamp(end, 0, max(length, 0));
    return ivec2(clamp(begin, 0, end), end);
}

// The four bytes from byte `at` on, which need not be a whole word. Of a whole one no other is read.
uint bytes_at(uvec2 t, uint at) {
    uint word = at >> 2;
    uint shift = 8 * (at & 3);
    uint bits = Words(t).w[word];
    if (shift != 0) {
        bits = (bits >> shift) | (Words(t).w[word + 1] << (32 - shift));
    }
    return bits;
}

// Bytes of an element, or of a block of 32.
uint unit_bytes(uint type) {
    switch (type) {
        case F32: return 4;
        case F16:
        case BF16: return 2;
        case Q8_0: return 34;
        case Q4_0: return 18;
        case Q5_0: return 22;
        case Q5_1: return 24;
        default: return 1;
    }
}

vec4 low_bits(uint codes, uint d) {
    uint bits = (codes >> ((d & 16) == 0 ? 0 : 4)) & 0x0f0f0f0fu;
    return vec4(bits & 0xff, (bits >> 8) & 0xff, (bits >> 16) & 0xff, bits >> 24);
}

vec4 fifth_bits(uint bits, uint d) {
    bits >>= d & 31;
    return vec4((bits & 1) << 4, (bits & 2) << 3, (bits & 4) << 2, (bits & 8) << 1);
}

// Elements `d` to `d + 3` of a row of so many elements, where `d` is a multiple of 4; zeros behind the row's end.
vec4 quad(uint type, Row row, uint d, uint width) {
    uvec2 t = row.words;
    if (type >= Q8_0) {
        // A row of whole blocks, each with its scale first.
        uint at = row.skip + (d >> 5) * unit_bytes(type);
        float scale = from_f16(half_at(t, at >> 1));
        if (type == Q8_0) {
            int bits = int(bytes_at(t, at + 2 + (d & 31)));
            return scale * vec4((bits << 24) >> 24, (bits << 16) >> 24, (bits << 8) >> 24, bits >> 24);
        }
        if (type == Q4_0) {
            return scale * (low_bits(bytes_at(t, at + 2 + (d & 15)), d) - 8.0);
        }
        if (type == Q5_0) {
            return scale * (low_bits(bytes_at(t, at + 6 + (d & 15)), d) + fifth_bits(bytes_at(t, at + 2), d) - 16.0);
        }
        float least = from_f16(half_at(t, (at >> 1) + 1));
        return scale * (low_bits(bytes_at(t, at + 8 + (d & 15)), d) + fifth_bits(bytes_at(t, at + 4), d)) + least;
    }
    uint first = row.skip / unit_bytes(type);
    if (d + 4 > width) {
        vec4 some = vec4(0.0);
        for (uint i = 0; d + i < width; i++) {
            some[i] = load(type, t, first + d + i);
        }
        return some;
    }
    uint at = row.skip + d * unit_bytes(type);
    if (type == F32) {
        uint word = at >> 2;
        return uintBitsToFloat(
            uvec4(Words(t).w[word], Words(t).w[word + 1], Words(t).w[word + 2], Words(t).w[word + 3]));
    }
    uint low = bytes_at(t, at);
    if (type == F16 || type == BF16) {
        uint high = bytes_at(t, at + 4);
        uvec4 halves = uvec4(low & 0xffffu, low >> 16, high & 0xffffu, high >> 16);
        return type == BF16
            ? vec4(from_bf16(halves.x), from_bf16(halves.y), from_bf16(halves.z), from_bf16(halves.w))
            : vec4(from_f16(halves.x), from_f16(halves.y), from_f16(halves.z), from_f16(halves.w));
    }
    uvec4 codes = uvec4(low & 0xff, (low >> 8) & 0xff, (low >> 16) & 0xff, low >> 24);
    return type == FP8_E4M3FN
        ? vec4(from_e4m3fn(codes.x), from_e4m3fn(codes.y), from_e4m3fn(codes.z), from_e4m3fn(codes.w))
        : vec4(from_e5m2(codes.x), from_e5m2(codes.y), from_e5m2(codes.z), from_e5m2(codes.w));
}

#endif
