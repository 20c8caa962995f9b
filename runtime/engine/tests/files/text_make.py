"""Makes the files that the tokenizer's tests read: strings and the ids that llama.cpp gives for them.

    python3 -m venv v && v/bin/pip install llama-cpp-python==0.3.36 gguf==0.19.0
    v/bin/python text_make.py MODEL.gguf

MODEL.gguf is SmolLM2-135M-Instruct.Q4_1.gguf. Everything else is made from seeds here, so that a second run gives the same bytes.

- text-smollm2.jsonl: one line a string, `[string, ids, ids]`: its ids with the text of special tokens left as text, and with it parsed;
  the second list is left out where it is the same.
- text-tiny.json: two small vocabularies made here, and for each string and each way to split text the same two lists.
"""

import ctypes
import json
import pathlib
import random
import sys
import tempfile

import gguf
import llama_cpp

HERE = pathlib.Path(__file__).resolve().parent

ENGLISH = """The quick brown fox jumps over the lazy dog. It's what they'd've wanted, isn't it? We'll see; I'm sure you're right.
"Don't!" she SHOUTED, 'cause HE'D LEFT. THEY'VE GONE: we're 3rd of 1,234,567 (v2.0.1), e.g. at 10:45am on 2024-02-29.
Prices rose 3.75% to $1,299.99 -- or about £1,020... Really?! Yes; e-mail me@example.com or see https://example.com/a?b=c&d=%20#e.
Tokenization is a preprocessing step, and uncharacteristically antidisestablishmentarian neologisms are split into many pieces.
The theory of relativity usually encompasses two interrelated physics theories by Albert Einstein: special and general relativity."""

CODE = [
    "fn main() {\n    let x: Vec<u32> = (0..10).map(|i| i * 2).collect();\n    println!(\"{x:?}\");\n}\n",
    "def f(a, *b, **c):\n\treturn [x**2 for x in b if x != a]\n\n\nclass A(object):\n    \"\"\"Doc.\"\"\"\n    pass",
    "#include <stdio.h>\r\nint main(void) {\r\n\treturn printf(\"%d\\n\", 0x7f);\r\n}\r\n",
    "SELECT id, COUNT(*) FROM t WHERE a = 'b''c' AND d <= 1e-5 GROUP BY id;",
    "<div class=\"a-b\"><!-- c --><p>&nbsp;x</p></div>",
    "for i in $(seq 1 10); do echo \"$i\" >> /tmp/out_$i.txt 2>&1; done",
    "{\"a\": [1, 2.5, -3e10, null, true], \"b\": {\"c\": \"\\u00e9\"}}",
    "if (a&&b||!c) { d += e->f[g++] ? h : ~i; } // TODO",
    "x = a // b  # comment\n\n\n\n    y = -1\n",
    "\\frac{1}{2} \\sum_{i=0}^{n} x_i^2 \\leq \\sqrt{2}",
    "const re = /^[a-z]+\\d{2,}$/gi; `${a}`;",
    "---\nkey: value\nlist:\n  - 1\n  - two\n...\n",
]

