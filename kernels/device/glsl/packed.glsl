// Weights in blocks, packed for vector loads.
//
// A row is cut into chunks of 256 elements, the last of which is filled up with codes that count for nothing. A chunk is shared by eight
// lanes of four runs of eight elements each. In blocks lane `l` has the 32 elements from `32 l` on, so that it decodes few scales; where
// elements stand alone, which are not packed, it has the runs from `64 j + 8 l` on, so that neighbours read neighbours. What a lane needs of a
// chunk lies together, in planes: `codes`, the bits `above` the low four, `scales`, and for q6_K the blocks' own scales, `whole`.

#ifndef PACKED
#define PACKED

#include "glsl/formats.glsl"

layout(buffer_reference, std430, buffer_reference_align = 8) buffer Couples {
    uvec2 v[];
};

// Elements of a chunk, lanes that share it and runs of a lane.
const uint PACK = 256;
const uint PACK_LANES = 8;
const uint PACK_RUNS = 4;

// The first element in a chunk of run `j` of lane `l`.
uint run_begin(uint type, uint j, uint l) {
    return stands_alone(type) ? 64 * j + 8 * l : 32 * l + 8 * j;
}

// The planes of some row.
struct Planes {
    uvec2 codes;
    uvec2 above;
    uvec2 scales;
    uvec2 whole;
};

// What a lane has of a chunk.
struct Piece {
    uvec4 codes[2];
    uvec2 above;
    uvec4 scales;
    uint whole;
};

// Bytes of a chunk in each plane, as in the provider's `packing.rs`.
uint codes_bytes(uint type) {
    return type == Q8_0 ? 256 : 128;
}

uint above_bytes(uint type) {
    return type == Q5_0 || type == Q5_1 || type == Q5_K ? 32 : type == Q6_K ? 64 : 0;
}

uint scales_bytes(uint type) {
    return type == Q4_1 || type == Q5_1 ? 32 : type == MXFP4 ? 8 : 16;
}

uint whole_bytes(uint type) {
    return type == Q6_K ? 2 : 0;
}

// The planes of row `row`, where a matrix of so many rows and chunks begins at `base`.
Planes planes_of(uint type, uvec2 base, uint rows, uint chunks, uint row) {
    Planes p;
    p.codes = base;
    // Rows times chunks stay below 2^32, by the guard.
    uint all = rows * chunks;
    p.above = further_by(p.codes, all, codes_bytes(type));
    p.scales = further_by(p.above, all, above_bytes(type));
    p.whole = further_by(p.scales, all, scales_bytes(type));
    uint before = row * chunks;
    p.codes = further_by(p.codes, before, codes_bytes(type));
    p.above = further_by(p.above, before, above_bytes(type));
    p.scales = further_by(p.scales, before, scales_bytes(type));
    p.whole = further_by(p.whole, before, whole_bytes(type));
    return p;
}

// What lane `l` has of a chunk of a row whose planes are given.
Piece piece_of(uint type, Planes p, uint chunk, uint l) {
    Piece piece;
    piece.codes[1] = uvec4(0);
    piece.above = uvec2(0);
    piece.scales = uvec4(0);
    piece.whole = 0;
    if (type == Q8_0) {
        piece.codes[0] = Vectors(p.codes).v[chunk * 16 + l];
        piece.codes[1] = Vectors(p.codes).v[chunk * 16 + 8 + l];
    } else {
        piece.codes[0] = Vectors(p.codes).v[chunk * 8 + l];
    }
    if (type == Q6_K) {
        piece.above = Couples(p.above).v[chunk * 8 + l];
        piece.scales.x = Words(p.scales).w[chunk * 4 + (l >> 1)];
        piece.whole = half_from(p.whole, 2 * chunk);
    } else if (above_bytes(type) > 0) {
        piece.above.x = Words(p.above).w[chunk * 8 + l];
    }
    if (type == Q4_1 || type == Q5_1) {
        piece.scales.x = Words(p.scales).w[chunk * 8 + l];
    } else if (type == Q4_K || type == Q5_K) {
        piece.scales = Vectors(p.scales).v[chunk];
    } else if (type == MXFP4) {
        piece.scales.x = Words(p.scales).w[chunk * 2 + (l >> 2)] >> (8 * (l & 3));
    } else if (type != Q6_K) {
        piece.scales.x = Words(p.scales).w[chunk * 4 + (l >> 1)] >> (16 * (l & 1));
    }
    return piece;
}

