#!/usr/bin/env python3
"""Answers of the common ops, computed apart from the crate's oracles, for a test to hold them against.

Writes `oracle_table.json` beside itself, or with `--stdout` prints it. Only the standard library is used. Sums and products are
exact rationals and functions are taken with 60 decimal digits, so that the table is the same on every machine and each number
is the nearest f64 to the true value.

Inputs are not stored: both sides make them. Element number i of float operand number o of a case with seed s is

    (x >> 33) % 511 - 255, divided by 128 and multiplied by 2 ** shift of the operand (0 if not given),

where x is the state after i + 1 steps of x = (x * 6364136223846793005 + 1442695040888963407) mod 2 ** 64 from the start
s * 1000003 + o. Such a number has at most 8 significant bits, so every float type holds it. Integer operands are stored. The
masks here are predicates on pairs of positions and not ranges, on purpose: it is how a person would check them.
"""

import json
import os
import sys
from decimal import Decimal, getcontext
from fractions import Fraction

getcontext().prec = 60


def numbers(seed, operand, count, shift):
    state = (seed * 1000003 + operand) % 2**64
    out = []
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        out.append(Fraction((state >> 33) % 511 - 255, 128) * Fraction(2) ** shift)
    return out


def dec(x):
    x = Fraction(x)
    return Decimal(x.numerator) / Decimal(x.denominator)


def sigmoid(x):
    return 1 / (1 + (-x).exp())


def tanh(x):
    up, down = x.exp(), (-x).exp()
    return (up - down) / (up + down)


class Array:
    """A row-major array of any rank."""

    def __init__(self, shape, values):
        self.shape, self.values = shape, values

    def __getitem__(self, index):
        flat = 0
        for i, n in zip(index, self.shape):
            assert 0 <= i < n, (index, self.shape)
            flat = flat * n + i
        return self.values[flat]


def product(shape):
    out = 1
    for n in shape:
        out *= n
    return out


def case(op, name, seed, symbols, shapes, order, attrs=None, ints=None, shifts=None, present=()):
    """`order` lists the operands in schema order, `shapes` the shapes of those that are read as floats."""
    made = {}
    for number, operand in enumerate(order):
        if operand in shapes:
            values = numbers(seed, number, product(shapes[operand]), (shifts or {}).get(operand, 0))
            made[operand] = Array(shapes[operand], values)
    head = {
        "op": op,
        "name": name,
        "seed": seed,
        "symbols": symbols,
        "attrs": attrs or {},
        "ints": ints or {},
        "shifts": shifts or {},
        "present": list(present),
    }
    return head, made


def rms_norm(name, seed, t, d, eps, shifts=None):
    order = ["x", "weight", "out"]
    shapes = {"x": [t, d], "weight": [d]}
    head, a = case("rms_norm.1", name, seed, {"T": t, "D": d}, shapes, order, {"eps": eps}, shifts=shifts)
    out = []
    for i in range(t):
        mean = sum((a["x"][i, j] ** 2 for j in range(d)), Fraction(0)) / d
        root = (dec(mean) + Decimal(eps)).sqrt()
        out += [dec(a["x"][i, j] * a["weight"][j,]) / root for j in range(d)]
    return {**head, "outputs": {"out": out}}


def silu_and_mul(name, seed, t, d, shifts=None):
    head, a = case("silu_and_mul.1", name, seed, {"T": t, "D2": 2 * d}, {"x": [t, 2 * d]}, ["x", "out"], shifts=shifts)
    out = []
    for i in range(t):
        for j in range(d):
            gate, up = dec(a["x"][i, j]), dec(a["x"][i, d + j])
            out.append(gate * sigmoid(gate) * up)
    return {**head, "outputs": {"out": out}}


def add(name, seed, t, d):
    shapes = {"a": [t, d], "b": [t, d]}
    head, a = case("add.1", name, seed, {"T": t, "D": d}, shapes, ["a", "b", "out"], shifts={"b": 3})
    return {**head, "outputs": {"out": [dec(x + y) for x, y in zip(a["a"].values, a["b"].values)]}}


