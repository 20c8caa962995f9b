// A row for some lanes of a block: how many depends on the row's width alone, so that a row's sum has the same bits in every batch. Wide rows
// have a block each, narrow ones share one.

#ifndef ROWS
#define ROWS

#include "glsl/chunks.glsl"
#include "glsl/reduce.glsl"

// A power of two. Either all of the block or at most half of it.
layout(constant_id = 3) const uint LANES = 32;

// The row of this invocation.
uint row_number() {
    return group_number() * (gl_WorkGroupSize.x / LANES) + gl_LocalInvocationID.x / LANES;
}

// Its place in the row.
uint lane_number() {
    return gl_LocalInvocationID.x % LANES;
}

// The sum over the lanes of a row. All invocations of the block take part.
float row_sum(float x) {
    if (LANES == gl_WorkGroupSize.x) {
        return block_sum(x);
    }
    if (LANES == 1) {
        return x;
    }
    uint i = gl_LocalInvocationID.x;
    // What an earlier reduction left is read by then.
    barrier();
    block_partials[i] = x;
    for (uint apart = LANES / 2; apart > 0; apart /= 2) {
        barrier();
        if (lane_number() < apart) {
            block_partials[i] += block_partials[i + apart];
        }
    }
    barrier();
    return block_partials[i - lane_number()];
}

// The same for the greatest. No lane may have NaN.
float row_max(float x) {
    if (LANES == gl_WorkGroupSize.x) {
        return block_max(x);
    }
    if (LANES == 1) {
        return x;
    }
    uint i = gl_LocalInvocationID.x;
    barrier();
    block_partials[i] = x;
    for (uint apart = LANES / 2; apart > 0; apart /= 2) {
        barrier();
        if (lane_number() < apart) {
            block_partials[i] = max(block_partials[i], block_partials[i + apart]);
        }
    }
    barrier();
    return block_partials[i - lane_number()];
}

#endif
