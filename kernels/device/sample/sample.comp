#version 460
// Draws a token of each row, a block for each. Nothing is sorted: what top-k and top-p keep is a beginning of the descending order, which a
// key and a number of elements equal to it describe. The key is found digit by digit, from the count or from the weights of all elements
// at or above each candidate.

#include "glsl/elements.glsl"
#include "glsl/math.glsl"
#include "glsl/reduce.glsl"

// The block's size, which the provider knows too.
const uint BLOCK = 256;
// Bits of a digit, and candidates for one: a digit of 0 needs no looking.
const uint DIGIT = 3;
const uint CANDIDATES = (1 << DIGIT) - 1;

layout(constant_id = 3) const uint TYPE = 0;

layout(push_constant) uniform Push {
    uvec2 logits;
    uvec2 temperatures;
    uvec2 top_ks;
    uvec2 top_ps;
    uvec2 min_ps;
    uvec2 seeds;
    uvec2 draws;
    uvec2 to;
    uint rows;
    uint columns;
    uint row_logits;
    uint step_to;
};

shared float counts[BLOCK];
shared float sums[BLOCK];

uint begin;
float greatest;
float temperature;

float element(uint i) {
    return load(TYPE, logits, begin + i);
}

// Whole numbers in the order of the floats; 0 for NaN, which is below all numbers. Both zeros are one.
uint key_of(float x) {
    if (isnan(x)) {
        return 0;
    }
    uint bits = floatBitsToUint(x);
    if (bits == 0x80000000u) {
        bits = 0;
    }
    return (bits >> 31) == 1 ? ~bits : bits | 0x80000000u;
}

float value_of(uint key) {
    return uintBitsToFloat((key >> 31) == 1 ? key & 0x7fffffffu : ~key);
}

float weight_of(float x) {
    return x == greatest ? 1.0 : exponential((x - greatest) / temperature);
}

// The greatest key at or above which elements are at least so many, or weigh at least so much. 0 where all together are less.
uint key_with(bool by_weight, float wanted) {
    uint base = 0;
    for (int shift = 30; shift >= 0; shift -= int(DIGIT)) {
        float found[CANDIDATES];
        [[unroll]] for (uint j = 0; j < CANDIDATES; j++) {
            found[j] = 0.0;
        }
        for (uint i = gl_LocalInvocationID.x; i < columns; i += BLOCK) {
            float x = element(i);
            uint key = key_of(x);
            if (key < base || (key - base) >> shift == 0) {
                continue;
            }
            uint digit = (key - base) >> shift;
            float one = by_weight ? weight_of(x) : 1.0;
            [[unroll]] for (uint j = 0; j < CANDIDATES; j++) {
                found[j] += digit > j ? one : 0.0;
            }
        }
        uint digit = 0;
        // Of the topmost digit there are two bits.
        uint most = shift == 30 ? 3 : CANDIDATES;
        [[unroll]] for (uint j = 0; j < CANDIDATES; j++) {
            if (block_sum(found[j]) >= wanted && j < most) {
                digit = j + 1;
            }
        }
        base += digit << shift;
    }
    return base;
}

// The first word of Philox4x32-10 of a counter and a key.
uint philox(uvec2 draw, uvec2 key) {
    uvec4 counter = uvec4(draw, 0, 0);
    for (uint i = 0; i < 10; i++) {
        uint high_a, low_a, high_b, low_b;
        umulExtended(counter.x, 0xd2511f53u, high_a, low_a);
        umulExtended(counter.z, 0xcd9e8d57u, high_b, low_b);
        counter = uvec4(high_b ^ counter.y ^ key.x, low_b, high_a ^ counter.w ^ key.y, low_a);
        key += uvec2(0x9e3779b9u, 0xbb67ae85u);
    }
    return counter.x;
}

// What is kept: keys above one, the first few of those equal to it, and of all these what weighs enough.
uint last_key;
float last_count;
float least_weight;

// Visits elements of the invocation's stretch of the row in order. `equal`: how many before it are equal to the last key.
// Answers the sum of what is kept; with a bound the first element at which the sum exceeds it, or -1.
float kept_sum(uint first, uint end, float equal, float bound, out int place, out int last) {
    float sum = 0.0;
    place = -1;
    last = -1;
    for (uint i = first; i < end; i++) {
        float x = element(i);
        uint key = key_of(x);
        if (key == 0 || key < last_key) {
            continue;
        }
        if (key == last_key) {
            equal += 1.0;
            if (equal > last_count) {
                continue;
            }
        }
        float weight = weight_of(x);
        if (weight < least_weight || weight == 0.0) {
            continue;
        }
        sum += weight;
        last = int(i);
        if (place < 0 && sum > bound) {
            place = int(i);
        }
    }
    return sum;
}

