#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/frontend/generate/data/NAME.json: small tokenizers, texts, and the encodings that
the package tokenizers computes. Needs tokenizers (PyPI); the same version gives the same files."""
import json
import pathlib
import random

import tokenizers
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers,
                        processors, trainers)

WORDS = """Hello world it's we'll they've I'm he'd don't the quick brown fox jumps over lazy dogs
straße naïve café Ünïcödé Привет мир как дела Ελληνικά γλώσσα שלום עולם مرحبا بالعالم 你好 世界 今天
こんにちは 世界 ありがとう 안녕하세요 세계 नमस्ते दुनिया ภาษาไทย Xin chào 12345 3.14 1,000 2024-05-17 ½ Ⅷ ٣٤٥
🙂 👩‍👩‍👧 🇩🇪 🏳️‍🌈 !? ... -- (a+b)*c == d_e f() {x: [1, 2]} #tag @name http://a.b/c?d=e&f don’t “quoted” —
WORLD HTTPServer camelCase snake_case ſharp İstanbul ǅ ʻokina x²""".split()
SPACES = [" ", " ", " ", " ", "  ", "   ", "\n", "\n\n", "\r\n", "\t", " \n ", "\u00a0", "\u3000",
          "\u2028", "\u200b", "\x0b", "\x85", ""]
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")


def texts(marks):
    rng = random.Random(7)
    found = ["", " ", "  ", "\n", " a", "a ", "  a", "a  b", "a   ", "'s 's'S 'RE", "a\n\n b \n", *marks,
             " ".join(marks), "x" + "".join(marks) + "y", "\u0000\u0001", "\U0010ffff", "word" * 40]
    for _ in range(150):
        parts = []
        for _ in range(rng.randint(1, 9)):
            word = rng.choice(WORDS)
            if rng.random() < 0.2:
                word = word[rng.randint(0, len(word) - 1):]
            if marks and rng.random() < 0.05:
                word = rng.choice(marks)
            parts += [rng.choice(SPACES), word]
        found.append("".join(parts) + rng.choice(SPACES))
    return found


def corpus():
    rng = random.Random(1)
    return [" ".join(rng.choice(WORDS) for _ in range(12)) for _ in range(400)]


def train(tokenizer, size, special, alphabet):
    tokenizer.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=size, special_tokens=special, initial_alphabet=alphabet, show_progress=False))
    return tokenizer


def with_bytes(tokenizer):
    """The tokenizer with an additional token for each byte."""
    data = json.loads(tokenizer.to_str())
    for byte in range(256):
        data["model"]["vocab"].setdefault(f"<0x{byte:02X}>", len(data["model"]["vocab"]))
    data["model"].update(byte_fallback=True, fuse_unk=True, unk_token="<unk>")
    return Tokenizer.from_str(json.dumps(data))


def gpt2():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return train(tokenizer, 600, ["<|endoftext|>"], pre_tokenizers.ByteLevel.alphabet())


def llama3():
    tokenizer = Tokenizer(models.BPE(ignore_merges=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(LLAMA3), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    train(tokenizer, 700, ["<|begin|>", "<|end|>"], pre_tokenizers.ByteLevel.alphabet())
    tokenizer.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(single="<|begin|> $A", pair="$A $B", special_tokens=[("<|begin|>", 0)])])
    return tokenizer


def llama2():
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(),
                                           decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    train(tokenizer, 500, ["<unk>", "<s>", "</s>"], ["▁"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="$A $B", special_tokens=[("<s>", 1), ("</s>", 2)])
    tokenizer.add_tokens([AddedToken("<mask>", lstrip=True, rstrip=True, normalized=False),
                          AddedToken("fox", single_word=True, normalized=False)])
    return with_bytes(tokenizer)


def metaspace(scheme, split):
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme, split=split)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme=scheme, split=split)
    return train(tokenizer, 400, ["<unk>", "<s>"], [])


def digits():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.Split(Regex(r"\w+|[^\w\s]+"), "removed", invert=True),
        pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=True)])
    tokenizer.decoder = decoders.ByteLevel()
    return train(tokenizer, 500, ["<|im_end|>"], pre_tokenizers.ByteLevel.alphabet())


CASES = {"gpt2": (gpt2, ["<|endoftext|>"]), "llama3": (llama3, ["<|begin|>", "<|end|>"]),
         "llama2": (llama2, ["<s>", "</s>", " <mask> ", "fox", "foxes"]),
         "metaspace_first": (lambda: metaspace("first", True), ["<s>"]),
         "metaspace_always": (lambda: metaspace("always", False), ["<s>"]),
         "digits": (digits, ["<|im_end|>"])}


def main():
    folder = pathlib.Path(__file__).resolve().parent.parent / "tests/frontend/generate/data"
    for name, (make, marks) in CASES.items():
        tokenizer = make()
        cases = []
        for text in texts(marks):
            ids = tokenizer.encode(text).ids
            cases.append({"text": text, "ids": ids, "decoded": tokenizer.decode(ids)})
        document = {"written_by": f"tokenizers {tokenizers.__version__}",
                    "tokenizer": json.loads(tokenizer.to_str()), "cases": cases}
        (folder / f"{name}.json").write_text(json.dumps(document, ensure_ascii=False) + "\n")
        print(name, len(cases), "texts")


if __name__ == "__main__":
    main()
