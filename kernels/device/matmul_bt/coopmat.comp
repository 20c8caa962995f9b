#version 460
// variant f16: MATRIX=float16_t
// variant bf16: MATRIX=bfloat16_t BRAIN=1
// out = a · bᵀ + bias by matrix instructions, for a and b of one type of 16 bits, sums in f32.
//
// A block of 8 subgroups makes a tile of 128 by 128 results, each subgroup 64 by 32 of them in 4 by 2 matrices. The tiles of a and b for 32 of
// the depth lie in shared memory twice: while one is multiplied the next is on its way from memory in registers, and is put into the other.

#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#ifdef BRAIN
#extension GL_EXT_bfloat16 : require
#endif
#extension GL_KHR_shader_subgroup_basic : require

#include "glsl/elements.glsl"

layout(constant_id = 3) const uint TYPE_OUT = 0;
layout(constant_id = 4) const uint TYPE_BIAS = 0;
layout(constant_id = 5) const bool HAS_BIAS = false;

layout(push_constant) uniform Push {
    uvec2 a;
    uvec2 b;
    uvec2 bias;
    uvec2 to;
    uint m;
    uint n;
    uint k;
    // Strides of rows: of a and b in pieces of 8 elements, of the output in elements.
    uint row_a;
    uint row_b;
    uint row_to;
    // Tiles across the rows of b, and how many rows of tiles are gone through together, so that what they share stays in the cache.
    uint across;
    uint together;
};

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Pieces {
    uvec4 p[];
};

const uint TILE_M = 128;
const uint TILE_N = 128;
// Of the depth: elements, and pieces of 8.
const uint DEPTH = 32;
const uint PIECES = DEPTH / 8;
// A row in shared memory has one piece more, so that the rows of a matrix lie on different banks.
const uint ROW = PIECES + 1;
const uint THREADS = 256;
// Pieces of each tile that an invocation carries.
const uint CARRIED = TILE_M * PIECES / THREADS;

shared uvec4 tile_a[2 * TILE_M * ROW];
shared uvec4 tile_b[2 * TILE_N * ROW];
// Where each subgroup turns a matrix of sums into elements.
shared float sums[8 * 256];

uvec4 piece(uvec2 t, uint row, uint rows, uint stride, uint at, uint pieces) {
    // Rows from the last one on are read again and their results left out. Behind the depth there is nothing.
    return at < pieces ? Pieces(t).p[min(row, rows - 1) * stride + at] : uvec4(0);
}

void main() {
    // Tiles are numbered down a strip of `together` rows, strip by strip.
    uint number = group_number();
    uint down = (m + TILE_M - 1) / TILE_M;
    uint strip = number / (together * across);
    uint first = strip * together;
    uint high = min(together, down - first);
    uint inside = number - strip * together * across;
    uint tile_row = first + inside % high;
    uint tile_column = inside / high;
    if (first >= down || tile_column >= across) {
        return;
    }
    uint row0 = tile_row * TILE_M;
    uint column0 = tile_column * TILE_N;
    uint me = gl_LocalInvocationID.x;
    uint pieces = k / 8;
    uint group = gl_SubgroupID;
    uint my_row = (group / 4) * 64;
    uint my_column = (group % 4) * 32;

    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> sum[4][2];
    for (uint i = 0; i < 4; i++) {
        for (uint j = 0; j < 2; j++) {
            sum[i][j] = coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0.0);
        }
    }

    uvec4 carried_a[CARRIED];
    uvec4 carried_b[CARRIED];
    [[unroll]] for (uint i = 0; i < CARRIED; i++) {
        uint at = i * THREADS + me;
        carried_a[i] = piece(a, row0 + at / PIECES, m, row_a, at % PIECES, pieces);
        carried_b[i] = piece(b, column0 + at / PIECES, n, row_b, at % PIECES, pieces);
    }
    uint turns = (k + DEPTH - 1) / DEPTH;
    for (uint turn = 0; turn < turns; turn++) {
        uint half_a = (turn & 1) * TILE_M * ROW;
        uint half_b = (turn & 1) * TILE_N * ROW;
        [[unroll]] for (uint i = 0; i < CARRIED; i++) {
            uint at = i * THREADS + me;
            tile_a[half_a + at / PIECES * ROW + at % PIECES] = carried_a[i];
            tile_b[half_b + at / PIECES * ROW + at % PIECES] = carried_b[i];
        }
        barrier();
        if (turn + 1 < turns) {
            uint next = (turn + 1) * PIECES;
            [[unroll]] for (uint i = 0; i < CARRIED; i++) {
                uint at = i * THREADS + me;
                carried_a[i] = piece(a, row0 + at / PIECES, m, row_a, next + at % PIECES, pieces);
                carried_b[i] = piece(b, column0 + at / PIECES, n, row_b, next + at % PIECES, pieces);
            }
        }
        [[unroll]] for (uint step = 0; step < DEPTH / 16; step++) {
            coopmat<MATRIX, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> left[4];
            coopmat<MATRIX, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> right[2];
            [[unroll]] for (uint i = 0; i < 4; i++) {
                coopMatLoad(left[i], tile_a, half_a + (my_row + i * 16) * ROW + step * 2, ROW, gl_CooperativeMatrixLayoutRowMajor);
            }
            [[unroll]] for (uint j = 0; j < 2; j++) {
                coopMatLoad(right[j], tile_b, half_b + (my_column + j * 16) * ROW + step * 2, ROW, gl_CooperativeMatrixLayoutColumnMajor);
            }
            [[unroll]] for (uint i = 0; i < 4; i++) {
                [[unroll]] for (uint j = 0; j < 2; j++) {
                    sum[i][j] = coopMatMulAdd(left[i], right[j], sum[i][j]);
                }
            }
        }
        // One barrier a turn is enough: what is written next is the half that was read a turn ago, and all have passed the barrier since.
    }

    uint lane = gl_SubgroupInvocationID;
    uint stage = group * 256;
    [[unroll]] for (uint i = 0; i < 4; i++) {
        [[unroll]] for (uint j = 0; j < 2; j++) {
            subgroupBarrier();
            coopMatStore(sum[i][j], sums, stage, 16, gl_CooperativeMatrixLayoutRowMajor);
            subgroupMemoryBarrierShared();
            subgroupBarrier();
            for (uint pair = lane; pair < 128; pair += gl_SubgroupSize) {
                uint row = row0 + my_row + i * 16 + pair / 8;
                uint column = column0 + my_column + j * 16 + pair % 8 * 2;
                if (row >= m || column >= n) {
                    continue;
                }
                float x = sums[stage + pair * 2];
                float y = sums[stage + pair * 2 + 1];
                bool both = column + 1 < n;
                if (HAS_BIAS) {
                    x += load(TYPE_BIAS, bias, column);
                    y += both ? load(TYPE_BIAS, bias, column + 1) : 0.0;
                }
                uint at = row * row_to + column;
                if (both && (at & 1) == 0) {
                    store_pair(TYPE_OUT, to, at, x, y);
                } else {
                    store(TYPE_OUT, to, at, x);
                    if (both) {
                        store(TYPE_OUT, to, at + 1, y);
                    }
                }
            }
        }
    }
}
