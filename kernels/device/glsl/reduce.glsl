// Sums and maxima over a block, whatever the size of its subgroups. Every invocation of the block takes part and gets the result.

#ifndef REDUCE
#define REDUCE

#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require

// One for each subgroup: a block has 1024 invocations at most, and a subgroup at least 4.
shared float block_partials[256];

// What a block needs of shared memory for these functions: 1024 bytes.

float block_sum(float x) {
    float sum = subgroupAdd(x);
    // What an earlier reduction left is read by then.
    barrier();
    if (subgroupElect()) {
        block_partials[gl_SubgroupID] = sum;
    }
    barrier();
    sum = 0.0;
    for (uint i = 0; i < gl_NumSubgroups; i++) {
        sum += block_partials[i];
    }
    return sum;
}

float block_max(float x) {
    float most = subgroupMax(x);
    barrier();
    if (subgroupElect()) {
        block_partials[gl_SubgroupID] = most;
    }
    barrier();
    most = block_partials[0];
    for (uint i = 1; i < gl_NumSubgroups; i++) {
        most = max(most, block_partials[i]);
    }
    return most;
}

#endif
