// Eight neighbours of a row at once: what one invocation reads and writes, in vectors of 16 bytes where they lie on 16 bytes.

#ifndef CHUNKS
#define CHUNKS

#include "glsl/elements.glsl"

layout(buffer_reference, std430, buffer_reference_align = 16) buffer Vectors {
    uvec4 v[];
};

const uint CHUNK = 8;

// How many chunks a row has, the last of which may be shorter.
uint chunks_of(uint columns) {
    return (columns + CHUNK - 1) / CHUNK;
}

// Bytes of an element that stands alone.
uint bytes_of(uint type) {
    return type == F32 ? 4 : type == F16 || type == BF16 ? 2 : 1;
}

// Whether element `i` lies on 16 bytes.
bool on_vector(uint type, uvec2 t, uint i) {
    return ((t.x + i * bytes_of(type)) & 15) == 0;
}

// Two elements of 16 bits.
vec2 pair_of(uint type, uint word) {
    return type == F16 ? vec2(from_f16(word & 0xffffu), from_f16(word >> 16)) : vec2(from_bf16(word & 0xffffu), uintBitsToFloat(word & 0xffff0000u));
}

float from_fp8(uint type, uint bits) {
    return type == FP8_E4M3FN ? from_e4m3fn(bits) : from_e5m2(bits);
}

// Elements `i` and on, of which the first `count` are there; for the others `rest`. A row's elements past its end are not read.
void load_chunk(uint type, uvec2 t, uint i, uint count, float rest, out float v[CHUNK]) {
    if (count >= CHUNK && (type == FP8_E4M3FN || type == FP8_E5M2) && (i & 3) == 0) {
        [[unroll]] for (uint k = 0; k < 2; k++) {
            uint word = Words(t).w[(i >> 2) + k];
            v[4 * k] = from_fp8(type, word & 0xffu);
            v[4 * k + 1] = from_fp8(type, (word >> 8) & 0xffu);
            v[4 * k + 2] = from_fp8(type, (word >> 16) & 0xffu);
            v[4 * k + 3] = from_fp8(type, word >> 24);
        }
        return;
    }
    if (count >= CHUNK && bytes_of(type) > 1 && on_vector(type, t, i)) {
        Vectors at = Vectors(further_by(t, i, bytes_of(type)));
        if (type == F32) {
            vec4 low = uintBitsToFloat(at.v[0]);
            vec4 high = uintBitsToFloat(at.v[1]);
            [[unroll]] for (uint k = 0; k < 4; k++) {
                v[k] = low[k];
                v[k + 4] = high[k];
            }
        } else {
            uvec4 words = at.v[0];
            [[unroll]] for (uint k = 0; k < 4; k++) {
                vec2 two = pair_of(type, words[k]);
                v[2 * k] = two.x;
                v[2 * k + 1] = two.y;
            }
        }
        return;
    }
    [[unroll]] for (uint k = 0; k < CHUNK; k++) {
        v[k] = k < count ? load(type, t, i + k) : rest;
    }
}

// Writes elements `i` and on of f32, f16 or bf16, `count` of them. Halves of words whose other half is another's are written by
// themselves.
void store_chunk(uint type, uvec2 t, uint i, uint count, float v[CHUNK]) {
    if (count >= CHUNK && on_vector(type, t, i)) {
        Vectors at = Vectors(further_by(t, i, bytes_of(type)));
        if (type == F32) {
            at.v[0] = floatBitsToUint(vec4(v[0], v[1], v[2], v[3]));
            at.v[1] = floatBitsToUint(vec4(v[4], v[5], v[6], v[7]));
        } else {
            uvec4 words;
            [[unroll]] for (uint k = 0; k < 4; k++) {
                words[k] = encoded(type, v[2 * k]) | (encoded(type, v[2 * k + 1]) << 16);
            }
            at.v[0] = words;
        }
        return;
    }
    if (type == F32) {
        [[unroll]] for (uint k = 0; k < CHUNK; k++) {
            if (k < count) {
                Words(t).w[i + k] = floatBitsToUint(v[k]);
            }
        }
        return;
    }
    if ((i & 1) == 0) {
        [[unroll]] for (uint k = 0; k < CHUNK; k += 2) {
            if (k + 1 < count) {
                store_pair(type, t, i + k, v[k], v[k + 1]);
            } else if (k < count) {
                store(type, t, i + k, v[k]);
            }
        }
        return;
    }
    if (count > 0) {
        store(type, t, i, v[0]);
    }
    [[unroll]] for (uint k = 1; k < CHUNK; k += 2) {
        if (k + 1 < CHUNK && k + 1 < count) {
            store_pair(type, t, i + k, v[k], v[(k + 1) % CHUNK]);
        } else if (k < count) {
            store(type, t, i + k, v[k]);
        }
    }
}

// What is read again after it was stored in this type.
float rounded(uint type, float value) {
    return type == F32 ? value : type == F16 ? from_f16(to_f16(value)) : from_bf16(to_bf16(value));
}

#endif
