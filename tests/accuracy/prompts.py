"""Ten prompts: prose, code, other scripts, emoji, and one of 2,000 tokens."""

SENTENCES = [
    "The harbour lay still in the grey light of the morning, and the boats had not yet gone out.",
    "A man in a blue coat walked along the wall, counting the ropes as his father had done before him.",
    "Nobody in the town remembered when the lighthouse had been built, but everyone knew who had let it fall dark.",
    "In winter the sea came up to the third step of the church, and the children bet on whether it would reach the fourth.",
    "She wrote down every ship that passed, its name, its flag and the hour, in a book with a red cover.",
]

PROMPTS = [
    "The capital of France is",
    "<|im_start|>user\nExplain why the sky is blue in three sentences.<|im_end|>\n<|im_start|>assistant\n",
    "def fibonacci(n):\n    \"\"\"The n-th Fibonacci number.\"\"\"\n",
    "#include <stdio.h>\n\nint main(void) {\n    for (int i = 0; i < 10; i++) {\n",
    "Los niños juegan en el parque mientras sus padres",
    "Москва — столица России. Санкт-Петербург",
    "日本の首都は東京です。東京は",
    "I love 🍕 and 🎉! My favourite emojis are 😀 😂 🥳 because",
    "1 + 1 = 2\n2 + 2 = 4\n4 + 4 = 8\n8 + 8 =",
    None,
]
LONG = 2000


def ids(peer):
    """Their tokens, by the peer's own tokenizer."""
    prompts = []
    for text in PROMPTS:
        if text is None:
            text = " ".join(SENTENCES * 30)
            prompts.append(peer.tokens(text)[:LONG])
            assert len(prompts[-1]) == LONG
        else:
            special = text.startswith("<|im_start|>")
            prompts.append(peer.llama.tokenize(text.encode(), add_bos=False, special=special))
    return prompts
