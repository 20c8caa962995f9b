"""llama.cpp's process: MODEL THREADS plain|flash TEXT PROMPT:TOKENS ... ; prints what it took as one line of JSON."""

import json
import sys
import time

import llama_cpp
import numpy as np


def peak():
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024


def main():
    model, threads, attention, text = sys.argv[1:5]
    runs = [tuple(map(int, run.split(":"))) for run in sys.argv[5:]]
    started = time.perf_counter()
    llama = llama_cpp.Llama(
        model,
        n_ctx=1024,
        n_batch=512,
        n_ubatch=512,
        n_threads=int(threads),
        n_threads_batch=int(threads),
        flash_attn=attention == "flash",
        verbose=False,
    )
    load = time.perf_counter() - started
    context = llama._ctx.ctx
    vocabulary = llama.n_vocab()
    memory = llama_cpp.llama_get_memory(context)
    tokens = llama.tokenize(text.encode(), add_bos=False, special=False)

    def decode(ids):
        # The library's own call: what its Python layer adds is not what is measured.
        array = (llama_cpp.llama_token * len(ids))(*ids)
        batch = llama_cpp.llama_batch_get_one(array, len(ids))
        if llama_cpp.llama_decode(context, batch) != 0:
            raise RuntimeError("llama_decode failed")
        row = llama_cpp.llama_get_logits_ith(context, -1)
        return int(np.argmax(np.ctypeslib.as_array(row, shape=(vocabulary,))))

    took = []
    for prompt, count in runs:
        llama_cpp.llama_memory_clear(memory, True)
        begun = time.perf_counter()
        produced = [decode(tokens[:prompt])]
        first = time.perf_counter() - begun
        while len(produced) < count:
            produced.append(decode(produced[-1:]))
        whole = time.perf_counter() - begun
        took.append(
            {
                "prompt_tokens": prompt,
                "first_token_seconds": first,
                "decode_tokens": count - 1,
                "decode_seconds": whole - first,
                "tokens": produced,
            }
        )
    print(json.dumps({"load_seconds": load, "runs": took, "peak_bytes": peak()}))


main()
