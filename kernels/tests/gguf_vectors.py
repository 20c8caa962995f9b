#!/usr/bin/env python3
"""Makes gguf_vectors.bin: blocks of the GGUF formats with what the format's own library makes of them.

    pip install gguf==0.19.0
    python3 gguf_vectors.py > gguf_vectors.bin

The table is checked in; Rust tests hold both decoders and the encoders against it, bit for bit in f32. Layout, little-endian:
"GGUFVEC1", u32 number of sections; each section: u8 length and name of the format, u8 kind (0: the library decoded the bytes
to the values, 1: it encoded the values to the bytes), u32 number of blocks, u32 bytes a block, u32 elements a block, all bytes,
all values as f32.
"""

import struct
import sys
import warnings

import numpy as np
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize, quantize

warnings.filterwarnings("ignore", category=RuntimeWarning)

# Format, its name here, blocks of random bits, and the bytes at which it has f16 scales.
FORMATS = [
    (GGMLQuantizationType.Q8_0, "q8_0", 40, [0]),
    (GGMLQuantizationType.Q4_0, "q4_0", 40, [0]),
    (GGMLQuantizationType.Q4_1, "q4_1", 40, [0, 2]),
    (GGMLQuantizationType.Q5_0, "q5_0", 40, [0]),
    (GGMLQuantizationType.Q5_1, "q5_1", 40, [0, 2]),
    (GGMLQuantizationType.Q4_K, "q4_K", 12, [0, 2]),
    (GGMLQuantizationType.Q5_K, "q5_K", 12, [0, 2]),
    (GGMLQuantizationType.Q6_K, "q6_K", 12, [208]),
    (GGMLQuantizationType.MXFP4, "mxfp4", 40, []),
]
ENCODED = ["q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "mxfp4"]

# One, zero and its negative, the least and the greatest subnormal, the least normal number, the greatest, an odd negative one,
# infinity, NaN.
HALVES = [0x3C00, 0x0000, 0x8000, 0x0001, 0x03FF, 0x0400, 0x7BFF, 0xBD55, 0x7C00, 0x7E00]


def decoded(random, kind, blocks, scales):
    elements, size = GGML_QUANT_SIZES[kind]
    rows = [random.integers(0, 256, size, dtype=np.uint8) for _ in range(blocks)]
    # Random bits with each of the special scales, one scale at a time and all at once.
    for half in HALVES:
        for chosen in [[s] for s in scales] + [scales] * (len(scales) > 1):
            row = random.integers(0, 256, size, dtype=np.uint8)
            for at in scales:
                row[at + 1] &= 0xBF  # finite
            for at in chosen:
                row[at : at + 2] = [half & 255, half >> 8]
            rows.append(row)
    if not scales:
        # Every exponent's neighbourhood: the ends, where f32 runs out, and the middle.
        for exponent in [0, 1, 2, 3, 4, 126, 127, 128, 251, 252, 253, 254, 255]:
            row = np.arange(size, dtype=np.uint8) * 15 + 1
            row[0] = exponent
            rows.append(row)
    for byte in [0x00, 0xFF, 0x80, 0x7F]:
        rows.append(np.full(size, byte, dtype=np.uint8))
    data = np.stack(rows)
    return data, dequantize(data, kind).astype(np.float32).reshape(len(rows), elements)


def encoded(random, kind):
    elements, size = GGML_QUANT_SIZES[kind]
    # No block of negative zeros: this library and the C code that it restates differ in the sign of its scale, 0.
    rows = [np.zeros(elements), np.ones(elements), np.full(elements, -3.0)]
    for scale in [1.0, 1e-3, 1e3, 1e-7, 3e-8, 60.0]:
        for _ in range(4):
            rows.append(random.normal(0.0, scale, elements))
        rows.append(random.uniform(-scale, scale, elements))
        rows.append(random.uniform(0.0, scale, elements))
        rows.append(random.uniform(-scale, 0.0, elements))
    # The greatest magnitude twice, with either sign first; exact multiples, whose codes are ties.
    for first in [1.0, -1.0]:
        row = random.uniform(-1.0, 1.0, elements)
        row[5], row[20] = 2.0 * first, -2.0 * first
        rows.append(row)
    rows.append((np.arange(elements) - 16) / 2.0)
    rows.append((np.arange(elements) - 12.5) * 127 / 18.5 / 2)
    row = np.zeros(elements)
    row[7] = 1e-6
    rows.append(row)
    values = np.stack(rows).astype(np.float32)
    return quantize(values, kind).reshape(len(rows), size), values


def main():
    random = np.random.Generator(np.random.PCG64(20))
    out = sys.stdout.buffer
    sections = []
    for kind, name, blocks, scales in FORMATS:
        sections.append((kind, name, 0, *decoded(random, kind, blocks, scales)))
        if name in ENCODED:
            sections.append((kind, name, 1, *encoded(random, kind)))
    out.write(b"GGUFVEC1" + struct.pack("<I", len(sections)))
    for kind, name, direction, data, values in sections:
        elements, size = GGML_QUANT_SIZES[kind]
        assert data.shape == (len(values), size) and values.shape[1] == elements
        out.write(struct.pack("<B", len(name)) + name.encode() + struct.pack("<B", direction))
        out.write(struct.pack("<III", len(values), size, elements))
        out.write(data.tobytes())
        out.write(values.astype("<f4").tobytes())


main()
