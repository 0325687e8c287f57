# SPDX-License-Identifier: Apache-2.0
"""Operators that are not compared, each with the reason."""

EXCEPTIONS = {
    "Bernoulli": '"This operator is non-deterministic and may not produce the same values in different '
    'implementations (even if a seed is specified)"; tests check the distribution',
    "Multinomial": "random, and the evaluator has no implementation; tests check the distribution",
    "ImageDecoder": "pictures are no random bytes; a test of its own compares decoded ones",
    "training.Gradient": "the evaluator has no implementation; tests compare with differences of values",
    **{
        f"ml.{name}": "maps are no tensors; tests of their own compare them"
        for name in ("CastMap", "DictVectorizer", "ZipMap")
    },
    **{
        f"microsoft.{name}": "another form of what is compared; a test of its own says what it means"
        for name in ("GatherBlockQuantized", "GridSample", "NhwcConv", "QLinearConv")
    },
    **{
        f"microsoft.{name}": "onnxruntime has it for GPUs alone; a test of its own says what it means"
        for name in (
            "BiasAdd",
            "BiasDropout",
            "BiasSoftmax",
            "BiasSplitGelu",
            "ComplexMul",
            "FusedMatMulActivation",
            "GatedRelativePositionBias",
            "GemmFastGelu",
            "GemmaRotaryEmbedding",
            "GroupNorm",
            "IsAllFinite",
            "MulInteger",
            "NhwcFusedConv",
            "QLinearReduceMean",
            "ReduceSumInteger",
            "SkipGroupNorm",
            "TorchEmbedding",
        )
    },
    **{
        f"microsoft.{name}": "onnxruntime has it in its default domain alone, which is compared"
        for name in ("LayerNormalization", "SimplifiedLayerNormalization")
    },
    "GivenTensorFill": "onnxruntime refuses it; a test of its own says what it means",
    "microsoft.QAttention": "onnxruntime's kernel packs constants ahead; a test of its own says what it means",
}
