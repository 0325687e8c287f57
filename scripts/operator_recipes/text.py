# SPDX-License-Identifier: Apache-2.0
"""Strings."""

import numpy as np

from .draw import (
    WORDS,
    between,
    broadcastable,
    dim,
    flip,
    given,
    maybe,
    pick,
    reals,
    recipe,
    shape,
    strings,
)


@recipe("StringConcat")
def concat(rng, _):
    first, second = broadcastable(rng, 2)
    return [strings(rng, first), strings(rng, second)], {}, 1


@recipe("StringNormalizer")
def normalizer(rng, _):
    # The evaluator removes accents, stop words within strings and empty strings, and is
    # case-sensitive where it should not be. The standard does none of this.
    words = [w for w in WORDS if w.isascii() and w and " " not in w and w != "THE"]
    dims = [dim(rng, False)] if flip(rng) else [1, dim(rng, False)]
    stop = [str(w) for w in rng.choice(words, between(rng, 0, 3))]
    return (
        [strings(rng, dims, words)],
        given(
            case_change_action=maybe(rng, pick(rng, ("LOWER", "UPPER", "NONE"))),
            is_case_sensitive=maybe(rng, flip(rng)),
            stopwords=stop or None,
        ),
        1,
    )


SENTENCES = (
    "a b c",
    "one,two,,three",
    "  spaced   out ",
    "",
    "word",
    "a--b--c",
    "x,y",
    ",",
    "end,",
)


@recipe("StringSplit")
def split(rng, _):
    return (
        [strings(rng, shape(rng, 0, 3), SENTENCES)],
        given(
            delimiter=maybe(rng, pick(rng, ("", ",", " ", "--"))),
            maxsplit=maybe(rng, between(rng, 0, 3)),
        ),
        2,
    )


PATTERNS = (
    r"[a-z]+",
    r"\d+\.\d+",
    r"(a|b)*",
    r".*",
    r"\w+@\w+\.(com|org)",
    r"[^0-9]*",
    r"x?y?",
    r"(?i)dog",
    r"[A-Z][a-z]*",
    r"\s*",
    r"-?\d+(\.\d+)?",
    r"a{1,2}b",
)
SUBJECTS = WORDS + ("abba", "1.25", "me@there.org", "aab", "Dog", "DOG", " ", "xy", "42")


@recipe("RegexFullMatch")
def regex(rng, _):
    return [strings(rng, shape(rng), SUBJECTS)], {"pattern": pick(rng, PATTERNS)}, 1


@recipe("TfIdfVectorizer")
def tf_idf(rng, _):
    """Pools of one, two and three words; counts give the start of each part."""
    sizes = [between(rng, 0, 3) for _ in range(3)]
    sizes[0] += sum(sizes) == 0
    words = np.arange(5) if rng.random() < 0.6 else np.array(["a", "b", "c", "d", "e"], object)
    pool, counts = [], []
    for n, size in enumerate(sizes, 1):
        counts.append(len(pool))
        grams = {tuple(rng.integers(0, 5, n)) for _ in range(size)}
        for gram in sorted(grams):
            pool += [words[i] for i in gram]
    total = sum(
        1 for n in range(3) for _ in range(((counts + [len(pool)])[n + 1] - counts[n]) // (n + 1))
    )
    if total == 0:
        pool, counts, total = [words[0]], [0], 1
    numbers = words.dtype != object
    shape_ = [dim(rng, False)] if flip(rng) else [dim(rng, False), dim(rng, False)]
    x = words[rng.integers(0, 5, shape_)]
    x = x.astype(pick(rng, (np.int32, np.int64))) if numbers else x
    least = between(rng, 1, len(counts))
    return (
        [x],
        given(
            mode=pick(rng, ("TF", "IDF", "TFIDF")),
            max_skip_count=between(rng, 0, 3),
            min_gram_length=least,
            max_gram_length=between(rng, least, len(counts)),
            ngram_counts=counts,
            ngram_indexes=[int(i) for i in rng.permutation(total)],
            weights=maybe(rng, reals(rng, total, 0.2, 2)),
            pool_int64s=[int(w) for w in pool] if numbers else None,
            pool_strings=None if numbers else [str(w) for w in pool],
        ),
        1,
    )
