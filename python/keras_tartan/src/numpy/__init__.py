# SPDX-License-Identifier: Apache-2.0
"""keras.ops.numpy."""

from keras_tartan.src.numpy.choosing import (diag, diagflat, diagonal, take, take_along_axis, trace, tril, triu,
                                             unravel_index)
from keras_tartan.src.numpy.creation import (arange, bartlett, blackman, eye, geomspace, hamming, hanning, identity,
                                             kaiser, linspace, logspace, meshgrid, tri)
from keras_tartan.src.numpy.elementwise import (abs, absolute, add, angle, arccos, arccosh, arcsin, arcsinh, arctan,
                                                arctan2, arctanh, bitwise_and, bitwise_invert, bitwise_left_shift,
                                                bitwise_not, bitwise_or, bitwise_right_shift, bitwise_xor, cbrt, ceil,
                                                clip, conj, conjugate, cos, cosh, deg2rad, divide, divide_no_nan, equal,
                                                exp, exp2, expm1, fabs, floor, floor_divide, fmax, fmin, fmod, gcd,
                                                greater, greater_equal, heaviside, hypot, i0, imag, isclose, isfinite,
                                                isinf, isnan, isneginf, isposinf, isreal, lcm, ldexp, left_shift, less,
                                                less_equal, log, log10, log1p, log2, logaddexp, logaddexp2, logical_and,
                                                logical_not, logical_or, logical_xor, maximum, minimum, mod, multiply,
                                                nan_to_num, negative, nextafter, nonzero, not_equal, power, rad2deg,
                                                real, reciprocal, right_shift, round, select, sign, signbit, sin, sinc,
                                                sinh, sqrt, square, subtract, tan, tanh, true_divide, trunc, where)
from keras_tartan.src.numpy.filled import (array, copy, empty, empty_like, full, full_like, ones, ones_like, zeros,
                                           zeros_like)
from keras_tartan.src.numpy.later import column_stack, copysign, cov, float_power
from keras_tartan.src.numpy.missing import (nanargmax, nanargmin, nancumprod, nancumsum, nanmax, nanmean, nanmin,
                                            nanprod, nanstd, nansum, nanvar)
from keras_tartan.src.numpy.order import (argpartition, argsort, bincount, digitize, histogram, isin, median,
                                          nanmedian, nanpercentile, nanquantile, percentile, quantile, searchsorted,
                                          sort, unique)
from keras_tartan.src.numpy.products import (corrcoef, correlate, cross, dot, einsum, inner, kron, matmul, outer,
                                             slogdet, tensordot, vander, vdot, vectorize)
from keras_tartan.src.numpy.reductions import (all, allclose, amax, amin, any, argmax, argmin, average, count_nonzero,
                                               cumprod, cumsum, diff, max, mean, min, prod, ptp, std, sum, trapezoid,
                                               var)
from keras_tartan.src.numpy.shapes import (append, array_split, broadcast_to, concatenate, dsplit, dstack, expand_dims,
                                           flip, fliplr, flipud, hsplit, hstack, moveaxis, ndim, pad, ravel, repeat,
                                           reshape, roll, rot90, size, split, squeeze, stack, swapaxes, tile,
                                           transpose, view, vsplit, vstack)
from keras_tartan.src import _complex_numbers

for _name in {*_complex_numbers.NAMES, *_complex_numbers.OTHERS}:
    globals()[_name] = _complex_numbers.accepting(_name, globals()[_name])
