#version 460
// variant f16: MATRIX=float16_t
// variant f16_wide: MATRIX=float16_t WIDE=1
// variant bf16: MATRIX=bfloat16_t BRAIN=1
// variant bf16_wide: MATRIX=bfloat16_t BRAIN=1 WIDE=1
// out = a · bᵀ + bias by matrix instructions, for a and b of one type of 16 bits, sums in f32.
//
// A block of 8 subgroups makes a tile of 128 by 128 results, each subgroup 64 by 32 of them in 4 by 2 matrices. The tiles of a and b for 32 of
// the depth lie in shared memory twice: while one is multiplied the next is on its way from memory in registers, and is put into the other.
// The wide form makes 128 by 256, in 4 by 4 matrices a subgroup: more products for each byte of shared memory, but its tiles fit once.
//
// A product adds up the depth in the same order in both forms.

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
#ifdef WIDE
const uint TILE_N = 256;
const uint SUB_N = 4;
const uint COPIES = 1;
#define EACH(f) f(0, 0) f(0, 1) f(0, 2) f(0, 3) f(1, 0) f(1, 1) f(1, 2) f(1, 3) f(2, 0) f(2, 1) f(2, 2) f(2, 3) f(3, 0) f(3, 1) f(3, 2) f(3, 3)
#else
const uint TILE_N = 128;
const uint SUB_N = 2;
const uint COPIES = 2;
#define EACH(f) f(0, 0) f(0, 1) f(1, 0) f(1, 1) f(2, 0) f(2, 1) f(3, 0) f(3, 1)
#endif
// Of the depth: elements, and pieces of 8.
const uint DEPTH = 32;
const uint PIECES = DEPTH / 8;
// A row in shared memory has one piece more, so that the rows of a matrix lie on different banks.
const uint ROW = PIECES + 1;
const uint THREADS = 256;
// Pieces of each tile that an invocation carries.
const uint CARRIED_A = TILE_M * PIECES / THREADS;
const uint CARRIED_B = TILE_N * PIECES / THREADS;

shared uvec4 tile_a[COPIES * TILE_M * ROW];
shared uvec4 tile_b[COPIES * TILE_N * ROW];
// Each matrix of sums is a variable of its own (EACH): drivers put arrays of matrices into memory, at a fifth of the speed.

// Where each subgroup turns a matrix of sums into elements.
shared float sums[8 * 256];

uvec4 piece(uvec2 t, uint row, uint rows, uint stride, uint at, uint pieces) {
    // Rows from the last one on are read again and their results left out. Behind the depth there is nothing.
    return at < pieces ? Pieces(t).p[min(row, rows - 1) * stride + at] : uvec4(0);
}

// Writes a matrix of sums as elements, with the bias.
void write_out(uint stage, uint row0, uint column0) {
    for (uint pair = gl_SubgroupInvocationID; pair < 128; pair += gl_SubgroupSize) {
        uint row = row0 + pair / 8;
        uint column = column0 + pair % 8 * 2;
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
    uint my_column = (group % 4) * SUB_N * 16;

#define SUM(i, j) sum_##i##_##j
#define BEGIN(i, j) coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> SUM(i, j) = coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0.0);
    EACH(BEGIN)

    uvec4 carried_a[CARRIED_A];
    uvec4 carried_b[CARRIED_B];
    [[unroll]] for (uint i = 0; i < CARRIED_A; i++) {
        uint at = i * THREADS + me;
        carried_a[i] = piece(a, row0 + at / PIECES, m, row_a, at % PIECES, pieces);
    }
    [[unroll]] for (uint i = 0; i < CARRIED_B; i++) {
        uint at = i * THREADS + me;
        carried_b[i] = piece(b, column0 + at / PIECES, n, row_b, at % PIECES, pieces);
    }
    uint turns = (k + DEPTH - 1) / DEPTH;
    for (uint turn = 0; turn < turns; turn++) {
        uint half_a = turn % COPIES * TILE_M * ROW;
        uint half_b = turn % COPIES * TILE_N * ROW;
#ifdef WIDE
        // What lies there was multiplied by then.
        barrier();
#endif
        [[unroll]] for (uint i = 0; i < CARRIED_A; i++) {
            uint at = i * THREADS + me;
            tile_a[half_a + at / PIECES * ROW + at % PIECES] = carried_a[i];
        }
        [[unroll]] for (uint i = 0; i < CARRIED_B; i++) {
            uint at = i * THREADS + me;
            tile_b[half_b + at / PIECES * ROW + at % PIECES] = carried_b[i];
        }
        barrier();
        if (turn + 1 < turns) {
            uint next = (turn + 1) * PIECES;
            [[unroll]] for (uint i = 0; i < CARRIED_A; i++) {
                uint at = i * THREADS + me;
                carried_a[i] = piece(a, row0 + at / PIECES, m, row_a, next + at % PIECES, pieces);
            }
            [[unroll]] for (uint i = 0; i < CARRIED_B; i++) {
                uint at = i * THREADS + me;
                carried_b[i] = piece(b, column0 + at / PIECES, n, row_b, next + at % PIECES, pieces);
            }
        }
        [[unroll]] for (uint step = 0; step < DEPTH / 16; step++) {
            coopmat<MATRIX, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> left[4];
            coopmat<MATRIX, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> right[SUB_N];
            [[unroll]] for (uint i = 0; i < 4; i++) {
                coopMatLoad(left[i], tile_a, half_a + (my_row + i * 16) * ROW + step * 2, ROW, gl_CooperativeMatrixLayoutRowMajor);
            }
            [[unroll]] for (uint j = 0; j < SUB_N; j++) {
                coopMatLoad(right[j], tile_b, half_b + (my_column + j * 16) * ROW + step * 2, ROW, gl_CooperativeMatrixLayoutColumnMajor);
            }
#define MULTIPLY(i, j) SUM(i, j) = coopMatMulAdd(left[i], right[j], SUM(i, j));
            EACH(MULTIPLY)
        }
        // With two copies one barrier a turn is enough: what is written next was read a turn ago, and all have passed the barrier since.
    }

#define END(i, j) \
    subgroupBarrier(); \
    coopMatStore(SUM(i, j), sums, group * 256, 16, gl_CooperativeMatrixLayoutRowMajor); \
    subgroupMemoryBarrierShared(); \
    subgroupBarrier(); \
    write_out(group * 256, row0 + my_row + i * 16, column0 + my_column + j * 16);
    EACH(END)
}
