#version 460
// out[t, :] = table[ids[t], :] * scale, for tables of every weight format. An invocation takes eight neighbours of a row.

#include "glsl/formats.glsl"

layout(constant_id = 3) const uint TYPE_TABLE = 0;
layout(constant_id = 4) const uint TYPE_OUT = 0;

layout(push_constant) uniform Push {
    uvec2 table;
    uvec2 ids;
    uvec2 to;
    // Bytes from row to row of the table.
    uvec2 row_table;
    uint rows;
    uint columns;
    uint vocabulary;
    uint step_ids;
    uint row_to;
    float scale;
};

void main() {
    uint number = group_number() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    uint chunks = chunks_of(columns);
    uint row = number / chunks;
    if (row >= rows) {
        return;
    }
    uint d = (number % chunks) * CHUNK;
    uint id = Words(ids).w[row * step_ids];
    // No row of the table: what is not there is not read, and shows.
    vec4 low = vec4(uintBitsToFloat(0x7fc00000u));
    vec4 high = low;
    if (id < vocabulary) {
        format_values(TYPE_TABLE, further_wide(table, id, row_table), d, columns - d, low, high);
    }
    float v[CHUNK];
    [[unroll]] for (uint k = 0; k < 4; k++) {
        v[k] = low[k] * scale;
        v[k + 4] = high[k] * scale;
    }
    store_chunk(TYPE_OUT, to, row * row_to + d, columns - d, v);
}
