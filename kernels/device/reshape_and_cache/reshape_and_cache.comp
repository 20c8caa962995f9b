#version 460
// Writes keys and values of new tokens to their slots of the paged cache. An invocation takes eight neighbours of a head, or a block of 32 where
// the cache's type has blocks.

#include "glsl/math.glsl"
#include "glsl/stored.glsl"

layout(constant_id = 3) const uint TYPE_KEY = 0;
layout(constant_id = 4) const uint TYPE_VALUE = 0;
layout(constant_id = 5) const uint TYPE_K_CACHE = 0;
layout(constant_id = 6) const uint TYPE_V_CACHE = 0;
layout(constant_id = 7) const uint HEADS = 1;
layout(constant_id = 8) const uint WIDTH_KEY = 1;
layout(constant_id = 9) const uint WIDTH_VALUE = 1;
// 1 / scale of keys and of values, each the sum of two floats.
layout(constant_id = 10) const float K_INVERSE = 1.0;
layout(constant_id = 11) const float K_INVERSE_REST = 0.0;
layout(constant_id = 12) const float V_INVERSE = 1.0;
layout(constant_id = 13) const float V_INVERSE_REST = 0.0;

layout(push_constant) uniform Push {
    uvec2 key;
    uvec2 value;
    uvec2 slots;
    uvec2 k_cache;
    uvec2 v_cache;
    // Bytes from page to page, position to position, head to head.
    uvec2 k_page;
    uvec2 k_position;
    uvec2 k_head;
    uvec2 v_page;
    uvec2 v_position;
    uvec2 v_head;
    uint rows;
    uint pages;
    uint page;
    uint row_key;
    uint head_key;
    uint row_value;
    uint head_value;
    uint step_slots;
};

bool in_blocks(uint type) {
    return type >= Q8_0;
}

uint units_of(uint type, uint width) {
    uint unit = in_blocks(type) ? BLOCK : CHUNK;
    return (width + unit - 1) / unit;
}

// An address plus a count times a number of 64 bits.
uvec2 stepped(uvec2 address, uint count, uvec2 bytes) {
    uint high, low, carry;
    umulExtended(count, bytes.x, high, low);
    low = uaddCarry(address.x, low, carry);
    return uvec2(low, address.y + high + count * bytes.y + carry);
}

// x times the inverse of the scale, rounded once.
float times(float x, float inverse, float rest) {
    if (inverse == 1.0 && rest == 0.0) {
        return x;
    }
    vec2 product = two_product(x, inverse);
    precise float both = product.x + (product.y + x * rest);
    // Beyond this the parts of the product would overflow.
    return abs(x) < 1e30 && abs(product.x) < 1e30 ? both : product.x;
}

void write_unit(uint from_type, uvec2 from, uint base, uint unit, uint width, uint type, uvec2 to, float inverse, float rest) {
    if (in_blocks(type)) {
        float all[BLOCK];
        [[unroll]] for (uint part = 0; part < BLOCK / CHUNK; part++) {
            float v[CHUNK];
            load_chunk(from_type, from, base + unit * BLOCK + part * CHUNK, CHUNK, 0.0, v);
            [[unroll]] for (uint k = 0; k < CHUNK; k++) {
                all[part * CHUNK + k] = times(v[k], inverse, rest);
            }
        }
        put_block(type, further_by(to, unit, block_bytes(type)), all);
    } else {
        uint d = unit * CHUNK;
        uint count = min(width - d, CHUNK);
        float v[CHUNK];
        load_chunk(from_type, from, base + d, count, 0.0, v);
        [[unroll]] for (uint k = 0; k < CHUNK; k++) {
            v[k] = times(v[k], inverse, rest);
        }
        put_chunk(type, further(to, d * bytes_of(type)), count, v);
    }
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
    uint k_units = units_of(TYPE_K_CACHE, WIDTH_KEY);
    uint units = k_units + units_of(TYPE_V_CACHE, WIDTH_VALUE);
    uint unit = invocation % units;
    uint head = invocation / units % HEADS;
    uint row = invocation / units / HEADS;
    if (row >= rows) {
        return;
    }
    uvec2 slot = uvec2(Words(slots).w[2 * row * step_slots], Words(slots).w[2 * row * step_slots + 1]);
    uint number, position;
    // A negative slot skips its token. One outside the cache is the caller's mistake, and nothing is written to it.
    if (int(slot.y) < 0 || !place_of(slot, number, position) || number >= pages) {
        return;
    }
    if (unit < k_units) {
        uvec2 to = stepped(stepped(stepped(k_cache, number, k_page), position, k_position), head, k_head);
        write_unit(TYPE_KEY, key, row * row_key + head * head_key, unit, WIDTH_KEY, TYPE_K_CACHE, to, K_INVERSE, K_INVERSE_REST);
    } else {
        uvec2 to = stepped(stepped(stepped(v_cache, number, v_page), position, v_position), head, v_head);
        write_unit(TYPE_VALUE, value, row * row_value + head * head_value, unit - k_units, WIDTH_VALUE, TYPE_V_CACHE, to, V_INVERSE, V_INVERSE_REST);
    }
}