void main() {
    uint row = group_number();
    if (row >= rows) {
        return;
    }
    uint lane = gl_LocalInvocationID.x;
    begin = row * row_logits;
    temperature = load(F32, temperatures, row);
    float infinity = uintBitsToFloat(0x7f800000u);

    // Numbers, and the greatest.
    float mine = -infinity;
    float count = 0.0;
    for (uint i = lane; i < columns; i += BLOCK) {
        float x = element(i);
        if (!isnan(x)) {
            mine = max(mine, x);
            count += 1.0;
        }
    }
    greatest = block_max(mine);
    count = block_sum(count);
    if (count == 0.0) {
        if (lane == 0) {
            Words(to).w[row * step_to] = 0xffffffffu;
        }
        return;
    }
    if (temperature == 0.0 || greatest == -infinity) {
        // The least index of the greatest. Indices are whole numbers that a float holds.
        float first = -infinity;
        for (uint i = lane; i < columns; i += BLOCK) {
            if (element(i) == greatest) {
                first = max(first, -float(i));
            }
        }
        first = block_max(first);
        if (lane == 0) {
            Words(to).w[row * step_to] = uint(-first);
        }
        return;
    }

    int top_k = int(Words(top_ks).w[row]);
    float top_p = load(F32, top_ps, row);
    least_weight = load(F32, min_ps, row);
    last_key = 0;
    last_count = infinity;
    if (top_k > 0 && float(top_k) < count) {
        last_key = key_with(false, float(top_k));
        float above = 0.0;
        for (uint i = lane; i < columns; i += BLOCK) {
            above += key_of(element(i)) > last_key ? 1.0 : 0.0;
        }
        last_count = float(top_k) - block_sum(above);
    }
    if (top_p < 1.0) {
        float sum = 0.0;
        for (uint i = lane; i < columns; i += BLOCK) {
            float x = element(i);
            uint key = key_of(x);
            sum += key != 0 && key > last_key ? weight_of(x) : 0.0;
        }
        sum = block_sum(sum);
        if (last_key != 0) {
            sum += last_count * weight_of(value_of(last_key));
        }
        // At least one is kept, and the greatest weighs 1.
        float wanted = max(top_p * sum, 1e-30);
        uint key = key_with(true, wanted);
        if (key != 0 && key >= last_key) {
            float above = 0.0;
            float equal = 0.0;
            for (uint i = lane; i < columns; i += BLOCK) {
                float x = element(i);
                uint other = key_of(x);
                above += other > key ? weight_of(x) : 0.0;
                equal += other == key ? 1.0 : 0.0;
            }
            above = block_sum(above);
            equal = block_sum(equal);
            float most = key == last_key ? last_count : equal;
            last_key = key;
            last_count = clamp(ceil((wanted - above) / weight_of(value_of(key))), 1.0, most);
        }
    }

    // Each invocation has a stretch of the row, so that sums go on in the order of indices.
    uint stretch = (columns + BLOCK - 1) / BLOCK;
    uint first = min(lane * stretch, columns);
    uint end = min(first + stretch, columns);
    float equal = 0.0;
    if (last_key != 0) {
        for (uint i = first; i < end; i++) {
            equal += key_of(element(i)) == last_key ? 1.0 : 0.0;
        }
        counts[lane] = equal;
        barrier();
        equal = 0.0;
        for (uint i = 0; i < lane; i++) {
            equal += counts[i];
        }
    }
    int place, last;
    sums[lane] = kept_sum(first, end, equal, infinity, place, last);
    barrier();
    float all = 0.0;
    float before = 0.0;
    for (uint i = 0; i < BLOCK; i++) {
        before += i < lane ? sums[i] : 0.0;
        all += sums[i];
    }
    uvec2 seed = uvec2(Words(seeds).w[2 * row], Words(seeds).w[2 * row + 1]);
    uint number = philox(uvec2(Words(draws).w[2 * row], Words(draws).w[2 * row + 1]), seed);
    // The number's upper 24 bits and its lower 8, each of which a float holds.
    float wanted = float(number >> 8) * 5.9604644775390625e-8 * all + float(number & 0xff) * 2.3283064365386963e-10 * all;

    // The first stretch whose end exceeds it, and where in it; if rounding left none, the last that is kept.
    float behind = block_max(before + sums[lane] > wanted ? -float(lane) : -infinity);
    float latest = block_max(float(last));
    if (behind == -infinity) {
        if (lane == 0) {
            Words(to).w[row * step_to] = uint(int(latest));
        }
    } else if (lane == uint(-behind)) {
        int some;
        kept_sum(first, end, equal, wanted - before, place, some);
        // The sum within the stretch, begun anew, may round to the bound where that with what was before did not.
        Words(to).w[row * step_to] = uint(place < 0 ? last : place);
    }
}
