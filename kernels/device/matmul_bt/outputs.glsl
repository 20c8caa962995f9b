// Writing results of products.

#ifndef OUTPUTS
#define OUTPUTS

#include "glsl/elements.glsl"

// Writes two neighbours, of which `count` are there, in one word where that is theirs alone.
void store_two(uint type, uvec2 to, uint at, uint count, float first, float second) {
    if (count > 1 && (type == F32 || (at & 1) == 0)) {
        store_pair(type, to, at, first, second);
        return;
    }
    store(type, to, at, first);
    if (count > 1) {
        store(type, to, at + 1, second);
    }
}

#endif
