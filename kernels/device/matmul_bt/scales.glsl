// Scales of weights that stand beside them.

#ifndef SCALES
#define SCALES

#include "glsl/formats.glsl"

// Scales of a weight: one for each so many rows by so many columns.
struct Scales {
    uvec2 at;
    uint rows;
    uint depth;
    uint row;
    uint column;
};

// Applies the scales of a weight's row to eight of its values.
void apply_scales(Scales scales, uint n, uint k, uint count, inout vec4 low, inout vec4 high) {
    uint begin = n / scales.rows * scales.row;
    uint first = k / scales.depth;
    uint last = (k + min(count, RUN) - 1) / scales.depth;
    if (first == last) {
        float scale = uintBitsToFloat(Words(scales.at).w[begin + first * scales.column]);
        low *= scale;
        high *= scale;
        return;
    }
    [[unroll]] for (uint e = 0; e < RUN; e++) {
        if (e < count) {
            float scale = uintBitsToFloat(Words(scales.at).w[begin + (k + e) / scales.depth * scales.column]);
            if (e < 4) {
                low[e] *= scale;
            } else {
                high[e - 4] *= scale;
            }
        }
    }
}

#endif
