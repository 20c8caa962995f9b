// Elements of tensors: reading and writing any type through whole words, which every device can.
//
// A tensor is the address of its first element, on a whole word, and elements are counted from there. The type is a constant of the pipeline,
// so that of each switch below one branch is left.

#ifndef ELEMENTS
#define ELEMENTS

#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_spirv_intrinsics : enable

layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words {
    uint w[];
};

// Types, numbered as in the provider's `elements.rs`.
const uint F32 = 0;
const uint F16 = 1;
const uint BF16 = 2;
const uint FP8_E4M3FN = 3;
const uint FP8_E5M2 = 4;
const uint Q8_0 = 5;
const uint Q4_0 = 6;
const uint Q4_1 = 7;
const uint Q5_0 = 8;
const uint Q5_1 = 9;
const uint Q4_K = 10;
const uint Q5_K = 11;
const uint Q6_K = 12;
const uint MXFP4 = 13;
const uint I32 = 14;
const uint I64 = 15;
const uint I8 = 16;

// The number of this block in a grid of one or two directions.
uint group_number() {
    return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
}

// Whether a tensor was left out.
bool absent(uvec2 address) {
    return (address.x | address.y) == 0;
}

// An address so many bytes further on.
uvec2 further(uvec2 address, uint bytes) {
    uint carry;
    uint low = uaddCarry(address.x, bytes, carry);
    return uvec2(low, address.y + carry);
}

// An address `count * bytes` further on, the product in 64 bits.
uvec2 further_by(uvec2 address, uint count, uint bytes) {
    uint high, low, carry;
    umulExtended(count, bytes, high, low);
    low = uaddCarry(address.x, low, carry);
    return uvec2(low, address.y + high + carry);
}

uint byte_at(uvec2 t, uint i) {
    return (Words(t).w[i >> 2] >> (8 * (i & 3))) & 0xffu;
}

uint half_at(uvec2 t, uint i) {
    return (Words(t).w[i >> 1] >> (16 * (i & 1))) & 0xffffu;
}

// f16, with its denormals, infinities and NaN, by its bits: what drivers do with denormals differs.
float from_f16(uint bits) {
    uint sign = (bits & 0x8000u) << 16;
    uint exponent = (bits >> 10) & 0x1fu;
    uint mantissa = bits & 0x3ffu;
    if (exponent == 0) {
        // A whole number of 2^-24.
        float small = float(mantissa) * 5.9604644775390625e-8;
        return uintBitsToFloat(floatBitsToUint(small) | sign);
    }
    uint wide = exponent == 31 ? 0x7f800000u : (exponent + 112) << 23;
    return uintBitsToFloat(sign | wide | (mantissa << 13));
}

// The nearest f16, ties to even.
uint to_f16(float value) {
    uint bits = floatBitsToUint(value);
    uint sign = (bits >> 16) & 0x8000u;
    uint size = bits & 0x7fffffffu;
    if (size > 0x7f800000u) {
        return sign | 0x7e00u;
    }
    if (size >= 0x477ff000u) {
        return sign | 0x7c00u;
    }
    if (size < 0x38800000u) {
        // Below the least normal number: a whole number of 2^-24. The sum's last bits are that number, rounded to even.
        uint shift = 126 - (size >> 23);
        if (shift > 24) {
            return sign;
        }
        uint mantissa = (size & 0x7fffffu) | 0x800000u;
        uint whole = mantissa >> shift;
        uint rest = mantissa & ((1u << shift) - 1);
        uint middle = 1u << (shift - 1);
        return sign | (whole + uint(rest > middle || (rest == middle && (whole & 1) == 1)));
    }
    return sign | ((size - 0x38000000u + 0xfffu + ((size >> 13) & 1)) >> 13);
}

float from_bf16(uint bits) {
    return uintBitsToFloat(bits << 16);
}

// The nearest bf16, ties to even.
uint to_bf16(float value) {
    uint bits = floatBitsToUint(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return (bits >> 16) | 0x40u;
    }
    return (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16;
}

// fp8_e4m3fn: no infinities, NaN where all bits but the sign are set.
float from_e4m3fn(uint bits) {
    uint sign = (bits & 0x80u) << 24;
    uint exponent = (bits >> 3) & 0xfu;
    uint mantissa = bits & 7u;
    if ((bits & 0x7fu) == 0x7fu) {
        return uintBitsToFloat(0x7fc00000u);
    }
    if (exponent == 0) {
        return uintBitsToFloat(floatBitsToUint(float(mantissa) * 0.001953125) | sign);
    }
    return uintBitsToFloat(sign | ((exponent + 120) << 23) | (mantissa << 20));
}

// fp8_e5m2 is the upper byte of an f16.
float from_e5m2(uint bits) {
    return from_f16(bits << 8);
}

// Element `i` of a tensor whose elements stand alone.
float load(uint type, uvec2 t, uint i) {
    switch (type) {
        case F32: return uintBitsToFloat(Words(t).w[i]);
        case F16: return from_f16(half_at(t, i));
        case BF16: return from_bf16(half_at(t, i));
        case FP8_E4M3FN: return from_e4m3fn(byte_at(t, i));
        case FP8_E5M2: return from_e5m2(byte_at(t, i));
        default: return float(int(byte_at(t, i) << 24) >> 24);
    }
}

// Writes some bits of a word that others may write other bits of at the same time.
void put_bits(uvec2 t, uint word, uint bits, uint mask) {
    atomicAnd(Words(t).w[word], ~mask);
    atomicOr(Words(t).w[word], bits);
}

// The bits of a float of 32 or 16 bits.
uint encoded(uint type, float value) {
    return type == F32 ? floatBitsToUint(value) : type == F16 ? to_f16(value) : to_bf16(value);
}

// Writes element `i` of f32, f16 or bf16. Slow for 16 bits, since its neighbour may be another's: write pairs where that can be.
void store(uint type, uvec2 t, uint i, float value) {
    if (type == F32) {
        Words(t).w[i] = floatBitsToUint(value);
        return;
    }
    uint shift = 16 * (i & 1);
    put_bits(t, i >> 1, encoded(type, value) << shift, 0xffffu << shift);
}

// Writes elements `i` and `i + 1`, where `i` is even.
void store_pair(uint type, uvec2 t, uint i, float first, float second) {
    if (type == F32) {
        Words(t).w[i] = floatBitsToUint(first);
        Words(t).w[i + 1] = floatBitsToUint(second);
        return;
    }
    Words(t).w[i >> 1] = encoded(type, first) | (encoded(type, second) << 16);
}

#endif