SCRIPTS = [
    "Größe, Straße, Füße und Äpfel — „schön“", "L'élève à côté; où êtes-vous? Ça va, Noël!", "¿Qué tal? ¡Mañana, señor!",
    "Příliš žluťoučký kůň úpěl ďábelské ódy", "Zażółć gęślą jaźń", "İstanbul'da ığdır şöyle", "Быстрая коричневая лиса, съешь ещё!",
    "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία", "שלום עולם, מה שלומך?", "مرحبا بالعالم، كيف حالك؟ ١٢٣٤٥", "नमस्ते दुनिया, आप कैसे हैं? १२३", "வணக்கம் உலகம்",
    "สวัสดีชาวโลก ๑๒๓", "你好，世界！今天天气怎么样？", "吾輩は猫である。名前はまだ無い。", "カタカナとひらがな、ｶﾀｶﾅ", "안녕하세요 세계 123", "ខ្ញុំស្រលាញ់អ្នក", "ქართული ენა", "Հայերեն լեզու",
    "ᚠᚢᚦᚨᚱᚲ", "𐍈𐌰𐌹𐍂𐌷𐍄", "𝒜𝓁𝓅𝒽𝒶 𝔹𝕖𝕥𝕒 𝟙𝟚𝟛", "Tiếng Việt có dấu: ấ ề ộ ử", "Ⅷ ⅸ ½ ¾ ² ³ ① ⑳ ㊿ 〡〢", "ﬁ ﬂ ǅ ĳ ŉ", "e\u0301 n\u0303 a\u030a (combining)",
    "Z\u0351\u036b\u0343a\u0302\u0301\u034bl\u0322\u031bg\u0334o", "ꦲꦏ꧀ꦱꦫ", "ᠮᠣᠩᠭᠣᠯ", "ትግርኛ ፩፪፫", "ᏣᎳᎩ", "ⵜⴰⵎⴰⵣⵉⵖⵜ", "ދިވެހި", "བོད་སྐད",
]

EMOJI = [
    "😀😃😄", "👍🏽 👩🏿‍🚀", "👨‍👩‍👧‍👦 family", "🏳️‍🌈🏴‍☠️", "🇩🇪🇫🇷🇯🇵", "❤️‍🔥 ❤ ☎️", "1️⃣2️⃣#️⃣", "🤷🏼‍♀️", "a😀b😀 c", "🧑‍🤝‍🧑", "👁️‍🗨️", "🫠🫡🪿", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "👩‍❤️‍💋‍👨!!", "😀\u200d", "\u200d😀", "⏩⌚️", "★☆♪♫", "→ ⇒ ∀∃∈ ∑∫√∞ ≠≤", "┌─┐│└┘ ▓▒░",
]

SPACES = [
    " ", "  ", "   ", "    ", "\t", "\t\t", " \t ", "\n", "\n\n", "\n\n\n", "\r\n", "\r\n\r\n", "\r", " \n", "\n ", "  \n  ", "a ", " a", " a ", "a  b", "a   b", "a    b     c",
    "a\tb", "a\t\tb", "a\t b", "a \tb", "a\nb", "a\n\nb", "a \n b", "a\n  b", "a  \nb", "a\r\nb", "a\r\n\r\n  b", "\u00a0", "a\u00a0b", "a\u00a0\u00a0b", "a \u00a0 b", "\u2003x", "a\u2003\u2003b", "\u3000全角\u3000\u3000空白",
    "a\u2028b\u2029c", "a\u0085b", "\u1680x", "a\u200bb", "\ufeffa", "x\u000bx\u000cx", "\x1c\x1d\x1e\x1f", "   \n\n\n   a", "a\n \n \nb", "1  2", "1 2\n3", "  1", "  12", " !", "  !", "   ?!", "'  s", "  's", " 's 't 're",
    "\u00a0\u00a0a", "\u00a0 1", "\n!", "!\n", "!\n\n", "!\r\n\r\nx", " !\n x", "...\n\n\n...", "\u205f\u202f x",
]

DIGITS = [
    "0", "12", "123", "1234", "12345", "123456", "1234567", "12345678901234567890", "3.14159", "1,000,000", "1e10", "0x1F", "1st 2nd 3rd", "a1b2c3", "1a", "a1", "٣٤٥", "१२३४", "１２３４", "²³¹", "½¼", "ⅫⅣ", "一二三", "1²3", "x²+y²=z²", "2024-01-01T00:00:00Z",
    "+1 (555) 010-9999", "192.168.0.1", "#1", "№5", "5%", "$5", "9.99€", "1½", "𝟏𝟐𝟑", "१2३4", "00000", "1 2 3", "1  2   3",
]

CONTROL = ["\0", "a\0b", "\x01\x02\x03", "\x04\x06", "a\x04b", "the\x04 \x06cat", "\x07\x08", "\x1b[31mred\x1b[0m", "\x7f", "a\x7fb", "\x13\x14\x16", "\x80\x81", "\u0600\u070f", "\u202eabc\u202c", "\u2066x\u2069", "\x04", "a\x04", "\x04a", "th\x04e", "\x1d\x1d a", "\0\0\0"]

