#version 460
// Turns pairs of a head by position * frequency, and copies the elements that belong to no pair. An invocation takes two neighbouring pairs
// of some heads, whose angles it computes once, or eight of the elements that are copied.

#include "glsl/chunks.glsl"
#include "glsl/angle.glsl"

layout(constant_id = 3) const uint TYPE = 0;
// Whether a pair is two neighbours, or elements i and `pairs` + i.
layout(constant_id = 4) const uint INTERLEAVED = 0;
// Heads of an invocation.
layout(constant_id = 5) const uint HEADS = 1;

layout(push_constant) uniform Push {
    uvec2 x;
    uvec2 positions;
    uvec2 frequencies;
    uvec2 to;
    uint rows;
    uint heads;
    uint columns;
    uint pairs;
    uint row_x;
    uint head_x;
    uint row_to;
    uint head_to;
    uint step_positions;
    float amplitude;
};

// Writes two neighbours, wherever they lie.
void store_two(uint i, float first, float second) {
    if (TYPE == F32 || (i & 1) == 0) {
        store_pair(TYPE, to, i, first, second);
    } else {
        store(TYPE, to, i, first);
        store(TYPE, to, i + 1, second);
    }
}

vec2 turned(vec2 pair, vec2 turn) {
    return vec2(pair.x * turn.x - pair.y * turn.y, pair.y * turn.x + pair.x * turn.y);
}

void main() {
    uint number = group_number() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    uint duos = (pairs + 1) / 2;
    uint units = duos + chunks_of(columns - 2 * pairs);
    uint groups = (heads + HEADS - 1) / HEADS;
    uint unit = number % units;
    uint first_head = (number / units) % groups * HEADS;
    uint row = number / units / groups;
    if (row >= rows) {
        return;
    }
    uint last_head = min(first_head + HEADS, heads);
    if (unit >= duos) {
        if (x == to) {
            // In place, where they stand already.
            return;
        }
        uint d = 2 * pairs + (unit - duos) * CHUNK;
        for (uint h = first_head; h < last_head; h++) {
            float v[CHUNK];
            load_chunk(TYPE, x, row * row_x + h * head_x + d, columns - d, 0.0, v);
            store_chunk(TYPE, to, row * row_to + h * head_to + d, columns - d, v);
        }
        return;
    }
    uint i = 2 * unit;
    bool two = i + 1 < pairs;
    uint position = Words(positions).w[row * step_positions];
    vec2 turn = cosine_sine(position, turns_of(uintBitsToFloat(Words(frequencies).w[i]))) * amplitude;
    vec2 next = turn;
    if (two) {
        next = cosine_sine(position, turns_of(uintBitsToFloat(Words(frequencies).w[i + 1]))) * amplitude;
    }
    for (uint h = first_head; h < last_head; h++) {
        uint from = row * row_x + h * head_x;
        uint at = row * row_to + h * head_to;
        uint apart = INTERLEAVED != 0 ? 1 : pairs;
        uint begin = INTERLEAVED != 0 ? 2 * i : i;
        uint step = INTERLEAVED != 0 ? 2 : 1;
        vec2 a = turned(vec2(load(TYPE, x, from + begin), load(TYPE, x, from + begin + apart)), turn);
        vec2 b = vec2(0.0);
        if (two) {
            b = turned(vec2(load(TYPE, x, from + begin + step), load(TYPE, x, from + begin + step + apart)), next);
        }
        if (INTERLEAVED != 0) {
            store_two(at + begin, a.x, a.y);
            if (two) {
                store_two(at + begin + 2, b.x, b.y);
            }
        } else if (two) {
            store_two(at + begin, a.x, b.x);
            store_two(at + begin + apart, a.y, b.y);
        } else {
            store(TYPE, to, at + begin, a.x);
            store(TYPE, to, at + begin + apart, a.y);
        }
    }
}
