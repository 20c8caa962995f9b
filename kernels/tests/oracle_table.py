#!/usr/bin/env python3
"""Answers of the common ops, computed apart from the crate's oracles, for a test to hold them against.

Writes `oracle_table.json` beside itself, or with `--stdout` prints it. Only the standard library is used. Sums and products are
exact rationals and functions are taken with 60 decimal digits, so that the table is the same on every machine and each number
is the nearest f64 to the true value.

Inputs are not stored: both sides make them. Element number i of float operand number o of a case with seed s is

    (x >> 33) % 511 - 255, divided by 128 and multiplied by 2 ** shift of the operand (0 if not given),

where x is the state after i + 1 steps of x = (x * 6364136223846793005 + 1442695040888963407) mod 2 ** 64 from the start
s * 1000003 + o. Such a number has at most 8 significant bits, so every float type holds it. Integer operands are stored. The
masks here are predicates on pairs of positions and not ranges, on purpose: it is how a person would check them. So are floats that
have rules of their own, under "floats": numbers that f32 holds.
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


def rounded(x, bits):
    """To nearest, ties to even, with so many significant bits."""
    if x == 0:
        return x
    exponent = 0
    while abs(x) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    while abs(x) < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** (exponent - bits + 1)
    return round(x / unit) * unit


def pi():
    """Machin's formula."""

    def arctan_of_inverse(n):
        total, power, k = Decimal(0), Decimal(1) / n, 0
        while abs(power) > Decimal(10) ** -70:
            total += power / (2 * k + 1) * (-1) ** k
            power /= n * n
            k += 1
        return total

    return 16 * arctan_of_inverse(5) - 4 * arctan_of_inverse(239)


def cos_sin(x):
    """By the series, after whole turns are taken off."""
    turn = 2 * pi()
    x = x - (x / turn).to_integral_value() * turn
    cos, sin, term, n = Decimal(0), Decimal(0), Decimal(1), 0
    while abs(term) > Decimal(10) ** -65 or n < 4:
        sign = -1 if n % 4 >= 2 else 1
        if n % 2 == 0:
            cos += sign * term
        else:
            sin += sign * term
        n += 1
        term = term * x / n
    return cos, sin


def erf(x):
    """By its series of alternating terms, whose sizes 60 digits more than cover."""
    total, power, n = Decimal(0), x, 0
    while abs(power) > Decimal(10) ** -70 or n < 4:
        total += power / (2 * n + 1)
        n += 1
        power = -power * x * x / n
    return 2 / pi().sqrt() * total


