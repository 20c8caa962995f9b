"""Evaluates a GGUF model of the architectures llama, qwen2, qwen3 and gemma3 in f64.

Weights are what the file holds, decoded by the format's own library; nothing is rounded anywhere, neither activations nor keys and values. It shares
nothing with the engine but the file.

With `rounded` it rounds what the engine says that it rounds, and nothing else: activations to 8 bits by blocks of 32 before products with weights in
block formats, and keys and values to f16. How far that is from the exact evaluation is the error that this way of computing has by itself. A function
of a weight's name in the place of True says before which products activations are rounded, and nothing else is.
"""

import math

import numpy as np
from gguf import GGMLQuantizationType, GGUFReader
from gguf.quants import dequantize

PLAIN = {GGMLQuantizationType.F32, GGMLQuantizationType.F16, GGMLQuantizationType.BF16}


def to_8_bits(x):
    """Blocks of 32 along the last axis, as `matmul_bt.1` says with `int8_activations`: in f32, ties to even."""
    shape = x.shape
    x = np.pad(x.astype(np.float32), [(0, 0)] * (x.ndim - 1) + [(0, -shape[-1] % 32)])
    blocks = x.reshape(*shape[:-1], -1, 32)
    most = np.abs(blocks).max(-1, keepdims=True)
    inverse = np.where(most > 0, np.float32(127) / np.where(most > 0, most, np.float32(1)), np.float32(0))
    whole = np.rint(blocks * inverse).astype(np.float64) * (most / np.float32(127)).astype(np.float64)
    return whole.reshape(x.shape)[..., : shape[-1]]


def to_f16(x):
    return x.astype(np.float32).astype(np.float16).astype(np.float64)


class Model:
    def __init__(self, path, rounded=False):
        self.rounded = rounded
        reader = GGUFReader(path)
        self.fields = reader.fields
        self.tensors = {t.name: t for t in reader.tensors}
        self.arch = self.value("general.architecture")
        self.width = self.get("embedding_length")
        self.layers = self.get("block_count")
        self.heads = self.get("attention.head_count")
        self.kv_heads = self.get("attention.head_count_kv", self.heads)
        self.key = self.get("attention.key_length", self.width // self.heads)
        self.val = self.get("attention.value_length", self.key)
        self.eps = self.get("attention.layer_norm_rms_epsilon")
        self.base = self.get("rope.freq_base", 10000.0)
        self.rotary = self.get("rope.dimension_count", self.key)
        self.window = self.get("attention.sliding_window", 0) if self.arch == "gemma3" else 0
        self.cache = {}

    def value(self, key, default=None):
        field = self.fields.get(key)
        return default if field is None else field.contents()

    def get(self, key, default=None):
        return self.value(f"{self.arch}.{key}", default)

    def weight(self, name):
        if name not in self.cache:
            t = self.tensors.get(name)
            if t is None:
                return None
            shape = [int(n) for n in reversed(t.shape)]
            data = dequantize(t.data, t.tensor_type)
            self.cache[name] = np.asarray(data, np.float64).reshape(shape)
        return self.cache[name]

    def norm(self, x, name):
        w = self.weight(name)
        return x / np.sqrt(np.mean(x * x, -1, keepdims=True) + self.eps) * w

    def product(self, x, name):
        rounds = self.rounded(name) if callable(self.rounded) else self.rounded
        if rounds and self.tensors[name].tensor_type not in PLAIN:
            x = to_8_bits(x)
        return x @ self.weight(name).T

    def linear(self, x, layer, part):
        y = self.product(x, f"blk.{layer}.{part}.weight")
        bias = self.weight(f"blk.{layer}.{part}.bias")
        return y if bias is None else y + bias

    def rope(self, x, positions, base):
        n = self.rotary
        freq = base ** (-np.arange(0, n, 2) / n)
        angle = positions[:, None] * freq[None, :]
        cos, sin = np.cos(angle)[:, None, :], np.sin(angle)[:, None, :]
        out = x.copy()
        if self.arch == "llama":
            a, b = x[..., 0:n:2], x[..., 1:n:2]
            out[..., 0:n:2], out[..., 1:n:2] = a * cos - b * sin, a * sin + b * cos
        else:
            a, b = x[..., : n // 2], x[..., n // 2 : n]
            out[..., : n // 2], out[..., n // 2 : n] = a * cos - b * sin, a * sin + b * cos
        return out

    def attention(self, q, k, v, window):
        count = len(q)
        at = np.arange(count)
        hidden = at[None, :] > at[:, None]
        if window:
            hidden |= at[:, None] - at[None, :] >= window
        out = np.empty((count, self.heads, self.val))
        for h in range(self.heads):
            kv = h * self.kv_heads // self.heads
            logits = q[:, h] @ k[:, kv].T / math.sqrt(self.key)
            logits[hidden] = -np.inf
            logits -= logits.max(-1, keepdims=True)
            p = np.exp(logits)
            out[:, h] = (p / p.sum(-1, keepdims=True)) @ v[:, kv]
        return out.reshape(count, -1)

    def logits(self, tokens, rows):
        """Logits behind the given positions of a sequence."""
        gemma = self.arch == "gemma3"
        x = self.weight("token_embd.weight")[np.asarray(tokens)]
        if gemma:
            x = x * math.sqrt(self.width)
        positions = np.arange(len(tokens), dtype=np.float64)
        for layer in range(self.layers):
            name = lambda part: f"blk.{layer}.{part}.weight"
            local = bool(self.window) and (layer + 1) % 6 != 0
            y = self.norm(x, name("attn_norm"))
            q = self.linear(y, layer, "attn_q").reshape(len(y), self.heads, self.key)
            k = self.linear(y, layer, "attn_k").reshape(len(y), self.kv_heads, self.key)
            v = self.linear(y, layer, "attn_v").reshape(len(y), self.kv_heads, self.val)
            if self.arch in ("qwen3", "gemma3"):
                q = self.norm(q, name("attn_q_norm"))
                k = self.norm(k, name("attn_k_norm"))
            base = 10000.0 if local else self.base
            q, k = self.rope(q, positions, base), self.rope(k, positions, base)
            if self.rounded is True:
                k, v = to_f16(k), to_f16(v)
            y = self.linear(self.attention(q, k, v, self.window if local else 0), layer, "attn_output")
            if gemma:
                y = self.norm(y, name("post_attention_norm"))
            x = x + y
            y = self.norm(x, name("ffn_norm"))
            gate, up = self.linear(y, layer, "ffn_gate"), self.linear(y, layer, "ffn_up")
            if gemma:
                inner = math.sqrt(2 / math.pi) * (gate + 0.044715 * gate**3)
                gate = 0.5 * gate * (1 + np.tanh(inner))
            else:
                gate = gate / (1 + np.exp(-gate))
            y = self.linear(gate * up, layer, "ffn_down")
            if gemma:
                y = self.norm(y, name("post_ffw_norm"))
            x = x + y
        x = self.norm(x[np.asarray(rows)], "output_norm.weight")
        return self.product(x, "output.weight" if "output.weight" in self.tensors else "token_embd.weight")
