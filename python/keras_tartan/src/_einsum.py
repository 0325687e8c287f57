# SPDX-License-Identifier: Apache-2.0
"""Einsum: one Tile contraction per pair of operands."""

from tartan._tensor import tile


def _letters(subscripts, ranks):
    """Returns the index letters of each operand and of the result; capitals replace `...`."""
    left, arrow, right = subscripts.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise ValueError(f"einsum '{subscripts}' takes {len(terms)} operands, not {len(ranks)}")
    widths = [rank - len(term.replace("...", "")) for term, rank in zip(terms, ranks)]
    most = max([w for term, w in zip(terms, widths) if "..." in term], default=0)
    names = [f"...{i}" for i in range(most)]

    def spread(term, width):
        before, dots, after = term.partition("...")
        return list(before) + (names[most - width:] if dots else []) + list(after)

    spread_terms = [spread(term, width) for term, width in zip(terms, widths)]
    for term, rank in zip(spread_terms, ranks):
        if len(term) != rank:
            raise ValueError(f"einsum '{subscripts}': an operand has {rank} dimensions, not {len(term)}")
    if arrow:
        return spread_terms, spread(right, most)
    flat = [x for term in spread_terms for x in term if not x.startswith("...")]
    return spread_terms, names + sorted(x for x in set(flat) if flat.count(x) == 1)


def _contract(operands, terms, result, sizes):
    """Returns one contraction of one or two operands."""
    index = {letter: f"i{n}" for n, letter in enumerate(sizes)}
    names = ["A", "B"][: len(operands)]
    text = [f"{name}[{', '.join(_at(letter, x.shape[k], sizes, index) for k, letter in enumerate(term))}]"
            for name, x, term in zip(names, operands, terms)]
    dims = ", ".join(str(sizes[x]) for x in result)
    at = ", ".join(index[x] for x in result)
    bounds = "".join(f", {index[x]} < {sizes[x]}" for x in sizes if any(x in t for t in terms) and x not in result)
    head = f"O[{at} : {dims}]" if result else "O[]"
    source = f"function ({', '.join(names)}) -> (O) {{ {head} = +({' * '.join(text)}){bounds}; }}"
    return tile(source, *operands)[0]


def _at(letter, size, sizes, index):
    return "0" if size == 1 and sizes[letter] != 1 else index[letter]


def einsum(subscripts, operands):
    from keras_tartan.src._values import cast

    terms, result = _letters(subscripts, [len(x.shape) for x in operands])
    dtype = operands[0].dtype
    sizes = {}
    for term, x in zip(terms, operands):
        for letter, size in zip(term, x.shape):
            if sizes.get(letter, 1) != 1 and size not in (1, sizes[letter]):
                raise ValueError(f"einsum '{subscripts}': dimension '{letter}' is {sizes[letter]} and {size}")
            sizes[letter] = max(sizes.get(letter, 1), size)
    while len(operands) > 2:
        later = set(result).union(*terms[2:])
        kept = [x for x in dict.fromkeys(terms[0] + terms[1]) if x in later]
        operands = [cast(_contract(operands[:2], terms[:2], kept, sizes), dtype)] + operands[2:]
        terms = [kept] + terms[2:]
    return cast(_contract(operands, terms, result, sizes), dtype)
