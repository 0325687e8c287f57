# SPDX-License-Identifier: Apache-2.0
"""Sizes that differ between runs of a model, as expressions of the input sizes."""

import itertools
import math

# Values of the open sizes for one run each: odd and even, preferably primes, so that they differ from constant sizes
# of the model. The second list serves models that only accept multiples of a power of two.
_TRIES = (((83, 89, 94), ((67, 72, 91), (101, 110, 127), (73, 82, 103), (59, 66, 94))),
          ((83, 89, 94), ((128, 160, 96), (192, 64, 224), (256, 288, 320), (352, 384, 416))))
RUNS = 3


def assignments(symbols):
    """Returns lists of values per symbol (the batch first, if there is one), to be tried in order."""
    results = []
    for batch, others in _TRIES:
        chosen, left = {}, itertools.cycle(others)
        for symbol in symbols:
            chosen[symbol] = list(batch if symbol == "batch" else next(left))
        if chosen not in results:
            results.append(chosen)
    return results


def is_fixed(values):
    return all(v == values[0] for v in values)


def solve(values, symbols):
    """Returns (factor, symbols, addend) such that the values equal factor * (all symbols multiplied) + addend, or
    None. `symbols` maps names to their values in each run."""
    if is_fixed(values):
        return (0, (), values[0])
    for count in (1, 2, 3):
        for names in itertools.combinations_with_replacement(symbols, count):
            products = [math.prod(symbols[name][run] for name in names) for run in range(len(values))]
            difference = products[1] - products[0]
            if difference == 0 or (values[1] - values[0]) % difference:
                continue
            factor = (values[1] - values[0]) // difference
            addend = values[0] - factor * products[0]
            if all(factor * p + addend == v for p, v in zip(products, values)):
                return (factor, names, addend)
    return None
