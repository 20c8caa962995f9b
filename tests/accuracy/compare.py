"""Holds the engine against llama.cpp and against an evaluation in f64: compare.py MODEL LOGITS_PROGRAM

Ten prompts, 64 tokens each. Logits of all three are taken along the same tokens, llama.cpp's choices. Fails where Overt's root mean square error
over all prompts is above llama.cpp's, where fewer than six prompts give the same 64 tokens, or where, at the first token that differs, a choice lies further
below the best in f64 than the larger engine's greatest error at that step.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import prompts
from peer import Peer
from reference import Model

COUNT = 64
ALIKE = 6


def overt(program, model, wanted, *flags):
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        asked = [{"tokens": t, "count": COUNT, "forced": f} for t, f in wanted]
        (place / "prompts.json").write_text(json.dumps(asked))
        subprocess.run([program, model, place / "prompts.json", folder, *flags], check=True)
        got = []
        for n in range(len(wanted)):
            tokens = json.loads((place / f"{n}.json").read_text())
            logits = np.fromfile(place / f"{n}.f32", np.float32).reshape(len(tokens), -1)
            got.append((tokens, logits))
        return got


def rms(x):
    return float(np.sqrt(np.mean(np.square(x))))


def main():
    model, program = sys.argv[1:3]
    peer = Peer(model, prompts.LONG + COUNT + 8)
    asked = prompts.ids(peer)
    theirs = [peer.run(ids, COUNT) for ids in asked]
    free = overt(program, model, [(ids, None) for ids in asked])
    forced = overt(program, model, [(ids, t) for ids, (t, _) in zip(asked, theirs)])
    exact = overt(program, model, [(ids, t) for ids, (t, _) in zip(asked, theirs)], "exact")
    reference = Model(model)
    complaints, alike, errors = [], 0, []
    print("prompt tokens | RMS error: overt, exact activations, llama.cpp | same tokens | at the first difference: gap, error")
    for n, (ids, (t, peer_logits)) in enumerate(zip(asked, theirs)):
        right = reference.logits(ids + t[:-1], range(len(ids) - 1, len(ids) - 1 + COUNT))
        off = [x - right for x in (forced[n][1], exact[n][1], peer_logits)]
        errors.append([rms(x) for x in off])
        same = next((i for i in range(COUNT) if free[n][0][i] != t[i]), COUNT)
        note = ""
        if same == COUNT:
            alike += 1
        else:
            gap = right[same].max() - min(right[same][t[same]], right[same][free[n][0][same]])
            error = max(np.abs(off[0][same]).max(), np.abs(off[2][same]).max())
            note = f"{gap:.4f}, {error:.4f}"
            if gap > error:
                complaints.append(f"prompt {n}: at token {same} a choice is {gap:.4f} below the best; the errors reach {error:.4f}")
        mine, precise, peers = errors[-1]
        print(f"{len(ids):13} | {mine:.4f}, {precise:.4f}, {peers:.4f} | {same:2} of {COUNT} | {note}")
    total = [float(np.sqrt(np.mean(np.square(e)))) for e in zip(*errors)]
    print(f"all: {total[0]:.4f}, {total[1]:.4f}, {total[2]:.4f}; {alike} of {len(asked)} prompts give the same {COUNT} tokens")
    if total[0] > total[2]:
        complaints.append(f"RMS error {total[0]:.4f} over all prompts; llama.cpp's is {total[2]:.4f}")
    if alike < ALIKE:
        complaints.append(f"{alike} prompts give the same tokens; wanted {ALIKE}")
    for complaint in complaints:
        print(f"error: {complaint}")
    sys.exit(1 if complaints else 0)


main()
