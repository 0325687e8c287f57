# SPDX-License-Identifier: Apache-2.0
"""keras.ops.nn."""

from keras_tartan.src.nn.activations import (celu, elu, gelu, glu, hard_shrink, hard_sigmoid, hard_silu, hard_tanh,
                                             leaky_relu, log_sigmoid, log_softmax, relu, relu6, selu, sigmoid, silu,
                                             soft_shrink, softmax, softplus, softsign, sparse_plus, sparse_sigmoid,
                                             sparsemax, squareplus, tanh, tanh_shrink, threshold)
from keras_tartan.src.nn.losses import (binary_crossentropy, categorical_crossentropy, multi_hot, one_hot, psnr,
                                        sparse_categorical_crossentropy)
from keras_tartan.src.nn.normalization import (batch_normalization, exported_layer_normalization, layer_normalization,
                                                moments)
from keras_tartan.src.nn.sequences import ctc_decode, ctc_loss, dot_product_attention
from keras_tartan.src.nn.windows import (adaptive_average_pool, adaptive_max_pool, average_pool, conv, conv_transpose,
                                         depth_to_space, depthwise_conv, fold, max_pool, separable_conv,
                                         space_to_depth, unfold)
