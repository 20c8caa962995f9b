#version 460
// out[m, n] = sum over k of a[m, k] * b[n, k], plus bias[n], for many rows, in f32.
//
// A block of 16 by 16 invocations makes a tile of 16 DOWN by 16 ACROSS results, DOWN by ACROSS of them an invocation. Tiles of both sides for 16
// of the depth lie in shared memory as floats, the depth outermost, so that an invocation reads its rows and columns in vectors. The next
// tiles are on their way from memory while these are multiplied. A sum goes along the depth in order, whatever the tile.

#include "glsl/packed.glsl"
#include "matmul_bt/outputs.glsl"
#include "matmul_bt/scales.glsl"

layout(constant_id = 3) const uint TYPE_A = 0;
layout(constant_id = 4) const uint TYPE_B = 0;
layout(constant_id = 5) const uint TYPE_OUT = 0;
layout(constant_id = 6) const uint TYPE_BIAS = 0;
layout(constant_id = 7) const bool SCALED = false;
// Rows and columns of an invocation: 2, 4 or 8.
layout(constant_id = 8) const uint DOWN = 4;
layout(constant_id = 9) const uint ACROSS = 4;
layout(constant_id = 10) const bool IS_PACKED = false;

layout(push_constant) uniform Push {
    uvec2 a;
    uvec2 b;
    uvec2 b_scale;
    uvec2 bias;
    uvec2 to;
    uvec2 row_b;
    uint rows;
    uint columns;
    uint depth;
    uint row_a;
    uint row_to;
    uint scale_rows;
    uint scale_depth;
    uint scale_row;
    uint scale_column;
};

const uint SIDE = 16;
const uint DEPTH = 16;
const uint TILE_M = SIDE * DOWN;
const uint TILE_N = SIDE * ACROSS;
// Vectors of a row in shared memory: one more than it holds, so that steps of the depth begin on different banks.
const uint ROW_M = TILE_M / 4 + 1;
const uint ROW_N = TILE_N / 4 + 1;
// Runs of eight of the depth that an invocation carries, of the first side and of the second.
const uint RUNS_M = TILE_M * DEPTH / RUN;
const uint RUNS = (TILE_M + TILE_N) * DEPTH / RUN;
const uint CARRIED = (RUNS + SIDE * SIDE - 1) / (SIDE * SIDE);

shared vec4 tile_m[DEPTH * ROW_M];
shared vec4 tile_n[DEPTH * ROW_N];

// What an invocation carries, by its number: a run of a row of either side. Neighbours have neighbouring rows, which lie side by side in shared
// memory.
struct Carried {
    bool of_a;
    // The place in the tile, and of the run's first element in the tile's depth.
    uint place;
    uint begin;
};

Carried carried(uint i) {
    uint number = i * SIDE * SIDE + gl_LocalInvocationID.x;
    bool of_a = number < RUNS_M;
    uint left = of_a ? number : number - RUNS_M;
    uint tile = of_a ? TILE_M : TILE_N;
    return Carried(of_a, left % tile, left / tile * RUN);
}