INVALID = ["\ufffd", "a\ufffdb", "\ufffd\ufffd\ufffd", "\ufffe\uffff", "\U0010ffff", "\U000f0000\U00100000", "\ue000\uf8ff", "\U0001fffe", "\u0378\u0379", "\U000e0001", "\U00040000", "\ufdd0", "Ã©â€™", "Ġhello", "Ċ", "ĠĠ", "▁a▁b", "<0x41>", "[EMPTY_1]", "##ing"]

SPECIAL = ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<repo_name>", "<reponame>", "<file_sep>", "<filename>", "<gh_stars>", "<issue_start>", "<empty_output>", "<jupyter_code>"]

TEMPLATES = [
    "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n<|im_start|>user\nHi!<|im_end|>\n<|im_start|>assistant\n",
    "a<|im_end|>b", " <|im_end|> ", "<|im_end|><|im_end|>", "<|im_end|", "<|im_end|>>", "<<|im_end|>", "<|im_<|im_end|>end|>", "<|IM_END|>", "< |im_end|>", "<|im_end|>\n\n", "x  <|im_end|>  y", "<repo_name>a/b<file_sep>c.py\nprint(1)", "<|endoftext|>1<|endoftext|>2", "<s></s>", "[INST] a [/INST]", "<unk>", "<|im_start|><|im_end|><|endoftext|>", "<reponame><repo_name>",
    "1<|im_end|>2", "'<|im_end|>'s", "\n<|im_end|>\n", "<filename><file_sep><filename>", "<|im_start|>😀<|im_end|>", "<|im_start|>\x04<|im_end|>",
]

LONG = ["a" * 300, "ab" * 200, "antidisestablishmentarianism" * 8, "x" * 7 + "y" * 90, "0" * 120, "!" * 130, "-" * 80, "=" * 77, " " * 150, "\n" * 40, "\t" * 33, "é" * 100, "漢" * 60, "😀" * 40, "A" * 99, "a b " * 60, "Aa1!" * 40, "." * 200, "_" * 64, "ha" * 100, "lolol" * 30, " x" * 50, "  y" * 40, "\r\n" * 30]


def words(seed, count):
    """Strings of random make: fragments of the lists above, random code points, random bytes read as Latin-1, and mixtures."""
    random_ = random.Random(seed)
    english = ENGLISH.split()
    pools = [english, SCRIPTS, EMOJI, SPACES, DIGITS, CONTROL, INVALID, SPECIAL, CODE]
    ranges = [(0x20, 0x7E), (0xA0, 0x24F), (0x370, 0x52F), (0x590, 0x6FF), (0x900, 0x97F), (0x2000, 0x2BFF), (0x3040, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0x1F300, 0x1FAFF), (0x10000, 0x10FFF), (0, 0x1F)]
    out = []
    for number in range(count):
        kind = number % 6
        if kind == 0:
            text = " ".join(random_.choice(english) for _ in range(random_.randint(1, 12)))
        elif kind == 1:
            low, high = random_.choice(ranges)
            text = "".join(chr(random_.randint(low, high)) for _ in range(random_.randint(1, 16)))
        elif kind == 2:
            text = "".join(random_.choice(random_.choice(pools)) for _ in range(random_.randint(2, 4)))[:120]
        elif kind == 3:
            text = bytes(random_.randrange(256) for _ in range(random_.randint(1, 12))).decode("latin-1")
        elif kind == 4:
            text = "".join(random_.choice(" \t\n\r'.,!?0123456789aAbBsStTrReEvVmMlLdD-_<>|$") for _ in range(random_.randint(1, 24)))
        else:
            text = bytes(random_.randrange(256) for _ in range(random_.randint(1, 10))).decode("utf-8", "replace")
        out.append(text)
    return out


