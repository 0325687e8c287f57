# SPDX-License-Identifier: Apache-2.0
"""Sizes that differ between runs of a model, as expressions of the sizes of its inputs."""

import itertools
import math

# Values of the sizes that are not fixed, for one run each: odd and even ones, first primes so that they are no sizes
# of the model by chance. Where a model takes multiples of a power of two alone, the second list serves.
_TRIES = (((83, 89, 94), ((67, 72, 91), (101, 110, 127), (73, 82, 103), (59, 66, 94))),
          ((83, 89, 94), ((128, 160, 96), (192, 64, 224), (256, 288, 320), (352, 384, 416))))
RUNS = 3


def assignments(symbols):
    """Lists of values for each of the symbols (the batch first, if there is one), to be tried in order."""
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
    """An expression (factor, symbols, addend) whose value is factor * product of symbols + addend, or None. `symbols` maps
    names to their values in each run."""
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