// Two bits for each of four codes, above the low four.
uint top_bits(uint bits) {
    return ((bits | (bits << 6) | (bits << 12) | (bits << 18)) & 0x03030303u) << 4;
}

// Scale and least of run `j` of a piece of lane `l`: the same for all four, but for two and two of q6_K.
void piece_scales(uint type, Piece piece, uint j, uint l, out float scale, out float least) {
    least = 0.0;
    if (type == Q4_1 || type == Q5_1) {
        scale = half_value(piece.scales.x);
        least = half_value(piece.scales.x >> 16);
    } else if (type == Q4_K || type == Q5_K) {
        vec2 scales = vec2(group_scales(piece.scales.yzw, l));
        scale = half_value(piece.scales.x) * scales.x;
        least = -(half_value(piece.scales.x >> 16) * scales.y);
    } else if (type == Q6_K) {
        uint shift = 24 - 8 * (2 * (l & 1) + (j >> 1));
        scale = half_value(piece.whole) * float(int(piece.scales.x << shift) >> 24);
    } else if (type == MXFP4) {
        scale = e8m0_half(piece.scales.x & 0xffu);
    } else {
        scale = half_value(piece.scales.x);
    }
}

// The codes of run `j` of a piece: value = scale * code + least.
void piece_codes(uint type, Piece piece, uint j, out vec4 low, out vec4 high) {
    if (type == Q8_0) {
        uvec4 words = piece.codes[j >> 1];
        low = signed_codes_of((j & 1) == 0 ? words.x : words.z);
        high = signed_codes_of((j & 1) == 0 ? words.y : words.w);
    } else {
        uint word = piece.codes[0][j];
        float middle = type == Q4_0 ? 8.0 : type == Q5_0 ? 16.0 : type == Q6_K ? 32.0 : 0.0;
        uvec2 codes = uvec2(word, word >> 4) & 0x0f0f0f0fu;
        if (type == Q6_K) {
            uint bits = piece.above[j >> 1] >> (16 * (j & 1));
            codes |= uvec2(top_bits(bits & 0xffu), top_bits((bits >> 8) & 0xffu));
        } else if (above_bytes(type) > 0) {
            codes |= fifth_bits((piece.above.x >> (8 * j)) & 0xffu);
        }
        if (type == MXFP4) {
            low = e2m1_of(codes.x);
            high = e2m1_of(codes.y);
        } else if (above_bytes(type) > 0) {
            low = codes_less(codes.x, middle);
            high = codes_less(codes.y, middle);
        } else {
            nibbles_less(word, middle, low, high);
        }
    }
}

// Eight neighbours of a packed row from element `k` on, a multiple of eight: value = scale * code + least.
void packed_run(uint type, Planes p, uint k, out vec4 low, out vec4 high, out float scale, out float least) {
    uint chunk = k / PACK;
    uint l = k / 32 % PACK_LANES;
    uint j = k / RUN % PACK_RUNS;
    Piece piece;
    piece.above = uvec2(0);
    piece.scales = uvec4(0);
    piece.whole = 0;
    if (type == Q8_0) {
        uvec2 words = Couples(p.codes).v[chunk * 32 + (j >> 1) * 16 + l * 2 + (j & 1)];
        piece.codes[0] = words.xyxy;
        piece.codes[1] = words.xyxy;
    } else {
        piece.codes[0] = uvec4(Words(p.codes).w[chunk * 32 + l * 4 + j]);
        piece.codes[1] = uvec4(0);
    }
    if (type == Q6_K) {
        piece.above = uvec2(Words(p.above).w[chunk * 16 + l * 2 + (j >> 1)]);
        piece.scales.x = Words(p.scales).w[chunk * 4 + (l >> 1)];
        piece.whole = half_from(p.whole, 2 * chunk);
    } else if (above_bytes(type) > 0) {
        piece.above.x = Words(p.above).w[chunk * 8 + l];
    }
    if (type == Q4_1 || type == Q5_1) {
        piece.scales.x = Words(p.scales).w[chunk * 8 + l];
    } else if (type == Q4_K || type == Q5_K) {
        piece.scales = Vectors(p.scales).v[chunk];
    } else if (type == MXFP4) {
        piece.scales.x = Words(p.scales).w[chunk * 2 + (l >> 2)] >> (8 * (l & 3));
    } else if (type != Q6_K) {
        piece.scales.x = Words(p.scales).w[chunk * 4 + (l >> 1)] >> (16 * (l & 1));
    }
    piece_codes(type, piece, j, low, high);
    piece_scales(type, piece, j, l, scale, least);
}

#endif
