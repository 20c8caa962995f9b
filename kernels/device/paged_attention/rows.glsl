// Where keys and values lie. The file that includes this defines the strides of both caches as constants, `keys` and `values`.

int integer(uvec2 t, uint i) {
    return int(Words(t).w[i]);
}

// `head` is a head of the cache.
Row key_row(uint page, uint key, uint head) {
    uvec2 at = further_long(uvec2(0), page, K_PAGE, K_PAGE_HIGH);
    at = further_long(at, key, K_KEY, K_KEY_HIGH);
    return row_at(keys, further_long(at, head, K_HEAD, K_HEAD_HIGH));
}

Row value_row(uint page, uint key, uint head) {
    uvec2 at = further_long(uvec2(0), page, V_PAGE, V_PAGE_HIGH);
    at = further_long(at, key, V_KEY, V_KEY_HIGH);
    return row_at(values, further_long(at, head, V_HEAD, V_HEAD_HIGH));
}
