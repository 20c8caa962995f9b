// The end of a row: a head's values from shared memory to the output, by pairs that are whole words of it. The file that includes this
// defines BLOCK, VALUE_WIDTH, TYPE_OUT and `to`.

shared float result[VALUE_WIDTH + 4];

// Writes the result, times a factor, from element `begin` of the output on. All invocations take part.
void write_result(uint begin, float factor) {
    uint lane = gl_LocalInvocationID.x;
    int odd = int(begin & 1);
    for (int d = int(2 * lane) - odd; d < int(VALUE_WIDTH); d += int(2 * BLOCK)) {
        bool first = d >= 0;
        bool second = d + 1 < int(VALUE_WIDTH);
        float x = first ? result[max(d, 0)] * factor : 0.0;
        float y = second ? result[d + 1] * factor : 0.0;
        uint at = begin + d;
        if (first && second) {
            store_pair(TYPE_OUT, to, at, x, y);
        } else if (first) {
            store(TYPE_OUT, to, at, x);
        } else if (second) {
            store(TYPE_OUT, to, at + 1, y);
        }
    }
}
