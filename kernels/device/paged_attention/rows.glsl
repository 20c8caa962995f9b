// Where keys and values lie. The file that includes this defines the strides of both caches as constants, `keys` and `values`.

int integer(uvec2 t, uint i) {
    return int(Words(t).w[i]);
}

// `head` is a head of the cache.
uvec2 key_address(uint page, uint key, uint head) {
    uvec2 at = further_long(keys, page, K_PAGE, K_PAGE_HIGH);
    at = further_long(at, key, K_KEY, K_KEY_HIGH);
    return further_long(at, head, K_HEAD, K_HEAD_HIGH);
}

uvec2 value_address(uint page, uint key, uint head) {
    uvec2 at = further_long(values, page, V_PAGE, V_PAGE_HIGH);
    at = further_long(at, key, V_KEY, V_KEY_HIGH);
    return further_long(at, head, V_HEAD, V_HEAD_HIGH);
}
