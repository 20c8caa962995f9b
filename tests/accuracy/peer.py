"""llama.cpp, token by token: prompts in batches of at most 512, then one token a call."""

import llama_cpp
import numpy as np

THREADS = 2


class Peer:
    def __init__(self, path, context, flash=False, f32_cache=False):
        cache = {"type_k": 0, "type_v": 0} if f32_cache else {}
        self.llama = llama_cpp.Llama(
            path,
            n_ctx=context,
            n_batch=512,
            n_ubatch=512,
            n_threads=THREADS,
            n_threads_batch=THREADS,
            flash_attn=flash,
            verbose=False,
            **cache,
        )
        self.context = self.llama._ctx.ctx
        self.vocabulary = self.llama.n_vocab()

    def tokens(self, text):
        return self.llama.tokenize(text.encode(), add_bos=False, special=False)

    def decode(self, ids):
        for start in range(0, len(ids), 512):
            part = ids[start : start + 512]
            array = (llama_cpp.llama_token * len(part))(*part)
            batch = llama_cpp.llama_batch_get_one(array, len(part))
            if llama_cpp.llama_decode(self.context, batch) != 0:
                raise RuntimeError("llama_decode failed")
        row = llama_cpp.llama_get_logits_ith(self.context, -1)
        return np.ctypeslib.as_array(row, shape=(self.vocabulary,)).copy()

    def run(self, prompt, count, forced=None):
        """Tokens and logits of `count` steps: the likeliest, or those that are forced."""
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(self.context), True)
        logits = [self.decode(prompt)]
        tokens = []
        while True:
            step = len(tokens)
            tokens.append(int(logits[-1].argmax()) if forced is None else forced[step])
            if len(tokens) == count:
                return tokens, np.stack(logits)
            logits.append(self.decode(tokens[-1:]))