def strings():
    """All strings for the large vocabulary, each once."""
    lines = ENGLISH.split("\n")
    sentences = [part for line in lines for part in line.replace("?", "?|").replace(".", ".|").split("|") if part]
    made = [""] + lines + sentences + CODE + [line for code in CODE for line in code.splitlines(True)]
    made += SCRIPTS + EMOJI + SPACES + DIGITS + CONTROL + INVALID + SPECIAL + TEMPLATES + LONG
    made += [a + b for a in ["it", "IT", " it", "1", "!", "\n"] for b in ["'s", "'S", "'re", "'RE", "'Ll", "'x", "'", "''s", "’s"]]
    made += words(20241, 900)
    return list(dict.fromkeys(made))


def ids(model, text, parse):
    """The ids of llama.cpp, without tokens at the beginning or end."""
    return model.tokenize(text.encode(), add_bos=False, special=parse)


def smollm2(path):
    model = llama_cpp.Llama(path, vocab_only=True, verbose=False)
    lines = []
    for text in strings():
        plain, parsed = ids(model, text, False), ids(model, text, True)
        lines.append(json.dumps([text, plain] if plain == parsed else [text, plain, parsed], separators=(",", ":")))
    (HERE / "text-smollm2.jsonl").write_text("\n".join(lines) + "\n")
    print(len(lines), "strings")


