#version 460
// out[t] = the least index of a row's greatest element, or -1 where the row holds no number. Elements are compared as whole numbers in the
// same order, so that no rounding and no NaN is in it.
//
// variant parts: FROM_LOGITS=1 TO_PARTS=1
// variant rows: FROM_LOGITS=1 TO_PARTS=0
// variant joined: FROM_LOGITS=0 TO_PARTS=0
//
// A wide row goes to several blocks, each of which leaves what it found (`parts`), and what they left is joined by one block a row.

#include "glsl/chunks.glsl"
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require

layout(constant_id = 3) const uint TYPE = 0;

layout(push_constant) uniform Push {
    uvec2 logits;
    // Of each part of each row two words: rank and index.
    uvec2 found;
    uvec2 to;
    uint rows;
    uint columns;
    uint row_logits;
    uint step_to;
    // Blocks of a row, and elements of each.
    uint parts;
    uint width;
};

// A block has 1024 invocations at most, and a subgroup at least 4.
shared uvec2 block_found[256];

const uint NOWHERE = 0xffffffffu;

// Ascends with the numbers; 0 for NaN alone. Both zeros are one.
uint rank_of(uint bits, uint sign, uint infinity) {
    uint size = bits & (sign - 1);
    if (size > infinity) {
        return 0;
    }
    return (bits & sign) != 0 ? sign - size : sign + size;
}


// The greater of two, or the one that stands first.
uvec2 better(uvec2 a, uvec2 b) {
    return b.x > a.x || (b.x == a.x && b.y < a.y) ? b : a;
}

uvec2 of_subgroup(uvec2 mine) {
    uint most = subgroupMax(mine.x);
    return uvec2(most, subgroupMin(mine.x == most ? mine.y : NOWHERE));
}

void main() {
    uint row = group_number() / parts;
    uint part = group_number() % parts;
    if (row >= rows) {
        return;
    }
    uvec2 best = uvec2(0, NOWHERE);
#if FROM_LOGITS
    uint begin = part * width;
    uint end = min(begin + width, columns);
    uint base = row * row_logits;
    uint per_word = TYPE == F32 ? 1 : 2;
    // Whole words, and of each what lies in the row.
    uint first = (base + begin) / per_word;
    uint last = (base + end + per_word - 1) / per_word;
    uint step = gl_WorkGroupSize.x;
    for (uint w = first + gl_LocalInvocationID.x; w < last; w += 4 * step) {
        // Four loads are under way before the first is compared.
        uint words[4];
        [[unroll]] for (uint k = 0; k < 4; k++) {
            words[k] = w + k * step < last ? Words(logits).w[w + k * step] : 0;
        }
        [[unroll]] for (uint k = 0; k < 4; k++) {
            uint place = w + k * step;
            if (place >= last) {
                continue;
            }
            // Indices ascend, so only what is greater counts.
            if (TYPE == F32) {
                uint rank = rank_of(words[k], 0x80000000u, 0x7f800000u);
                if (rank > best.x) {
                    best = uvec2(rank, place - base);
                }
                continue;
            }
            [[unroll]] for (uint h = 0; h < 2; h++) {
                uint i = 2 * place + h;
                uint rank = rank_of((words[k] >> (16 * h)) & 0xffffu, 0x8000u, TYPE == F16 ? 0x7c00u : 0x7f80u);
                if (i >= base + begin && i < base + end && rank > best.x) {
                    best = uvec2(rank, i - base);
                }
            }
        }
    }
#else
    for (uint p = gl_LocalInvocationID.x; p < width; p += gl_WorkGroupSize.x) {
        uint at = 2 * (row * width + p);
        best = better(best, uvec2(Words(found).w[at], Words(found).w[at + 1]));
    }
#endif
    best = of_subgroup(best);
    if (subgroupElect()) {
        block_found[gl_SubgroupID] = best;
    }
    barrier();
    if (gl_LocalInvocationID.x != 0) {
        return;
    }
    for (uint s = 0; s < gl_NumSubgroups; s++) {
        best = better(best, block_found[s]);
    }
#if TO_PARTS
    uint at = 2 * (row * parts + part);
    Words(found).w[at] = best.x;
    Words(found).w[at + 1] = best.y;
#else
    Words(to).w[row * step_to] = best.x == 0 ? NOWHERE : best.y;
#endif
}
