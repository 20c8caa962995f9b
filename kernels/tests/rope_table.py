#!/usr/bin/env python3
"""Frequencies of rotary embeddings under the usual scalings, computed apart from the crate, for a test to hold it against.

Writes `rope_table.json` beside itself, or with `--stdout` prints it. Only the standard library is used; numbers are taken with 50
decimal digits, and each that is written is the nearest f64 to the true value. The schemes are written here as their publications
describe them, by wavelengths and by the rotations that a context holds, and not as the crate has them.
"""

import json
import math
import os
import sys
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, getcontext

getcontext().prec = 50

PI = Decimal("3.14159265358979323846264338327950288419716939937511")


def plain(base, rotary):
    return [Decimal(base) ** (-Decimal(i) / rotary) for i in range(0, rotary, 2)]


def llama3(frequencies, factor, low, high, context):
    """By wavelengths: short ones stay, long ones are stretched, and between them runs a straight line."""
    factor, low, high, context = map(Decimal, (factor, low, high, context))
    out = []
    for frequency in frequencies:
        wavelength = 2 * PI / frequency
        if wavelength < context / high:
            out.append(frequency)
        elif wavelength > context / low:
            out.append(frequency / factor)
        else:
            smooth = (context / wavelength - low) / (high - low)
            out.append((1 - smooth) * frequency / factor + smooth * frequency)
    return out


def yarn(frequencies, base, rotary, factor, context, fast, slow, truncate):
    """By parts: interpolated and original frequencies are mixed along a ramp over the pairs."""
    base, factor, context = Decimal(base), Decimal(factor), Decimal(context)

    def dimension_of(rotations):
        return rotary * (context / (Decimal(rotations) * 2 * PI)).ln() / (2 * base.ln())

    low, high = dimension_of(fast), dimension_of(slow)
    if truncate:
        low, high = low.to_integral_value(ROUND_FLOOR), high.to_integral_value(ROUND_CEILING)
    low, high = max(low, Decimal(0)), min(high, Decimal(rotary - 1))
    if low == high:
        high += Decimal("0.001")
    out = []
    for pair, frequency in enumerate(frequencies):
        ramp = min(max((pair - low) / (high - low), Decimal(0)), Decimal(1))
        out.append(frequency / factor * ramp + frequency * (1 - ramp))
    return out


def attention_factor(factor, mscale=1):
    return Decimal(1) if factor <= 1 else Decimal(mscale) * Decimal(factor).ln() / 10 + 1


def cases():
    def case(name, base, rotary, scaling, frequencies, amplitude=Decimal(1)):
        return {
            "name": name,
            "base": base,
            "rotary": rotary,
            "scaling": scaling,
            "inv_freq": [float(f) for f in frequencies],
            "amplitude": float(amplitude),
        }

    yield case("llama2", 10000.0, 128, {"kind": "none"}, plain(10000, 128))
    yield case("partial", 1000000.0, 6, {"kind": "none"}, plain(1000000, 6))
    yield case("nothing", 10000.0, 0, {"kind": "none"}, [])
    yield case("gemma3_global", 1000000.0, 256, {"kind": "linear", "factor": 8.0}, [f / 8 for f in plain(1000000, 256)])
    for name, rotary, args in [("llama31", 128, (8.0, 1.0, 4.0, 8192.0)), ("llama32", 64, (32.0, 1.0, 4.0, 8192.0))]:
        keys = ["factor", "low_freq_factor", "high_freq_factor", "original_context"]
        scaling = {"kind": "llama3", **dict(zip(keys, args))}
        yield case(name, 500000.0, rotary, scaling, llama3(plain(500000, rotary), *args))
    for name, base, rotary, factor, context, fast, slow, truncate, mscale in [
        ("qwen", 1000000, 128, 4.0, 32768.0, 32.0, 1.0, True, None),
        ("deepseek_v3", 10000, 64, 40.0, 4096.0, 32.0, 1.0, True, (1.0, 1.0)),
        ("deepseek_v2_lite", 10000, 64, 40.0, 4096.0, 32.0, 1.0, True, (0.707, 0.5)),
        ("gpt_oss", 150000, 64, 32.0, 4096.0, 32.0, 1.0, False, None),
        ("no_width", 10000, 8, 2.0, 40.0, 1.0, 1.0, False, None),
        ("factor_of_one", 10000, 32, 1.0, 2048.0, 32.0, 1.0, True, None),
    ]:
        scaling = {
            "kind": "yarn",
            "factor": factor,
            "original_context": context,
            "beta_fast": fast,
            "beta_slow": slow,
            "truncate": truncate,
            "mscale": mscale,
        }
        frequencies = yarn(plain(base, rotary), base, rotary, factor, context, fast, slow, truncate)
        amplitude = attention_factor(factor)
        if mscale:
            amplitude = attention_factor(factor, mscale[0]) / attention_factor(factor, mscale[1])
        yield case(name, float(base), rotary, scaling, frequencies, amplitude)


def rendered():
    return "[\n" + ",\n".join(json.dumps(item, sort_keys=True) for item in cases()) + "\n]\n"


if __name__ == "__main__":
    assert math.isclose(float(PI), math.pi)
    if "--stdout" in sys.argv[1:]:
        sys.stdout.write(rendered())
    else:
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rope_table.json")
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(rendered())
