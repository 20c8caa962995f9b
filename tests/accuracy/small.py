"""Writes small random models, one of each architecture and kind, and what f64 and llama.cpp say of them: small.py FOLDER

For each model NAME.gguf, and NAME.json: prompts, tokens that follow them, and behind each of these the logits of the evaluation in f64; and how far
llama.cpp was from them, at the root mean square and at most. Seeded: the same files come out wherever the libraries are the same.
"""

import json
import sys
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType as Q
from gguf import GGUFWriter
from gguf.quants import quantize

from peer import Peer
from reference import Model

# name: architecture, layers, width, heads, kv heads, head, feed-forward, vocabulary, tied, types of weights in turn, window
MODELS = {
    "llama-mixed": ("llama", 2, 64, 4, 2, 16, 64, 128, True, [Q.F32, Q.F16, Q.BF16, Q.Q8_0], 0),
    "qwen2-untied": ("qwen2", 2, 64, 4, 1, 16, 96, 128, False, [Q.Q8_0, Q.Q4_0, Q.Q5_1], 0),
    "qwen3-tied": ("qwen3", 2, 64, 4, 2, 32, 96, 128, True, [Q.Q4_1, Q.Q8_0, Q.F16], 0),
    "gemma3-window": ("gemma3", 7, 64, 4, 1, 32, 64, 160, True, [Q.Q4_0, Q.Q8_0, Q.Q4_1, Q.Q4_0, Q.BF16], 5),
    "llama-untied-k": ("llama", 2, 256, 4, 2, 32, 64, 96, False, [Q.Q4_K, Q.Q6_K], 0),
}

# Elements of a block of the types that the library can read and not write.
SUPER = 256

PROMPTS = [3, 17]
COUNT = 6


def random_k(rng, kind, rows, depth, spread):
    """Random blocks of Q4_K or Q6_K, whose values have a mean near 0 and about this spread: the library decodes these types and cannot encode them."""
    n = rows * depth // SUPER
    if kind == Q.Q4_K:
        # Eight scales and eight offsets of 6 bits; 4-bit values have their middle at 7.5, and a spread of 4.6 around it.
        scale = rng.integers(20, 64, (n, 8), dtype=np.uint8)
        least = np.clip(scale + rng.integers(-3, 4, (n, 8)), 0, 63).astype(np.uint8)
        factor = np.full((n, 1), spread / (42 * 4.6)) * rng.uniform(0.8, 1.2, (n, 1))
        low = [scale[:, :4] | (scale[:, 4:] >> 4 << 6), least[:, :4] | (least[:, 4:] >> 4 << 6)]
        high = (scale[:, 4:] & 15) | (least[:, 4:] << 4)
        halves = np.concatenate([factor, factor * 7.5], 1).astype(np.float16)
        parts = [halves.view(np.uint8), *low, high, rng.integers(0, 256, (n, 128), dtype=np.uint8)]
    else:
        # 6-bit values around 32, with a spread of 18.5; sixteen signed scales.
        scale = (rng.integers(40, 90, (n, 16)) * rng.choice([-1, 1], (n, 16))).astype(np.int8)
        factor = (spread / (65 * 18.5) * rng.uniform(0.8, 1.2, (n, 1))).astype(np.float16)
        parts = [rng.integers(0, 256, (n, 192), dtype=np.uint8), scale.view(np.uint8), factor.view(np.uint8)]
    return np.concatenate(parts, 1).reshape(rows, -1)


def write(path, name, seed):
    arch, layers, width, heads, kv, head, up, vocabulary, tied, types, window = MODELS[name]
    rng = np.random.default_rng(seed)
    w = GGUFWriter(path, arch)
    w.add_block_count(layers)
    w.add_context_length(128)
    w.add_embedding_length(width)
    w.add_feed_forward_length(up)
    w.add_head_count(heads)
    w.add_head_count_kv(kv)
    w.add_key_length(head)
    w.add_value_length(head)
    w.add_rope_dimension_count(head)
    w.add_rope_freq_base(1_000_000.0 if arch in ("gemma3", "qwen3") else 10_000.0)
    w.add_layer_norm_rms_eps(1e-6)
    if window:
        w.add_sliding_window(window)
    w.add_tokenizer_model("none")
    w.add_vocab_size(vocabulary)
    turn = 0

    def matrix(name, rows, depth, spread=1.0):
        nonlocal turn
        kind = types[turn % len(types)]
        turn += 1
        if kind in (Q.Q4_K, Q.Q6_K) and depth % SUPER == 0:
            w.add_tensor(name, random_k(rng, kind, rows, depth, spread / np.sqrt(depth)), raw_dtype=kind)
            return
        if kind in (Q.Q4_K, Q.Q6_K):
            kind = Q.Q4_0
        data = rng.normal(0, spread / np.sqrt(depth), (rows, depth)).astype(np.float32)
        w.add_tensor(name, quantize(data, kind), raw_dtype=kind)

    def vector(name, count, around, spread):
        data = rng.normal(around, spread, count).astype(np.float32)
        w.add_tensor(name, data)

    matrix("token_embd.weight", vocabulary, width, np.sqrt(width))
    vector("output_norm.weight", width, 1.0, 0.2)
    if not tied:
        matrix("output.weight", vocabulary, width)
    for layer in range(layers):
        b = f"blk.{layer}."
        vector(b + "attn_norm.weight", width, 1.0, 0.2)
        for part, rows in (("q", heads), ("k", kv), ("v", kv)):
            matrix(b + f"attn_{part}.weight", rows * head, width, 2.0)
            if arch == "qwen2":
                vector(b + f"attn_{part}.bias", rows * head, 0.0, 0.5)
        if arch in ("qwen3", "gemma3"):
            vector(b + "attn_q_norm.weight", head, 1.5, 0.3)
            vector(b + "attn_k_norm.weight", head, 1.5, 0.3)
        matrix(b + "attn_output.weight", width, heads * head)
        if arch == "gemma3":
            vector(b + "post_attention_norm.weight", width, 0.7, 0.2)
            vector(b + "post_ffw_norm.weight", width, 0.7, 0.2)
        vector(b + "ffn_norm.weight", width, 1.0, 0.2)
        matrix(b + "ffn_gate.weight", up, width, 1.5)
        matrix(b + "ffn_up.weight", up, width, 1.5)
        matrix(b + "ffn_down.weight", width, up, 1.5)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    return vocabulary, rng


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for seed, name in enumerate(MODELS):
        path = str(folder / f"{name}.gguf")
        vocabulary, rng = write(path, name, seed)
        reference, peer = Model(path), Peer(path, 128)
        sequences = []
        for length in PROMPTS:
            tokens = [int(t) for t in rng.integers(0, vocabulary, length + COUNT - 1)]
            prompt, forced = tokens[:length], tokens[length:]
            right = reference.logits(tokens, range(length - 1, length + COUNT - 1))
            _, theirs = peer.run(prompt, COUNT, forced + [0])
            off = theirs - right
            sequences.append(
                {
                    "prompt": prompt,
                    "forced": forced,
                    "logits": [[float(f"{x:.6g}") for x in row] for row in right],
                    "llama_rms": float(np.sqrt(np.mean(off * off))),
                    "llama_most": float(np.abs(off).max()),
                }
            )
            size = float(np.sqrt(np.mean(right * right)))
            print(name, length, "size", size, "llama.cpp off by", sequences[-1]["llama_rms"], sequences[-1]["llama_most"])
        (folder / f"{name}.json").write_text(json.dumps({"sequences": sequences}, separators=(",", ":")) + "\n")


main()
