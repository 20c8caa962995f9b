"""Holds the engine against llama.cpp and against an evaluation in f64: compare.py MODEL LOGITS_PROGRAM

Ten prompts, 64 tokens each. Logits of all three are taken along the same tokens, llama.cpp's choices. Fails where Overt's root mean square error
over all prompts is above llama.cpp's, where fewer than six prompts give the same 64 tokens, or where, at the first token that differs, a choice lies further
below the best in f64 than the larger engine's greatest error at that step. Besides it tells how far Overt goes astray with activations rounded to 8 bits, how
far f64 does with those roundings and no others, and how far chance alone moves the difference of the two engines.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import prompts
from peer import THREADS, Peer
from reference import Model

COUNT = 64
ALIKE = 6
ACTIVATIONS = """activations before products with weights in blocks, keys and values:
  overt: f32; f16
  overt, 8 bits: rounded to 8 bits in blocks of 32, scale in f32; f16
  f64, rounded: as overt with 8 bits, and nothing else is rounded
  llama.cpp: rounded to 8 bits in blocks of 32 (q8_0 and q8_1), scale in f16; f16"""


def overt(program, model, wanted, *flags):
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        asked = [{"tokens": t, "count": COUNT, "forced": f} for t, f in wanted]
        (place / "prompts.json").write_text(json.dumps(asked))
        subprocess.run([program, model, place / "prompts.json", folder, f"cpu.threads={THREADS}", *flags], check=True)
        got = []
        for n in range(len(wanted)):
            tokens = json.loads((place / f"{n}.json").read_text())
            logits = np.fromfile(place / f"{n}.f32", np.float32).reshape(len(tokens), -1)
            got.append((tokens, logits))
        return got


def by_chance(ours, theirs):
    """The middle 95 of 100 differences of the root mean squares, with prompts and their steps drawn again. `[prompt, step]` mean squares each."""
    rng = np.random.default_rng(0)
    prompts, steps = ours.shape
    drawn = []
    for _ in range(2000):
        p = rng.integers(0, prompts, (prompts, 1))
        s = rng.integers(0, steps, (prompts, steps))
        drawn.append(np.sqrt(ours[p, s].mean()) - np.sqrt(theirs[p, s].mean()))
    return np.percentile(drawn, [2.5, 97.5])


def main():
    model, program = sys.argv[1:3]
    peer = Peer(model, prompts.LONG + COUNT + 8)
    asked = prompts.ids(peer)
    theirs = [peer.run(ids, COUNT) for ids in asked]
    free = overt(program, model, [(ids, None) for ids in asked])
    forced = overt(program, model, [(ids, t) for ids, (t, _) in zip(asked, theirs)])
    eight = overt(program, model, [(ids, t) for ids, (t, _) in zip(asked, theirs)], "int8")
    reference, rounded = Model(model), Model(model, rounded=True)
    complaints, alike, squares = [], 0, []
    print(ACTIVATIONS)
    print("prompt tokens | RMS error: overt; overt, 8 bits; f64, rounded; llama.cpp | same tokens | at the first difference: gap, error")
    for n, (ids, (t, peer_logits)) in enumerate(zip(asked, theirs)):
        sequence, rows = ids + t[:-1], range(len(ids) - 1, len(ids) - 1 + COUNT)
        right = reference.logits(sequence, rows)
        off = [x - right for x in (forced[n][1], eight[n][1], rounded.logits(sequence, rows), peer_logits)]
        squares.append([np.mean(np.square(x), -1) for x in off])
        same = next((i for i in range(COUNT) if free[n][0][i] != t[i]), COUNT)
        note = ""
        if same == COUNT:
            alike += 1
        else:
            gap = right[same].max() - min(right[same][t[same]], right[same][free[n][0][same]])
            error = max(np.abs(off[0][same]).max(), np.abs(off[3][same]).max())
            note = f"{gap:.4f}, {error:.4f}"
            if gap > error:
                complaints.append(f"prompt {n}: at token {same} a choice is {gap:.4f} below the best; the errors reach {error:.4f}")
        shown = "; ".join(f"{np.sqrt(x.mean()):.4f}" for x in squares[-1])
        print(f"{len(ids):13} | {shown} | {same:2} of {COUNT} | {note}", flush=True)
    squares = np.array(squares).swapaxes(0, 1)
    total = [float(np.sqrt(x.mean())) for x in squares]
    print(f"all: {'; '.join(f'{x:.4f}' for x in total)}; {alike} of {len(asked)} prompts give the same {COUNT} tokens")
    low, high = by_chance(squares[0], squares[3])
    print(f"overt less llama.cpp: {total[0] - total[3]:+.4f}; prompts and steps drawn again give {low:+.4f} to {high:+.4f}")
    if total[0] > total[3]:
        complaints.append(f"RMS error {total[0]:.4f} over all prompts; llama.cpp's is {total[3]:.4f}")
    if alike < ALIKE:
        complaints.append(f"{alike} prompts give the same tokens; wanted {ALIKE}")
    for complaint in complaints:
        print(f"error: {complaint}")
    sys.exit(1 if complaints else 0)


main()