void main() {
    uint tiles = (columns + TILE_N - 1) / TILE_N;
    // Down first, so that blocks at work at the same time share columns.
    uint down = (rows + TILE_M - 1) / TILE_M;
    uint number = group_number();
    uint m0 = number % down * TILE_M;
    uint n0 = number / down * TILE_N;
    if (n0 >= columns) {
        return;
    }
    uint me = gl_LocalInvocationID.x;
    uint my_m = me / SIDE;
    uint my_n = me % SIDE;
    uint chunks = (depth + PACK - 1) / PACK;

    // An invocation carries at most one run of the weight: its row is found once.
    uvec2 row = b;
    Planes planes;
    uint n = 0;
    [[unroll]] for (uint i = 0; i < CARRIED; i++) {
        Carried c = carried(i);
        if (!c.of_a) {
            n = min(n0 + c.place, columns - 1);
        }
    }
    if (IS_PACKED) {
        planes = planes_of(TYPE_B, b, columns, chunks, n);
    } else {
        row = further_wide(b, n, row_b);
    }
    Scales scales = Scales(b_scale, scale_rows, scale_depth, scale_row, scale_column);

    float sums[DOWN * ACROSS];
    [[unroll]] for (uint i = 0; i < DOWN * ACROSS; i++) {
        sums[i] = 0.0;
    }
    vec4 low[CARRIED];
    vec4 high[CARRIED];
    for (uint k0 = 0; k0 < depth + DEPTH; k0 += DEPTH) {
        // What was carried in the turn before is laid down, and the next is fetched.
        if (k0 > 0) {
            barrier();
            [[unroll]] for (uint i = 0; i < CARRIED; i++) {
                Carried c = carried(i);
                if (c.begin < DEPTH) {
                    [[unroll]] for (uint e = 0; e < RUN; e++) {
                        float value = e < 4 ? low[i][e & 3] : high[i][e & 3];
                        if (c.of_a) {
                            tile_m[(c.begin + e) * ROW_M + c.place / 4][c.place % 4] = value;
                        } else {
                            tile_n[(c.begin + e) * ROW_N + c.place / 4][c.place % 4] = value;
                        }
                    }
                }
            }
            barrier();
        }
        [[unroll]] for (uint i = 0; i < CARRIED; i++) {
            Carried c = carried(i);
            uint k = k0 + c.begin;
            low[i] = vec4(0);
            high[i] = vec4(0);
            if (k < depth && c.begin < DEPTH) {
                if (c.of_a) {
                    if (m0 + c.place < rows) {
                        float v[CHUNK];
                        load_chunk(TYPE_A, a, (m0 + c.place) * row_a + k, depth - k, 0.0, v);
                        low[i] = vec4(v[0], v[1], v[2], v[3]);
                        high[i] = vec4(v[4], v[5], v[6], v[7]);
                    }
                } else {
                    if (IS_PACKED) {
                        float scale, least;
                        packed_run(TYPE_B, planes, k, low[i], high[i], scale, least);
                        precise vec4 first = low[i] * scale;
                        precise vec4 second = high[i] * scale;
                        low[i] = first + least;
                        high[i] = second + least;
                    } else {
                        format_values(TYPE_B, row, k, depth - k, low[i], high[i]);
                    }
                    if (SCALED) {
                        apply_scales(scales, n, k, depth - k, low[i], high[i]);
                    }
                }
            }
        }
        if (k0 > 0) {
            [[unroll]] for (uint k = 0; k < DEPTH; k++) {
                float left[DOWN];
                float right[ACROSS];
                [[unroll]] for (uint i = 0; i < DOWN; i++) {
                    left[i] = DOWN < 4 ? tile_m[k * ROW_M + (my_m * DOWN + i) / 4][(my_m * DOWN + i) % 4] : tile_m[k * ROW_M + i / 4 * SIDE + my_m][i % 4];
                }
                [[unroll]] for (uint j = 0; j < ACROSS; j++) {
                    right[j] = ACROSS < 4 ? tile_n[k * ROW_N + (my_n * ACROSS + j) / 4][(my_n * ACROSS + j) % 4] : tile_n[k * ROW_N + j / 4 * SIDE + my_n][j % 4];
                }
                [[unroll]] for (uint i = 0; i < DOWN; i++) {
                    [[unroll]] for (uint j = 0; j < ACROSS; j++) {
                        sums[i * ACROSS + j] = fma(left[i], right[j], sums[i * ACROSS + j]);
                    }
                }
            }
        }
    }
    [[unroll]] for (uint i = 0; i < DOWN; i++) {
        uint m = m0 + (DOWN < 4 ? my_m * DOWN + i : (i / 4 * SIDE + my_m) * 4 + i % 4);
        [[unroll]] for (uint j = 0; j < ACROSS; j += 2) {
            uint at = n0 + (ACROSS < 4 ? my_n * ACROSS + j : (j / 4 * SIDE + my_n) * 4 + j % 4);
            if (m < rows && at < columns) {
                vec2 two = vec2(sums[i * ACROSS + j], sums[i * ACROSS + j + 1]);
                if (!absent(bias)) {
                    two.x += load(TYPE_BIAS, bias, at);
                    two.y += load(TYPE_BIAS, bias, min(at + 1, columns - 1));
                }
                store_two(TYPE_OUT, to, m * row_to + at, min(columns - at, 2), two.x, two.y);
            }
        }
    }
}