def philox4x32_10(counter, key):
    """As published: multiply, swap and mix; the key moves on between rounds."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        high0, low0 = divmod(0xD2511F53 * c0, 2**32)
        high1, low1 = divmod(0xCD9E8D57 * c2, 2**32)
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = (k0 + 0x9E3779B9) % 2**32, (k1 + 0xBB67AE85) % 2**32
    return c0, c1, c2, c3


assert philox4x32_10((0, 0, 0, 0), (0, 0)) == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)


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


def case(op, name, seed, symbols, shapes, order, attrs=None, ints=None, shifts=None, present=(), floats=None):
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
        "floats": floats or {},
        "shifts": shifts or {},
        "present": list(present),
    }
    return head, made


def rms_norm(name, seed, t, d, eps, shifts=None, offset=0):
    order = ["x", "weight", "out"]
    shapes = {"x": [t, d], "weight": [d]}
    attrs = {"eps": eps, "weight_offset": offset}
    head, a = case("rms_norm.1", name, seed, {"T": t, "D": d}, shapes, order, attrs, shifts=shifts)
    out = []
    for i in range(t):
        mean = sum((a["x"][i, j] ** 2 for j in range(d)), Fraction(0)) / d
        root = (dec(mean) + Decimal(eps)).sqrt()
        out += [dec(a["x"][i, j] * (a["weight"][j,] + Fraction(offset))) / root for j in range(d)]
    return {**head, "outputs": {"out": out}}


def add_rms_norm(name, seed, t, d, eps, shifts=None, offset=0):
    order = ["x", "residual", "weight", "out"]
    shapes = {"x": [t, d], "residual": [t, d], "weight": [d]}
    attrs = {"eps": eps, "weight_offset": offset}
    head, a = case("add_rms_norm.1", name, seed, {"T": t, "D": d}, shapes, order, attrs, shifts=shifts)
    sums = [x + y for x, y in zip(a["x"].values, a["residual"].values)]
    # The residual is f32 here, so that what is normalised has 24 bits.
    kept = Array([t, d], [rounded(x, 24) for x in sums])
    out = []
    for i in range(t):
        mean = sum((kept[i, j] ** 2 for j in range(d)), Fraction(0)) / d
        root = (dec(mean) + Decimal(eps)).sqrt()
        out += [dec(kept[i, j] * (a["weight"][j,] + Fraction(offset))) / root for j in range(d)]
    return {**head, "outputs": {"residual": [dec(x) for x in sums], "out": out}}


def embedding(name, seed, v, d, ids, scale):
    symbols = {"V": v, "D": d, "T": len(ids)}
    order = ["table", "ids", "out"]
    head, a = case("embedding.1", name, seed, symbols, {"table": [v, d]}, order, {"scale": scale}, {"ids": ids})
    out = [dec(a["table"][i, j] * Fraction(scale)) for i in ids for j in range(d)]
    return {**head, "outputs": {"out": out}}


def rope(name, seed, positions, heads, d, pairs, interleaved, amplitude):
    t = len(positions)
    shapes = {"x": [t, heads, d], "inv_freq": [pairs]}
    symbols = {"T": t, "H": heads, "D": d, "F": pairs}
    attrs = {"interleaved": interleaved, "amplitude": amplitude}
    order = ["x", "positions", "inv_freq", "out"]
    head, a = case("rope.1", name, seed, symbols, shapes, order, attrs, {"positions": positions})
    out = []
    for i, position in enumerate(positions):
        turns = [cos_sin(dec(position * a["inv_freq"][p,])) for p in range(pairs)]
        for h in range(heads):
            row = [dec(a["x"][i, h, j]) for j in range(d)]
            turned = list(row)
            for p, (cos, sin) in enumerate(turns):
                first, second = (2 * p, 2 * p + 1) if interleaved else (p, pairs + p)
                cos, sin = cos * Decimal(amplitude), sin * Decimal(amplitude)
                turned[first] = row[first] * cos - row[second] * sin
                turned[second] = row[second] * cos + row[first] * sin
            out += turned
    return {**head, "outputs": {"out": out}}


def gelu_and_mul(name, seed, t, d, with_erf, shifts=None):
    head, a = case(
        "gelu_and_mul.1", name, seed, {"T": t, "D2": 2 * d}, {"x": [t, 2 * d]}, ["x", "out"], {"erf": with_erf}, shifts=shifts
    )
    out = []
    for i in range(t):
        for j in range(d):
            gate, up = dec(a["x"][i, j]), dec(a["x"][i, d + j])
            if with_erf:
                share = (1 + erf(gate / Decimal(2).sqrt())) / 2
            else:
                share = (1 + tanh((2 / pi()).sqrt() * (gate + Decimal("0.044715") * gate**3))) / 2
            out.append(gate * share * up)
    return {**head, "outputs": {"out": out}}


def swiglu_clamped(name, seed, t, d, limit, alpha, interleaved, shifts=None):
    attrs = {"limit": limit, "alpha": alpha, "interleaved": interleaved}
    head, a = case(
        "swiglu_clamped.1", name, seed, {"T": t, "D2": 2 * d}, {"x": [t, 2 * d]}, ["x", "out"], attrs, shifts=shifts
    )
    out = []
    for i in range(t):
        for j in range(d):
            where = (2 * j, 2 * j + 1) if interleaved else (j, d + j)
            gate, up = (dec(a["x"][i, w]) for w in where)
            gate = min(gate, Decimal(limit))
            up = sorted([up, Decimal(limit), -Decimal(limit)])[1]
            out.append((up + 1) * gate * sigmoid(Decimal(alpha) * gate))
    return {**head, "outputs": {"out": out}}


def softmax(name, seed, t, d, scale, shifts=None):
    head, a = case(
        "softmax.1", name, seed, {"T": t, "D": d}, {"x": [t, d]}, ["x", "out"], {"scale": scale}, shifts=shifts
    )
    out = []
    for i in range(t):
        # Without taking off the greatest: decimals do not overflow.
        terms = [(dec(a["x"][i, j]) * Decimal(scale)).exp() for j in range(d)]
        out += [e / sum(terms) for e in terms]
    return {**head, "outputs": {"out": out}}


def greedy_argmax(name, seed, t, v, shifts=None):
    head, a = case("greedy_argmax.1", name, seed, {"T": t, "V": v}, {"logits": [t, v]}, ["logits", "out"], shifts=shifts)
    rows = [[a["logits"][i, j] for j in range(v)] for i in range(t)]
    return {**head, "outputs": {"out": [row.index(max(row)) for row in rows]}}


def sample(name, seed, v, rows, shifts=None):
    """`rows` holds temperature, top_k, top_p, min_p, seed and draw of each."""
    t = len(rows)
    floats = {n: [row[i] for row in rows] for n, i in [("temperature", 0), ("top_p", 2), ("min_p", 3)]}
    ints = {n: [row[i] for row in rows] for n, i in [("top_k", 1), ("seed", 4), ("draw", 5)]}
    order = ["logits", "temperature", "top_k", "top_p", "min_p", "seed", "draw", "out"]
    head, a = case(
        "sample.1", name, seed, {"T": t, "V": v}, {"logits": [t, v]}, order, ints=ints, shifts=shifts, floats=floats
    )
    out = []
    for i, (temperature, top_k, top_p, min_p, key, draw) in enumerate(rows):
        logits = [a["logits"][i, j] for j in range(v)]
        if temperature == 0:
            out.append(logits.index(max(logits)))
            continue
        # A token's rank is how many stand before it.
        rank = [sum(1 for k in range(v) if (-logits[k], k) < (-logits[j], j)) for j in range(v)]
        kept = {j for j in range(v) if top_k <= 0 or rank[j] < top_k}
        terms = {j: dec(logits[j] / Fraction(temperature)).exp() for j in kept}
        total = sum(terms.values())
        if top_p < 1:
            before = {j: sum((terms[k] for k in kept if rank[k] < rank[j]), Decimal(0)) for j in kept}
            kept = {j for j in kept if rank[j] == 0 or before[j] < Decimal(top_p) * total}
        greatest = max(terms.values())
        kept = {j for j in kept if min_p <= 0 or terms[j] >= Decimal(min_p) * greatest}
        low, high = draw % 2**32, draw // 2**32 % 2**32
        word = philox4x32_10((low, high, 0, 0), (key % 2**32, key // 2**32 % 2**32))[0]
        wanted = Decimal(word) / 2**32 * sum(terms[j] for j in kept)
        out.append(next(j for j in range(v) if sum((terms[k] for k in kept if k <= j), Decimal(0)) > wanted))
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


def int8(row):
    """A row of activations rounded in blocks of 32 columns; divisions and products are those of f32, of 24 bits."""
    out = []
    for start in range(0, len(row), 32):
        block = row[start : start + 32]
        greatest = max(abs(x) for x in block)
        inverse = rounded(127 / greatest, 24) if greatest else Fraction(0)
        step = rounded(greatest / 127, 24)
        # Of a fraction, `round` takes ties to even.
        out += [round(rounded(x * inverse, 24)) * step for x in block]
    return out


def ceil(a, b):
    return -(-a // b)


def matmul_bt(name, seed, m, n, k, bias, scale=None, with_int8=False):
    """`scale`: rows and depth of a scale."""
    rows, depth = scale or (1, 128)
    shapes = {"a": [m, k], "b": [n, k]}
    if scale:
        shapes["b_scale"] = [ceil(n, rows), ceil(k, depth)]
    if bias:
        shapes["bias"] = [n]
    present = ["b_scale"] * bool(scale) + ["bias"] * bias
    order = ["a", "b", "b_scale", "bias", "out"]
    attrs = {"scale_rows": rows, "scale_depth": depth, "int8_activations": with_int8}
    head, a = case("matmul_bt.1", name, seed, {"M": m, "N": n, "K": k}, shapes, order, attrs, present=present)
    out = []
    for i in range(m):
        row = [a["a"][i, x] for x in range(k)]
        if with_int8:
            row = int8(row)
        for j in range(n):
            factors = [a["b_scale"][j // rows, x // depth] if scale else 1 for x in range(k)]
            total = sum((row[x] * a["b"][j, x] * factors[x] for x in range(k)), Fraction(0))
            out.append(dec(total + (a["bias"][j,] if bias else 0)))
    return {**head, "outputs": {"out": out}}


def moe_grouped_gemm(name, seed, experts, chosen, n, k, bias=False, scale=None, with_int8=False):
    rows, depth = scale or (1, 128)
    t, s = len(chosen), len(chosen[0])
    shapes = {"a": [t, s, k], "b": [experts, n, k]}
    if scale:
        shapes["b_scale"] = [experts, ceil(n, rows), ceil(k, depth)]
    if bias:
        shapes["bias"] = [experts, n]
    present = ["b_scale"] * bool(scale) + ["bias"] * bias
    order = ["a", "b", "experts", "b_scale", "bias", "out"]
    attrs = {"scale_rows": rows, "scale_depth": depth, "int8_activations": with_int8}
    symbols = {"T": t, "S": s, "K": k, "E": experts, "N": n}
    ints = {"experts": sum(chosen, [])}
    head, a = case("moe_grouped_gemm.1", name, seed, symbols, shapes, order, attrs, ints, present=present)
    out = []
    for i in range(t):
        for j in range(s):
            row = [a["a"][i, j, x] for x in range(k)]
            if with_int8:
                row = int8(row)
            e = chosen[i][j]
            for c in range(n):
                if e < 0:
                    out.append(Decimal(0))
                    continue
                total = a["bias"][e, c] if bias else Fraction(0)
                for x in range(k):
                    factor = a["b_scale"][e, c // rows, x // depth] if scale else 1
                    total += row[x] * a["b"][e, c, x] * factor
                out.append(dec(total))
    return {**head, "outputs": {"out": out}}


def moe_combine(name, seed, t, s, d, shared):
    shapes = {"x": [t, s, d], "weights": [t, s]}
    if shared:
        shapes["shared"] = [t, d]
    order = ["x", "weights", "shared", "out"]
    symbols = {"T": t, "S": s, "D": d}
    head, a = case("moe_combine.1", name, seed, symbols, shapes, order, present=["shared"] * shared)
    out = []
    for i in range(t):
        for j in range(d):
            total = sum((a["weights"][i, x] * a["x"][i, x, j] for x in range(s)), Fraction(0))
            out.append(dec(total + (a["shared"][i, j] if shared else 0)))
    return {**head, "outputs": {"out": out}}


def moe_router_topk(
    name, seed, t, e, s, *, with_sigmoid=False, groups=1, top_groups=1, group_score=1, renormalise=False, scale=1.0, bias=None, shifts=None
):
    """`bias`: its shift, or None without one."""
    shapes = {"logits": [t, e]}
    shifts = dict(shifts or {})
    if bias is not None:
        shapes["bias"] = [e]
        shifts["bias"] = bias
    attrs = {
        "sigmoid": with_sigmoid,
        "groups": groups,
        "top_groups": top_groups,
        "group_score": group_score,
        "renormalise": renormalise,
        "scale": scale,
    }
    order = ["logits", "bias", "weights", "experts"]
    present = ["bias"] if bias is not None else []
    head, a = case("moe_router_topk.1", name, seed, {"T": t, "E": e, "S": s}, shapes, order, attrs, shifts=shifts, present=present)
    weights, experts = [], []
    for i in range(t):
        logits = [dec(a["logits"][i, j]) for j in range(e)]
        total = sum(x.exp() for x in logits)
        scores = [sigmoid(x) if with_sigmoid else x.exp() / total for x in logits]
        keys = [score + (dec(a["bias"][j,]) if bias is not None else 0) for j, score in enumerate(scores)]
        size = e // groups
        # Rank: how many stand before it.
        sums = [sum(sorted(keys[g * size : (g + 1) * size])[-group_score:]) for g in range(groups)]
        best = [g for g in range(groups) if sum(1 for h in range(groups) if (-sums[h], h) < (-sums[g], g)) < top_groups]
        open_ = [j for j in range(e) if j // size in best]
        rank = {j: sum(1 for h in open_ if (-keys[h], h) < (-keys[j], j)) for j in open_}
        chosen = [next(j for j in open_ if rank[j] == r) for r in range(s)]
        factor = Decimal(scale) / (sum(scores[j] for j in chosen) if renormalise else 1)
        weights += [scores[j] * factor for j in chosen]
        experts += chosen
    return {**head, "outputs": {"weights": weights, "experts": experts}}


def reshape_and_cache(name, seed, heads, d, dv, pages, page, slots, scales=(1.0, 1.0)):
    t = len(slots)
    shapes = {
        "key": [t, heads, d],
        "value": [t, heads, dv],
        "k_cache": [pages, page, heads, d],
        "v_cache": [pages, page, heads, dv],
    }
    symbols = {"T": t, "Hkv": heads, "D": d, "Dv": dv, "N": pages, "P": page}
    order = ["key", "value", "slots", "k_cache", "v_cache"]
    attrs = {"k_scale": scales[0], "v_scale": scales[1]}
    head, a = case("reshape_and_cache.1", name, seed, symbols, shapes, order, attrs, ints={"slots": slots})
    outputs = {}
    for cache, source, width, scale in [("k_cache", "key", d, scales[0]), ("v_cache", "value", dv, scales[1])]:
        after = list(a[cache].values)
        for i, slot in enumerate(slots):
            if slot >= 0:
                for h in range(heads):
                    for x in range(width):
                        after[(slot * heads + h) * width + x] = a[source][i, h, x] / Fraction(scale)
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
    k_scale=1.0,
    v_scale=1.0,
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
    attrs = {"scale": scale, "causal": causal, "window": window, "softcap": softcap, "k_scale": k_scale, "v_scale": v_scale}
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
                    logit = dec(dot * Fraction(k_scale) * Fraction(scale))
                    if softcap:
                        logit = Decimal(softcap) * tanh(logit / Decimal(softcap))
                    terms.append((logit.exp(), where))
                total = sum((e for e, _ in terms), Decimal(0))
                if sinks:
                    total += dec(a["sinks"][h,]).exp()
                for x in range(dv):
                    value = sum((e * dec(a["v_cache"][(*where, x)]) for e, where in terms), Decimal(0))
                    out.append(value * Decimal(v_scale) / total if terms else Decimal(0))
    return {**head, "outputs": {"out": out}}


def cases():
    yield rms_norm("one_element", 1, 2, 1, 0.5)
    yield rms_norm("small_eps", 2, 3, 7, 1e-6)
    yield rms_norm("large_eps", 3, 2, 5, 0.25, {"x": -3})
    yield rms_norm("wide", 4, 1, 33, 1e-5)
    yield silu_and_mul("small", 5, 3, 5)
    yield silu_and_mul("far_gates", 6, 2, 9, {"x": 5})
    yield add("odd", 7, 3, 5)
    yield rms_norm("offset", 40, 2, 9, 1e-5, offset=1.0)
    yield add_rms_norm("plain", 41, 3, 7, 1e-6)
    yield add_rms_norm("offset", 42, 2, 11, 0.25, {"x": -3}, offset=1.0)
    yield add_rms_norm("far_apart", 43, 2, 6, 1e-5, {"x": -16})
    yield embedding("plain", 44, 5, 4, [4, 0, 2, 2], 1.0)
    yield embedding("scaled", 45, 3, 7, [2, 0], -0.75)
    yield rope("neox", 46, [0, 1, 7], 2, 8, 4, False, 1.0)
    yield rope("interleaved", 47, [3, 131071], 2, 6, 3, True, 1.0)
    yield rope("partial", 48, [5, 1000003], 1, 9, 3, False, 1.25)
    yield rope("partial_interleaved", 49, [536870911, 2], 3, 7, 2, True, 0.5)
    yield gelu_and_mul("tanh", 50, 3, 5, False)
    yield gelu_and_mul("erf", 51, 3, 5, True)
    yield gelu_and_mul("tanh_far", 52, 2, 9, False, {"x": 2})
    yield gelu_and_mul("erf_far", 53, 2, 9, True, {"x": 2})
    yield swiglu_clamped("halves", 54, 3, 5, 7.0, 1.702, False, {"x": 3})
    yield swiglu_clamped("interleaved", 55, 2, 9, 1.5, 1.0, True, {"x": 2})
    yield softmax("plain", 56, 3, 5, 1.0)
    yield softmax("scaled", 57, 2, 9, -0.5, {"x": 4})
    yield greedy_argmax("plain", 58, 16, 9)
    yield greedy_argmax("wide_spread", 59, 9, 33, {"logits": 5})
    plain = (1.0, 0, 1.0, 0.0)
    yield sample("plain", 60, 12, [(*plain, 7 + i, 3 * i) for i in range(12)])
    yield sample("temperature", 61, 9, [(x, 0, 1.0, 0.0, -5, i) for i, x in enumerate([0.0, 0.5, 2.0, 0.25, 8.0] * 3)])
    yield sample("top_k", 62, 11, [(1.5, k, 1.0, 0.0, 2**40 + 9, i) for i, k in enumerate([1, 2, 3, 5, 11, 40, 0, -4] * 2)])
    yield sample("top_p", 63, 11, [(1.0, 0, p, 0.0, 11, 2**33 + i) for i, p in enumerate([0.0, 0.25, 0.5, 0.875, 1.0, 2.0] * 3)])
    yield sample("min_p", 64, 11, [(1.0, 0, 1.0, p, -1, -1 - i) for i, p in enumerate([0.0, 0.125, 0.5, 1.0] * 4)])
    yield sample("all_at_once", 65, 40, [(0.75, 12, 0.75, 0.0625, 1 << 62, i) for i in range(24)], {"logits": 1})
    yield matmul_bt("plain", 8, 3, 4, 7, False)
    yield matmul_bt("bias", 9, 2, 5, 9, True)
    yield matmul_bt("no_depth", 10, 2, 3, 0, True)
    yield matmul_bt("deep", 11, 1, 2, 65, False)
    yield matmul_bt("channel_scales", 70, 2, 5, 9, False, scale=(1, 9))
    yield matmul_bt("block_scales", 71, 2, 7, 11, True, scale=(3, 4))
    yield matmul_bt("int8", 72, 3, 2, 70, False, with_int8=True)
    yield matmul_bt("int8_block_scales", 73, 2, 3, 33, True, scale=(2, 32), with_int8=True)
    yield moe_grouped_gemm("plain", 74, 3, [[0, 2], [2, -1], [0, 0]], 4, 5)
    yield moe_grouped_gemm("bias", 75, 4, [[3, 1, -7]], 3, 6, bias=True)
    yield moe_grouped_gemm("all", 76, 2, [[1], [0], [-1], [1]], 5, 37, bias=True, scale=(2, 16), with_int8=True)
    yield moe_combine("plain", 77, 3, 2, 5, False)
    yield moe_combine("shared", 78, 2, 4, 7, True)
    yield moe_combine("no_slots", 79, 2, 0, 3, True)
    yield moe_router_topk("softmax", 80, 5, 9, 3)
    yield moe_router_topk("renormalised", 81, 5, 12, 4, renormalise=True, scale=1.5)
    yield moe_router_topk("sigmoid_bias", 82, 4, 10, 3, with_sigmoid=True, bias=-2, scale=2.5)
    groups = dict(with_sigmoid=True, groups=4, top_groups=2, group_score=2, renormalise=True)
    yield moe_router_topk("groups", 83, 6, 16, 5, bias=-3, scale=2.5, **groups)
    yield moe_router_topk("groups_of_one", 84, 4, 6, 3, groups=6, top_groups=4, shifts={"logits": 1})
    yield moe_router_topk("ties", 85, 6, 40, 7, shifts={"logits": -5}, renormalise=True)
    yield reshape_and_cache("scaled", 86, 2, 3, 2, 2, 3, [5, 2, -1, 0], (0.25, -1.5))
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
    yield paged_attention("cache_scales", 39, **{**base, "k_scale": 1.75, "v_scale": 0.375})
    yield paged_attention("cache_scales_softcap", 87, **{**base, "k_scale": -0.5, "v_scale": 3.0, "softcap": 2.0, "sinks": True})
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
