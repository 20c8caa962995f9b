"""Writes all_types.gguf beside this file, with the format's own library: pip install gguf==0.19.0

Every metadata type, alone and as an array, and every tensor type of current ggml. The contents follow from the rules in this file, which
`gguf_reference.rs` repeats; they are no weights of anything.
"""

from pathlib import Path

import numpy as np
from gguf import GGUFValueType as V
from gguf import GGUFWriter
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

SCALARS = {
    V.UINT8: [0, 255, 7],
    V.INT8: [-128, 127, -1],
    V.UINT16: [0, 65535, 300],
    V.INT16: [-32768, 32767, -300],
    V.UINT32: [0, 4294967295, 70000],
    V.INT32: [-2147483648, 2147483647, -70000],
    V.FLOAT32: [0.1, -3.4028234663852886e38, 1e-45],
    V.BOOL: [False, True, True],
    V.UINT64: [0, 18446744073709551615, 1 << 40],
    V.INT64: [-9223372036854775808, 9223372036854775807, -(1 << 40)],
    V.FLOAT64: [0.1, 1.7976931348623157e308, 5e-324],
    V.STRING: ["", "Grüße, 世界 🦀", "a\tb\nc"],
}


def main():
    writer = GGUFWriter(Path(__file__).parent / "all_types.gguf", "llama")
    writer.add_custom_alignment(64)
    for type_, values in SCALARS.items():
        name = type_.name.lower()
        for number, value in enumerate(values):
            writer.add_key_value(f"one.{name}.{number}", value, type_)
        writer.add_key_value(f"many.{name}", values, V.ARRAY, sub_type=type_)
    writer.add_key_value("nested.two", [[1, 2, 3], [4]], V.ARRAY, sub_type=V.ARRAY)

    for type_, (elements, size) in GGML_QUANT_SIZES.items():
        seed = int(type_)
        # One, two and three dimensions, all extents different, so that their order shows.
        rows = (2, 3) if seed == 0 else (3,) if seed % 2 else ()
        count = int(np.prod(rows, dtype=np.int64)) * size * (2 if elements == 1 else 1)
        data = np.array([(i * 37 + seed * 101 + 11) % 256 for i in range(count)], dtype=np.uint8)
        writer.add_tensor(f"t.{type_.name}", data.reshape(*rows, -1), raw_dtype=type_)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
