// SPDX-License-Identifier: Apache-2.0
#include "tests/frontend/onnx/operator_notes.h"

namespace tartan::onnx {
namespace {

struct Note {
  const char* name;
  const char* text;
};

constexpr Note kNotes[] = {
    {"Bernoulli",
     "other numbers than the cases expect, as the standard allows; checked by distribution"},
    {"Dropout",
     "in training NumPy's numbers of the seed; without one a stream that is the same in every run"},
    {"Gradient", "of the sum of `y`'s elements; anything in Tile is differentiated"},
    {"If", "only the branch taken is imported"},
    {"Loop", "one program for all iterations where the body's sizes stay"},
    {"Multinomial", "checked by distribution"},
    {"NonMaxSuppression", "on the host, between two programs"},
    {"RandomNormal",
     "NumPy's numbers of the seed; without one a stream that is the same in every run"},
    {"RandomNormalLike", "as RandomNormal"},
    {"RandomUniform",
     "NumPy's numbers of the seed; without one a stream that is the same in every run"},
    {"RandomUniformLike", "as RandomUniform"},
    {"Unique", "on the host, between two programs"},
};

constexpr Decision kDecisions[] = {
    {"ArgMax, ArgMin, TopK", "equal elements",
     "the first, or the last with `select_last_index`; "
     "TopK in the order of their positions",
     "standard"},
    {"ArgMax, ArgMin, Max, MaxPool, Min, ReduceMax, ReduceMin, TopK", "NaN",
     "is chosen: a maximum or minimum is NaN, its position is the first one's; TopK ranks it as "
     "the maximum",
     "PyTorch, NumPy; onnxruntime's answer depends on the position of the NaN"},
    {"AveragePool, LpPool, MaxPool", "`ceil_mode` where a window is larger than the padded input",
     "one window of the elements that exist; without `ceil_mode` the model is refused",
     "standard's formula, PyTorch, onnxruntime"},
    {"AveragePool, LpPool, MaxPool", "`auto_pad` VALID with `ceil_mode`",
     "the standard's formula, which gives whole windows alone",
     "standard; onnxruntime adds partial ones"},
    {"AveragePool, LpPool, MaxPool", "`auto_pad` SAME with dilations",
     "windows count as wide as they are dilated",
     "standard's formula; onnxruntime ignores dilations"},
    {"AveragePool, LpPool, MaxPool", "`auto_pad` SAME with strides wider than windows",
     "the padding of the formula is negative and crops both ends, the odd element at the end for "
     "SAME_UPPER and at the beginning for SAME_LOWER",
     "standard's formula; onnxruntime for SAME_UPPER, for SAME_LOWER it crops the "
     "end alone"},
    {"AveragePool", "`count_include_pad` where `ceil_mode` lets a window reach beyond the padding",
     "counts the tensor and its padding, not positions beyond", "PyTorch, onnxruntime"},
    {"Conv", "`auto_pad` SAME with strides wider than windows", "no padding: it never crops",
     "standard's \"pad\", onnxruntime"},
    {"ConvTranspose", "`auto_pad` SAME with strides wider than windows",
     "the result has `input * stride` elements all the same, with zeros at the end",
     "standard; onnxruntime's is "
     "smaller"},
    {"ConvTranspose", "the odd element of the padding that follows from `output_shape` or SAME",
     "at the end for SAME_UPPER, at the beginning otherwise", "standard, onnxruntime"},
    {"GridSample", "cubic, with coordinates outside under `border` or `reflection`",
     "the coordinate stays, each of its four taps is brought into the tensor",
     "PyTorch, onnxruntime; the "
     "reference evaluator brings in the coordinate"},
    {"GridSample", "nearest, halfway between two elements",
     "rounds to the even position, then applies the padding",
     "onnxruntime, reference evaluator; PyTorch reflects "
     "first, which differs at these points alone"},
    {"If, Loop, Scan", "a nested graph gives a name of the graphs around it to another value",
     "the model is refused",
     "standard, and its checker for results of nodes; of an initialiser onnxruntime and the "
     "reference evaluator take the outer value"},
    {"Loop, Scan", "sizes of rows where there is no iteration",
     "the sizes of a first iteration; where values decide them, the body's declared sizes, and 0 "
     "for a size that it leaves open",
     "onnxruntime"},
    {"MoE, QMoE (com.microsoft)", "`normalize_routing_weights` of 0",
     "the shares of the experts chosen are those among all experts",
     "documentation, onnxruntime's MoE; "
     "its QMoE normalizes in any case"},
    {"MultiHeadAttention (com.microsoft)", "`unidirectional` where keys are more than queries",
     "the queries are at the end of the keys",
     "onnxruntime for one query; for several its results fit no place"},
    {"MaxPool", "`Indices` of equal maxima",
     "the first in row-major order, with `storage_order` 1 too", "PyTorch, onnxruntime"},
    {"MaxPool", "`Indices` of a window with NaN", "the first NaN, as ArgMax",
     "NumPy's argmax; PyTorch points at "
     "the last one"},
    {"NonMaxSuppression", "boxes of equal scores", "in the order of their positions",
     "onnxruntime"},
    {"QuantizeLinear, DynamicQuantizeLinear, QLinear…", "ties, and numbers beyond the ends",
     "round to the even number, then the zero point is added, then saturation",
     "standard, onnxruntime"},
    {"QuantizeLinear", "precision of the quotient",
     "of the scale's type, or of the attribute `precision`: float16 "
     "operands are divided in float16",
     "standard; onnxruntime divides them in float32"},
    {"ReduceMean", "integers", "the mean of the exact sum, rounded towards zero",
     "onnxruntime; the reference evaluator's sums overflow"},
    {"Resize", "nearest in operator set 10, where an axis shrinks",
     "the next element up (`ceil`); down (`floor`) where it grows. Upsample likewise",
     "ONNX 1.5's case `test_resize_downsample_nearest`, onnxruntime"},
    {"Resize", "size of an axis from its scale",
     "`floor` of size times scale in float32: 0.7 of 10 are 7",
     "ONNX's shape inference, PyTorch, onnxruntime"},
    {"Resize", "nearest where a coordinate is whole or halfway",
     "coordinates are exact fractions: with `sizes` the scale is the quotient of the sizes, a "
     "scale "
     "of `scales` is the simplest fraction that rounds to it in float32 (0.3 is 3/10)",
     "standard's formulas; onnxruntime 1.32 with `round_prefer_floor` and `round_prefer_ceil`. "
     "With "
     "`floor` and `ceil` its float32 arithmetic misses whole coordinates (14 to 2 elements, "
     "`asymmetric`: 6 for 7). The reference evaluator computes with the float32 next to 3/10"},
    {"Resize", "`align_corners` with scales that make no whole size",
     "counts the length before it is rounded down",
     "standard's cases `resize_downsample_scales_*_align_corners`; "
     "onnxruntime counts whole elements"},
    {"Resize", "`pytorch_half_pixel` where one element is left of a fraction more", "position 0",
     "standard (`length_resized > 1`), onnxruntime"},
    {"RoiAlign", "regions turned inside out",
     "0; before operator set 16 their minimum is one element", "onnxruntime"},
    {"Slice", "backwards from before the first element", "begins at the first element",
     "standard, onnxruntime; NumPy, and with it the reference evaluator, takes nothing"},
};

// Operators of com.microsoft that onnxruntime 1.31 documents and the operator table lacks.
constexpr Reason kMissing[] = {
    {"AttnLSTM", "attention within an LSTM of 2018; no exporter writes it any more"},
    {"BeamSearch", "a search over words that runs graphs of its own: a caller's part"},
    {"BifurcationDetector", "of speculative search over words: a caller's part"},
    {"ComplexMulConj", "its documentation does not say which operand is conjugated"},
    {"ConvTransposeWithDynamicPads",
     "nothing exports it; ConvTranspose with constant pads is there"},
    {"DecoderAttention", "made by fusions for GPUs alone; MultiHeadAttention is its general form"},
    {"DecoderMaskedMultiHeadAttention",
     "of generation within BeamSearch, on caches in a GPU kernel's layout"},
    {"DecoderMaskedSelfAttention",
     "of generation within BeamSearch, on caches in a GPU kernel's layout"},
    {"DequantizeBFP", "block floating point of one accelerator"},
    {"DequantizeWithOrder",
     "a layout that onnxruntime's kernels for one GPU define, and no document does"},
    {"DynamicSparseAttention", "sparse tables of blocks that a serving engine manages"},
    {"DynamicTimeWarping", "of word timestamps after generation: a caller's part"},
    {"EPContext", "a program of another engine's device"},
    {"GatedDeltaNet",
     "LinearAttention with the gates of LinearAttentionGate is its general form; not done yet"},
    {"GemmFloat8", "matmul of float8 on one GPU; not done yet"},
    {"GreedySearch", "a search over words that runs graphs of its own: a caller's part"},
    {"Irfft", "not done yet; ONNX's DFT is there"},
    {"LongformerAttention", "made by one script for GPUs; not done yet"},
    {"MatMulBlockQuantizedFp4Weight", "weights in 4-bit floats for GPUs; not done yet"},
    {"MatMulBlockQuantizedFp8Weight", "weights in 8-bit floats for GPUs; not done yet"},
    {"MatMulFpQ4", "packed by onnxruntime in a layout of its own; MatMulNBits has taken its place"},
    {"MatMulNBitsMlp", "made by onnxruntime from three MatMulNBits when it loads a model"},
    {"MatMulNBitsQkv", "made by onnxruntime from three MatMulNBits when it loads a model"},
    {"MaxpoolWithMask", "its documentation does not say what the mask does"},
    {"MurmurHash3", "hashes of strings and numbers, not of models here so far"},
    {"NGramHashMapping", "hashes of words; not done yet"},
    {"PackedAttention", "tokens packed without padding, for onnxruntime's GPU kernels"},
    {"PackedMultiHeadAttention", "tokens packed without padding, for onnxruntime's GPU kernels"},
    {"PackedSparseAttentionIndexer", "sparse tables of blocks that a serving engine manages"},
    {"PagedAttention", "sparse tables of blocks that a serving engine manages"},
    {"QOrderedAttention",
     "a layout that onnxruntime's kernels for one GPU define, and no document does"},
    {"QOrderedGelu",
     "a layout that onnxruntime's kernels for one GPU define, and no document does"},
    {"QOrderedLayerNormalization",
     "a layout that onnxruntime's kernels for one GPU define, and no document does"},
    {"QOrderedLongformerAttention",
     "a layout that onnxruntime's kernels for one GPU define, and no document does"},
    {"QOrderedMatMul",
     "a layout that onnxruntime's kernels for one GPU define, and no document does"},
    {"QuantizeBFP", "block floating point of one accelerator"},
    {"QuantizeWithOrder",
     "a layout that onnxruntime's kernels for one GPU define, and no document does"},
    {"RelativePositionBias", "its documentation leaves the layout of its table open"},
    {"RemovePadding", "tokens packed without padding, for onnxruntime's GPU kernels"},
    {"RestorePadding", "tokens packed without padding, for onnxruntime's GPU kernels"},
    {"Rfft", "not done yet; ONNX's DFT is there"},
    {"Sampling", "a search over words that runs graphs of its own: a caller's part"},
    {"Snpe", "a program of another engine's device"},
    {"SparseAttention", "sparse tables of blocks that a serving engine manages"},
    {"SparseAttentionIndexer", "sparse tables of blocks that a serving engine manages"},
    {"SparsePagedAttention", "sparse tables of blocks that a serving engine manages"},
    {"SparseToDenseMatMul", "sparse tensors"},
    {"VarlenCausalConvWithState", "tokens packed without padding, for onnxruntime's GPU kernels"},
    {"VarlenNGramHashMapping", "hashes of words; not done yet"},
    {"WhisperBeamSearch", "a search over words that runs graphs of its own: a caller's part"},
    {"WordConvEmbedding", "letters of words of 2017; no exporter writes it any more"},
};

}  // namespace

absl::Span<const Reason> MissingMicrosoftOperators() { return kMissing; }

absl::string_view NoteOf(absl::string_view name) {
  for (const Note& note : kNotes) {
    if (name == note.name) return note.text;
  }
  return "";
}

absl::Span<const Decision> Decisions() { return kDecisions; }

}  // namespace tartan::onnx