def byte_letters():
    """The letter that stands for each byte in a byte-level vocabulary."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return {byte: chr(byte) for byte in shown} | {byte: chr(256 + place) for place, byte in enumerate(hidden)}


# Pieces that merges make, chosen so that they reach over every boundary that some way to split text draws and another does not.
PIECES = [
    "th", "the", " t", " th", " the", "in", "ing", "er", " a", "an", "and", " and", "ll", "'s", "'S", "'t", "'re", "'ll", "n't", "it's", "12", "123", "1234", " 1", " 12", "00", "000",
    "  ", "   ", "    ", "        ", "\n\n", "\n\n\n", "\r\n", "\r\n\r\n", " \n", "\n ", "\n  ", "\t\t", " \t", "!!", "!!!", "..", "...", ".\n", "!\n", "!\n\n", " !", "()", "();", " (", "--", "->", "=>", "==", " =", "$1", "a1", "1a", ".a", "_a", "\na", "\ta", "\u00e9", " \u00e9", "\u6f22", "\u6f22\u5b57", "\u00a0", "\u00a0a", "\U0001f600", "\u00b2", "\u00bd", "x\u00b2", "aa", "aaa", "aaaa", "ab", "abab", "be", "bea",
    "<|", "|>", "<a", "tool", "\u0663\u0664", "'\u0301", "e\u0301", "\u0301", "==>", " ==", "0a", "it", " it", "a'", "Ab", " x", "x1", "1.", ".1",
]

# Marks of messages, user-defined pieces, and pieces that overlap each other.
MARKS = [("<|im_start|>", 3), ("<|im_end|>", 3), ("<pad>", 3), ("<tool>", 4), ("<<tool", 3), ("tool>>>", 4), ("<tool><tool>", 3), ("\n\n\n\n", 4), ("      ", 4), ("\u00e9\u00e9", 4), ("1212", 4), ("ll ", 4), ("<eos>", 3)]

TINY = [
    "", " ", "  ", "   ", "      ", "       x", "\n", "\n\n", "\n\n\n", "\n\n\n\n", "\n\n\n\n\n", "\r\n\r\n", " \n", "\n a", "\n  a", " \n\n a", "\t\ta", " \t a", "a  b", "a   b", "a \n b", "the thing and the other", "The  thing", " the", "  the", "it's", "IT'S", "it'S 'S", "they'll don't", "'s's",
    "1", "12", "123", "1234", "12345", "1234567", "1212", "121212", " 12", "  12", "12a", "a12", "a1a", "x1.1", "1.1", "$1 $12", "00000", "٣٤٥", "²½x²", "1²3", "½", "!!", "!!!", "!!!!", " !", "  !", "!\n", "!\n\n", " !\n\nx", "...", ".\n.\n", "....a", "();", "foo();", "x=>y", "a==>b", " == ", "--->", "_a", "._a",
    "é", "éé", "ééé", " é", "e\u0301", "a\u0301b", "\u0301\u0301", "漢字", "漢漢字", "😀", "😀😀", "a😀", "\u00a0", "\u00a0a", "a\u00a0b", "\u00a0\u00a0a", " \u00a0a", "\u2003a", "\u3000漢", "\u0085a", "aaaaaaa", "aaa aaaa", "ababab", "beabeabe", "tool", "<tool>", "<<tool>", "<<tool>>>", "<tool><tool>", "<tool><tool><tool>", "<tool>>>", "tool>>>", "<|im_start|>", "<|im_end|>", "<|im_start|>the<|im_end|>", " <|im_end|> the", "<|im_end|>\n\n\n\nthe", "<|im_end", "<|im_<pad>end|>", "<pad><eos>",
    "a\x04b", "\x04", "th\x04e", "\x7f", "\0", "\ufffd", "\U0010ffff", "the1the", "1the1", "ll a", "will all ", "ll ll ", "it's 12's", "a'\u0301", "x\n!", "\r", "\r\r\n", "a\r\nb", "the\tthe", "<0x41>", "▁a", "▁", "Ġ", "ĠĠ", "\u0e01\u0e33", "Ｔｈｅ １２", "naïve café", "Привет, мир 12", "مرحبا ١٢", "こんにちは", "ॐ नमः", "𝟏𝟐", "ⅫⅣ", "☃☃", "+-*/", "a+b=c", "^~|`", "x^2~y", "«the»", "“the”", "the…", "the—the", "#the @the", "\\n\\t", "[a](b)", "{ab}", "a,b;c:d", "?!", "¿a?", "100%", "50€", "a&b", "\"the\"", "'the'", "`the`", "a/b/c", "a\\b",
]


def tiny_bpe():
    """A byte-level vocabulary: all letters but four, the pieces above with every piece on their way, and the marks."""
    letter = byte_letters()
    left_out = {0x04, 0x7F, 0xF4, 0xC1}
    pieces = [letter[byte] for byte in range(256) if byte not in left_out]
    merges = []
    for piece in PIECES:
        spelled = "".join(letter[byte] for byte in piece.encode())
        # Grows from the left, save that a piece with a space in front grows its word first.
        first = 1 if spelled[0] == letter[0x20] and len(spelled) > 2 and spelled[1] not in (letter[0x20], letter[0x0A]) else 0
        steps = [spelled[first : end] for end in range(first + 2, len(spelled) + 1)]
        pairs = [(step[:-1], step[-1]) for step in steps]
        if first:
            pairs.append((spelled[0], spelled[1:]))
        for left, right in pairs:
            merge = f"{left} {right}"
            if merge not in merges and left + right not in pieces:
                merges.append(merge)
                pieces.append(left + right)
    # A second way to a piece that is there, with a rank of its own.
    merges += ["a aa", "aa aa", "ab ab"]
    kinds = [1] * len(pieces) + [kind for _, kind in MARKS]
    return pieces + [text for text, _ in MARKS], kinds, merges


def tiny_spm():
    """A vocabulary with scores: bytes, letters, pieces with equal and unequal scores, and the marks."""
    pieces = [("<unk>", 2, 0.0), ("<s>", 3, 0.0), ("</s>", 3, 0.0)] + [(f"<0x{byte:02X}>", 6, 0.0) for byte in range(256)]
    random_ = random.Random(7)
    grown = []
    for piece in PIECES:
        spelled = piece.replace(" ", "▁")
        for first in range(len(spelled)):
            for end in range(first + 2, len(spelled) + 1):
                grown.append(spelled[first:end])
    letters = sorted(set("".join(PIECES).replace(" ", "▁")) - set("\n\r\t\u0663"))
    known = {text for text, _ in MARKS} | set(letters)
    for number, text in enumerate(dict.fromkeys(grown)):
        if text not in known and random_.random() < 0.85:
            known.add(text)
            # Every fourth score is that of the piece before, so that ties are there.
            pieces.append((text, 1, -float(number - number % 4)))
    pieces += [(text, 1, -1000.0 - number) for number, text in enumerate(letters)]
    pieces += [(text, kind, -1000.0) for text, kind in MARKS] + [("\ufdd0unused", 5, 0.0)]
    return [text for text, _, _ in pieces], [kind for _, kind, _ in pieces], [score for _, _, score in pieces]


def spelled(model):
    """The bytes that llama.cpp shows for each token, special ones too, as letters of Latin-1."""
    vocab, room, out = llama_cpp.llama_model_get_vocab(model._model.model), (ctypes.c_char * 64)(), []
    for token in range(model.n_vocab()):
        length = llama_cpp.llama_token_to_piece(vocab, token, room, 64, 0, True)
        assert length >= 0
        out.append(bytes(room[:length]).decode("latin-1"))
    return out


def load(folder, name, fill):
    path = str(pathlib.Path(folder) / f"{name}.gguf")
    writer = gguf.GGUFWriter(path, "llama")
    fill(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return llama_cpp.Llama(path, vocab_only=True, verbose=False)


def tiny():
    pieces, kinds, merges = tiny_bpe()
    spm_pieces, spm_kinds, scores = tiny_spm()

    def bpe(pre):
        def fill(writer):
            writer.add_tokenizer_model("gpt2")
            writer.add_tokenizer_pre(pre)
            writer.add_token_list(pieces)
            writer.add_token_types(kinds)
            writer.add_token_merges(merges)
            writer.add_bos_token_id(len(pieces) - len(MARKS))
            writer.add_eos_token_id(len(pieces) - len(MARKS) + 1)
            if pre == "smollm":
                writer.add_add_bos_token(True)
                writer.add_add_eos_token(True)

        return fill

    def spm(prefix):
        def fill(writer):
            writer.add_tokenizer_model("llama")
            writer.add_tokenizer_pre("default")
            writer.add_token_list(spm_pieces)
            writer.add_token_types(spm_kinds)
            writer.add_token_scores(scores)
            writer.add_bos_token_id(1)
            writer.add_eos_token_id(2)
            writer.add_unk_token_id(0)
            writer.add_add_space_prefix(prefix)
            if not prefix:
                writer.add_add_bos_token(False)
                writer.add_add_eos_token(True)

        return fill

    ways = {f"gpt2/{pre}": bpe(pre) for pre in ["default", "gpt-2", "llama-bpe", "qwen2", "smollm"]}
    ways |= {"llama/prefix": spm(True), "llama/plain": spm(False)}
    texts = list(dict.fromkeys(TINY + words(77, 180)))
    with tempfile.TemporaryDirectory() as folder:
        models = {way: load(folder, way.replace("/", "-"), fill) for way, fill in ways.items()}
        cases = []
        for text in texts:
            lists = {}
            for number, model in enumerate(models.values()):
                for parse in (False, True):
                    lists.setdefault(tuple(ids(model, text, parse)), []).append(2 * number + parse)
            cases.append([text, [[places, list(made)] for made, places in lists.items()]])
        pieces_of = lambda model, count: [model._model.token_get_text(token) for token in range(count)]
        assert pieces_of(models["gpt2/smollm"], len(pieces)) == pieces, "llama.cpp read other pieces"
        ends = {way: model.tokenize(b"the", add_bos=True, special=False) for way, model in models.items()}
        shown = {"gpt2": spelled(models["gpt2/smollm"]), "llama": spelled(models["llama/prefix"])}
    out = {
        "ways": list(ways),
        "ends": ends,
        "shown": shown,
        "gpt2": {"tokens": pieces, "types": kinds, "merges": merges},
        "llama": {"tokens": spm_pieces, "types": spm_kinds, "scores": scores},
    }
    head = json.dumps(out, separators=(",", ":"))
    body = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    (HERE / "text-tiny.json").write_text(f'{head[:-1]},"cases":[\n{body}\n]}}\n')
    print(len(cases), "strings for", len(ways), "ways")


if __name__ == "__main__":
    tiny()
    smollm2(sys.argv[1])