def matmul_bt(name, seed, m, n, k, bias):
    shapes = {"a": [m, k], "b": [n, k]}
    if bias:
        shapes["bias"] = [n]
    present = ["bias"] if bias else []
    order = ["a", "b", "bias", "out"]
    head, a = case("matmul_bt.1", name, seed, {"M": m, "N": n, "K": k}, shapes, order, present=present)
    out = []
    for i in range(m):
        for j in range(n):
            total = sum((a["a"][i, x] * a["b"][j, x] for x in range(k)), Fraction(0))
            out.append(dec(total + (a["bias"][j,] if bias else 0)))
    return {**head, "outputs": {"out": out}}


def reshape_and_cache(name, seed, heads, d, dv, pages, page, slots):
    t = len(slots)
    shapes = {
        "key": [t, heads, d],
        "value": [t, heads, dv],
        "k_cache": [pages, page, heads, d],
        "v_cache": [pages, page, heads, dv],
    }
    symbols = {"T": t, "Hkv": heads, "D": d, "Dv": dv, "N": pages, "P": page}
    order = ["key", "value", "slots", "k_cache", "v_cache"]
    head, a = case("reshape_and_cache.1", name, seed, symbols, shapes, order, ints={"slots": slots})
    outputs = {}
    for cache, source, width in [("k_cache", "key", d), ("v_cache", "value", dv)]:
        after = list(a[cache].values)
        for i, slot in enumerate(slots):
            if slot >= 0:
                for h in range(heads):
                    for x in range(width):
                        after[(slot * heads + h) * width + x] = a[source][i, h, x]
        outputs[cache] = [dec(v) for v in after]
    return {**head, "outputs": outputs}


