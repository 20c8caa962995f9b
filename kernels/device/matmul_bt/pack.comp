#version 460
// A weight in blocks, put into the planes of `packed.glsl`. An invocation takes what a lane has of a chunk.

#include "glsl/packed.glsl"

layout(constant_id = 3) const uint TYPE = 0;

layout(push_constant) uniform Push {
    uvec2 b;
    uvec2 to;
    // Bytes between matrices and between rows.
    uvec2 matrix_b;
    uvec2 row_b;
    uint matrices;
    uint rows;
    uint depth;
};

// The bytes of a block's codes, without what stands above their low four bits: eight from `at`.
uvec2 low_codes(uvec2 row, uint at, uint shift) {
    return (words_from(row, at) >> shift) & 0x0f0f0f0fu;
}

// Four pairs of bits, from the low bits of four bytes.
uint four_pairs(uint bytes) {
    return (bytes & 3u) | ((bytes >> 6) & 12u) | ((bytes >> 12) & 48u) | ((bytes >> 18) & 192u);
}

// Four bits, from the lowest of four bytes.
uint four_bits(uint bytes) {
    return (bytes & 1u) | ((bytes >> 7) & 2u) | ((bytes >> 14) & 4u) | ((bytes >> 21) & 8u);
}

void main() {
    uint chunks = (depth + PACK - 1) / PACK;
    uint number = group_number() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    uint l = number % PACK_LANES;
    uint chunk = number / PACK_LANES % chunks;
    uint line = number / PACK_LANES / chunks;
    if (line >= matrices * rows) {
        return;
    }
    uvec2 row = further_wide(further_wide(b, line / rows, matrix_b), line % rows, row_b);
    Planes p = planes_of(TYPE, to, matrices * rows, chunks, line);
    uvec4 codes[2] = uvec4[2](uvec4(0), uvec4(0));
    uvec2 above = uvec2(0);
    uvec4 scales = uvec4(0);
    [[unroll]] for (uint j = 0; j < PACK_RUNS; j++) {
        uint k = chunk * PACK + run_begin(TYPE, j, l);
        if (k < depth) {
            uint at = format_offset(TYPE, k);
            uint i = k & 31;
            uint half_byte = i & 8;
            uint half_shift = (i >> 4) * 4;
            uint group = (k >> 5) & 7;
            uint scale = 0;
            uint high = 0;
            uvec2 words;
            if (TYPE == Q8_0) {
                words = words_from(row, at + 2 + i);
                scale = half_from(row, at);
                codes[j >> 1][2 * (j & 1)] = words.x;
                codes[j >> 1][2 * (j & 1) + 1] = words.y;
            } else if (TYPE == Q4_0 || TYPE == Q4_1) {
                words = low_codes(row, at + (TYPE == Q4_1 ? 4 : 2) + half_byte, half_shift);
                scale = TYPE == Q4_1 ? word_from(row, at) : half_from(row, at);
            } else if (TYPE == Q5_0 || TYPE == Q5_1) {
                uint bits = TYPE == Q5_1 ? 4 : 2;
                words = low_codes(row, at + bits + 4 + half_byte, half_shift);
                scale = TYPE == Q5_1 ? word_from(row, at) : half_from(row, at);
                high = byte_from(row, at + bits + i / 8);
            } else if (TYPE == Q4_K || TYPE == Q5_K) {
                words = low_codes(row, at + (TYPE == Q5_K ? 48 : 16) + (group >> 1) * 32 + i, (group & 1) * 4);
                if (TYPE == Q5_K) {
                    uvec2 bits = words_from(row, at + 16 + i) >> group;
                    high = four_bits(bits.x) | (four_bits(bits.y) << 4);
                }
            } else if (TYPE == Q6_K) {
                uint part = (k >> 7) & 1;
                uint run = (k >> 5) & 3;
                words = low_codes(row, at + part * 64 + (run & 1) * 32 + i, (run >> 1) * 4);
                uvec2 bits = words_from(row, at + 128 + part * 32 + i) >> (2 * run);
                high = four_pairs(bits.x) | (four_pairs(bits.y) << 8);
                scale = byte_from(row, at + 192 + ((k >> 4) & 15));
            } else {
                words = low_codes(row, at + 1 + half_byte, half_shift);
                scale = byte_from(row, at);
            }
            if (TYPE != Q8_0) {
                codes[0][j] = words.x | (words.y << 4);
            }
            if (TYPE == Q6_K) {
                above[j >> 1] |= high << (16 * (j & 1));
            } else {
                above.x |= high << (8 * j);
            }
            if (TYPE == Q6_K) {
                scales.x |= j % 2 == 0 ? scale << (8 * (j >> 1)) : 0;
            } else {
                scales.x = scale;
            }
        }
    }
    if (TYPE == Q8_0) {
        Vectors(p.codes).v[chunk * 16 + l] = codes[0];
        Vectors(p.codes).v[chunk * 16 + 8 + l] = codes[1];
    } else {
        Vectors(p.codes).v[chunk * 8 + l] = codes[0];
    }
    if (TYPE == Q6_K) {
        Couples(p.above).v[chunk * 8 + l] = above;
        put_bits(p.scales, chunk * 4 + (l >> 1), scales.x << (16 * (l & 1)), 0xffffu << (16 * (l & 1)));
        if (l == 0) {
            uint bits = half_from(row, format_offset(TYPE, chunk * PACK) + 208);
            // The plane begins on a whole word; a neighbour has the other half.
            uvec2 word = uvec2(p.whole.x & ~3u, p.whole.y);
            uint skew = ((p.whole.x & 3) >> 1) + chunk;
            put_bits(word, skew >> 1, bits << (16 * (skew & 1)), 0xffffu << (16 * (skew & 1)));
        }
    } else if (above_bytes(TYPE) > 0) {
        Words(p.above).w[chunk * 8 + l] = above.x;
    }
    if (TYPE == Q4_K || TYPE == Q5_K) {
        if (l == 0) {
            uint at = format_offset(TYPE, chunk * PACK);
            Vectors(p.scales).v[chunk] = uvec4(words_from(row, at), words_from(row, at + 8));
        }
    } else if (TYPE == Q4_1 || TYPE == Q5_1) {
        Words(p.scales).w[chunk * 8 + l] = scales.x;
    } else if (TYPE == MXFP4) {
        uint shift = 8 * (l & 3);
        put_bits(p.scales, chunk * 2 + (l >> 2), scales.x << shift, 0xffu << shift);
    } else if (TYPE != Q6_K) {
        uint shift = 16 * (l & 1);
        put_bits(p.scales, chunk * 4 + (l >> 1), scales.x << shift, 0xffffu << shift);
    }
}
