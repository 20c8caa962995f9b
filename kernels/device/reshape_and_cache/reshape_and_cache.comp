#version 460
// Writes keys and values of new tokens to their slots of the paged cache. An invocation takes eight neighbours of a head, or a block of 32 where
// the cache's type has blocks.

#include "glsl/math.glsl"
#include "glsl/stored.glsl"

layout(constant_id = 3) const uint TYPE_SOURCE = 0;
layout(constant_id = 4) const uint TYPE_CACHE = 0;

// Keys, values, or both where they differ in nothing but what is here twice: then the grid is two deep.
layout(push_constant) uniform Push {
    uvec2 source[2];
    uvec2 cache[2];
    uvec2 slots;
    // Bytes of the cache from page to page, position to position, head to head.
    uvec2 page_bytes;
    uvec2 position_bytes;
    uvec2 head_bytes;
    uint rows;
    uint heads;
    uint width;
    uint pages;
    uint page;
    uint step_slots;
    // Elements of the source from row to row and head to head.
    uint row_source[2];
    uint head_source[2];
    // 1 / scale, the sum of two floats.
    float inverse[2];
    float inverse_rest[2];
};

bool in_blocks(uint type) {
    return type >= Q8_0;
}

// An address plus a count times a number of 64 bits.
uvec2 stepped(uvec2 address, uint count, uvec2 bytes) {
    uint high, low, carry;
    umulExtended(count, bytes.x, high, low);
    low = uaddCarry(address.x, low, carry);
    return uvec2(low, address.y + high + count * bytes.y + carry);
}

// x times the inverse of the scale, rounded once.
float times(float x, float by, float rest) {
    if (by == 1.0 && rest == 0.0) {
        return x;
    }
    vec2 product = two_product(x, by);
    precise float both = product.x + (product.y + x * rest);
    // Beyond this the parts of the product would overflow.
    return abs(x) < 1e30 && abs(product.x) < 1e30 ? both : product.x;
}

// The quotient of a slot and the page's size, and what remains. Slots of more than 32 bits are divided bit by bit.
bool place_of(uvec2 slot, out uint number, out uint position) {
    if (slot.y == 0) {
        number = slot.x / page;
        position = slot.x % page;
        return true;
    }
    uint remainder = 0;
    uvec2 quotient = uvec2(0);
    for (int bit = 63; bit >= 0; bit--) {
        uint next = bit >= 32 ? (slot.y >> (bit - 32)) & 1 : (slot.x >> bit) & 1;
        // The page's size is below 2^31, so nothing is lost.
        remainder = (remainder << 1) | next;
        quotient = uvec2(quotient.x << 1, (quotient.y << 1) | (quotient.x >> 31));
        if (remainder >= page) {
            remainder -= page;
            quotient.x |= 1;
        }
    }
    number = quotient.x;
    position = remainder;
    return quotient.y == 0;
}

void main() {
    uint invocation = group_number() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    uint side = gl_WorkGroupID.z;
    uint width_of_unit = in_blocks(TYPE_CACHE) ? BLOCK : CHUNK;
    uint units = (width + width_of_unit - 1) / width_of_unit;
    uint unit = invocation % units;
    uint head = invocation / units % heads;
    uint row = invocation / units / heads;
    if (row >= rows) {
        return;
    }
    uvec2 slot = uvec2(Words(slots).w[2 * row * step_slots], Words(slots).w[2 * row * step_slots + 1]);
    uint number, position;
    // A negative slot skips its token. One outside the cache is the caller's mistake, and nothing is written to it.
    if (int(slot.y) < 0 || !place_of(slot, number, position) || number >= pages) {
        return;
    }
    uvec2 to = stepped(stepped(stepped(cache[side], number, page_bytes), position, position_bytes), head, head_bytes);
    uint base = row * row_source[side] + head * head_source[side];
    float by = inverse[side];
    float rest = inverse_rest[side];
    float v[CHUNK];
    if (in_blocks(TYPE_CACHE)) {
        float all[BLOCK];
        [[unroll]] for (uint part = 0; part < BLOCK / CHUNK; part++) {
            load_chunk(TYPE_SOURCE, source[side], base + unit * BLOCK + part * CHUNK, CHUNK, 0.0, v);
            [[unroll]] for (uint k = 0; k < CHUNK; k++) {
                all[part * CHUNK + k] = times(v[k], by, rest);
            }
        }
        put_block(TYPE_CACHE, further_by(to, unit, block_bytes(TYPE_CACHE)), all);
        return;
    }
    uint d = unit * CHUNK;
    uint count = min(width - d, CHUNK);
    load_chunk(TYPE_SOURCE, source[side], base + d, count, 0.0, v);
    [[unroll]] for (uint k = 0; k < CHUNK; k++) {
        v[k] = times(v[k], by, rest);
    }
    put_chunk(TYPE_CACHE, further(to, d * bytes_of(TYPE_CACHE)), count, v);
}