def paged_attention(
    name,
    seed,
    *,
    q_lens,
    seq_lens,
    heads,
    kv_heads,
    d,
    dv,
    page,
    scale,
    causal=True,
    window=0,
    softcap=0.0,
    sinks=False,
):
    rows, requests = sum(q_lens), len(q_lens)
    used = [-(-n // page) for n in seq_lens]
    columns, pages = max(used) + 1, sum(used) + 2
    # Pages from the last to the first, so that no page stands where its number would put it; garbage behind the end.
    free = list(range(pages - 1, -1, -1))
    table = [[free.pop(0) if j < used[r] else [-7, 2147483647][j % 2] for j in range(columns)] for r in range(requests)]
    starts = [sum(q_lens[:r]) for r in range(requests + 1)]
    shapes = {
        "query": [rows, heads, d],
        "k_cache": [pages, page, kv_heads, d],
        "v_cache": [pages, page, kv_heads, dv],
    }
    if sinks:
        shapes["sinks"] = [heads]
    symbols = {
        "T": rows,
        "Hq": heads,
        "D": d,
        "N": pages,
        "P": page,
        "Hkv": kv_heads,
        "Dv": dv,
        "R": requests,
        "M": columns,
    }
    attrs = {"scale": scale, "causal": causal, "window": window, "softcap": softcap}
    ints = {"block_table": sum(table, []), "seq_lens": seq_lens, "query_start": starts}
    order = ["query", "k_cache", "v_cache", "block_table", "seq_lens", "query_start", "sinks", "out"]
    present = ["sinks"] if sinks else []
    head, a = case(
        "paged_attention.1", name, seed, symbols, shapes, order, attrs, ints, {"query": 1}, present
    )
    out = []
    for r in range(requests):
        for i in range(q_lens[r]):
            position = seq_lens[r] - q_lens[r] + i
            for h in range(heads):
                kv = h * kv_heads // heads
                terms = []
                for key in range(seq_lens[r]):
                    if causal and key > position:
                        continue
                    if window and abs(position - key) >= window:
                        continue
                    where = table[r][key // page], key % page, kv
                    dot = sum((a["query"][starts[r] + i, h, x] * a["k_cache"][(*where, x)] for x in range(d)), Fraction(0))
                    logit = dec(dot * Fraction(scale))
                    if softcap:
                        logit = Decimal(softcap) * tanh(logit / Decimal(softcap))
                    terms.append((logit.exp(), where))
                total = sum((e for e, _ in terms), Decimal(0))
                if sinks:
                    total += dec(a["sinks"][h,]).exp()
                for x in range(dv):
                    value = sum((e * dec(a["v_cache"][(*where, x)]) for e, where in terms), Decimal(0))
                    out.append(value / total if terms else Decimal(0))
    return {**head, "outputs": {"out": out}}


def cases():
    yield rms_norm("one_element", 1, 2, 1, 0.5)
    yield rms_norm("small_eps", 2, 3, 7, 1e-6)
    yield rms_norm("large_eps", 3, 2, 5, 0.25, {"x": -3})
    yield rms_norm("wide", 4, 1, 33, 1e-5)
    yield silu_and_mul("small", 5, 3, 5)
    yield silu_and_mul("far_gates", 6, 2, 9, {"x": 5})
    yield add("odd", 7, 3, 5)
    yield matmul_bt("plain", 8, 3, 4, 7, False)
    yield matmul_bt("bias", 9, 2, 5, 9, True)
    yield matmul_bt("no_depth", 10, 2, 3, 0, True)
    yield matmul_bt("deep", 11, 1, 2, 65, False)
    yield reshape_and_cache("scattered", 12, 2, 3, 2, 3, 4, [9, -1, 0, 5, -9223372036854775808])
    yield reshape_and_cache("page_of_one", 13, 1, 2, 4, 5, 1, [4, 1])
    base = dict(q_lens=[3, 0, 2], seq_lens=[7, 4, 2], heads=2, kv_heads=2, d=4, dv=4, page=3, scale=0.5)
    yield paged_attention("plain", 20, **base)
    yield paged_attention("softcap", 21, **{**base, "softcap": 1.5})
    yield paged_attention("large_softcap", 22, **{**base, "softcap": 50.0, "scale": 4.0})
    yield paged_attention("sinks", 23, **{**base, "sinks": True})
    yield paged_attention("window", 24, **{**base, "window": 2})
    yield paged_attention("window_of_one", 25, **{**base, "window": 1})
    yield paged_attention("full", 26, **{**base, "causal": False})
    yield paged_attention("full_window", 27, **{**base, "causal": False, "window": 3})
    yield paged_attention("all_at_once", 28, **{**base, "window": 3, "softcap": 2.0, "sinks": True})
    yield paged_attention("full_all_at_once", 29, **{**base, "causal": False, "window": 2, "softcap": 3.0, "sinks": True})
    yield paged_attention("grouped", 30, **{**base, "heads": 6, "kv_heads": 2, "page": 16})
    yield paged_attention("ratio_of_seven", 31, **{**base, "heads": 7, "kv_heads": 1, "q_lens": [1, 1, 1]})
    yield paged_attention("narrow_values", 32, **{**base, "d": 6, "dv": 3, "heads": 4})
    yield paged_attention("wide_values", 33, **{**base, "d": 3, "dv": 5, "page": 1})
    yield paged_attention("page_of_one_window", 34, **{**base, "page": 1, "window": 3, "softcap": 5.0})
    yield paged_attention("decode", 35, **{**base, "q_lens": [1, 1, 1, 1], "seq_lens": [1, 16, 17, 33], "page": 16})
    yield paged_attention("prefill", 36, **{**base, "q_lens": [9], "seq_lens": [9], "page": 3, "heads": 3, "kv_heads": 1})
    yield paged_attention("no_keys", 37, **{**base, "q_lens": [0, 2, 0], "seq_lens": [0, 2, 0], "sinks": True})
    yield paged_attention("negative_scale", 38, **{**base, "scale": -0.375, "softcap": 2.5})


def rendered():
    out = []
    for item in cases():
        outputs = {name: [float(v) for v in values] for name, values in item["outputs"].items()}
        out.append(json.dumps({**item, "outputs": outputs}, sort_keys=True))
    return "[\n" + ",\n".join(out) + "\n]\n"


if __name__ == "__main__":
    if "--stdout" in sys.argv[1:]:
        sys.stdout.write(rendered())
    else:
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "oracle_table.json")
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(rendered())
