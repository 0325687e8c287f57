// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "tile/poly/coords.h"
#include "tile/poly/online/online_softmax.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::poly {
namespace {

using math::Affine;

// Padding in elements after each row of a RowTensor. Rows whose length is a power of two would be
// in the same banks of local memory, and work-items of several rows would conflict. A multiple of 4
// keeps vectors aligned.
constexpr int64_t kPadding = 4;

// Splits an index of a kernel into a block index (a new output index) and the element within the
// block.
class KeyCut {
 public:
  KeyCut(const FlatContraction& flat, int index, int64_t size)
      : block_(flat.output_index_count), index_(index), size_(size) {}

  // Returns the new position of an index of the kernel.
  int Moved(int i) const { return i < block_ ? i : i + 1; }
  int block() const { return block_; }
  Affine Within() const { return Affine::Variable(Moved(index_)); }

  Affine Map(const Affine& poly) const {
    Affine mapped = Affine::Constant(poly.constant);
    for (int i = 0; i < static_cast<int>(poly.coefficients.size()); ++i) {
      const math::Rational coefficient = poly.coefficient(i);
      if (coefficient.is_zero()) continue;
      mapped.set_coefficient(Moved(i), coefficient);
      if (i == index_) mapped.set_coefficient(block_, coefficient * size_);
    }
    return mapped;
  }

 private:
  const int block_;
  const int index_;
  const int64_t size_;
};

// Shrinks the RowTensors of a kernel to the elements of one block.
void KeepBlock(const OnlineSoftmax& online, size_t k, const KeyCut& cut,
               const std::vector<RowTensor>& tensors, RowKernel* kernel) {
  const RowKernel& whole = online.kernels[k];
  FlatContraction& flat = kernel->flat;
  for (size_t a = 0; a < flat.accesses.size(); ++a) {
    const TensorAccess& access = whole.flat.accesses[a];
    const int kept = kernel->tensors[access.tensor];
    if (kept < 0 || online.key_dim[kept] < 0) continue;
    Coords coords = *RowCoords(whole.flat, access, online.tensors[kept], whole.axes);
    for (Affine& coord : coords) coord = cut.Map(coord);
    coords[online.key_dim[kept]] = cut.Within();
    flat.accesses[a].coords = std::move(coords);
  }
  for (size_t t = 0; t < flat.tensors.size(); ++t) {
    const int kept = kernel->tensors[t];
    if (kept >= 0 && online.key_dim[kept] >= 0) flat.tensors[t].shape.dims = tensors[kept].dims;
  }
  if (kernel->output < 0 || online.key_dim[kernel->output] < 0) return;
  flat.output_coords[online.key_dim[kernel->output]] = cut.Within();
  flat.output_dims = tensors[kernel->output].dims;
  for (Output& output : flat.outputs) output.shape.dims = flat.output_dims;
}

}  // namespace

KeyBlocks CutKeys(const OnlineSoftmax& online, int64_t size, bool is_rest) {
  KeyBlocks blocks = {online.kernels, online.tensors};
  for (size_t t = 0; t < blocks.tensors.size(); ++t) {
    if (online.key_dim[t] >= 0) blocks.tensors[t].dims[online.key_dim[t]] = size + kPadding;
  }
  const int64_t count = online.keys / size;
  for (size_t k = 0; k < blocks.kernels.size(); ++k) {
    if (online.key_index[k] < 0) continue;
    RowKernel& kernel = blocks.kernels[k];
    const FlatContraction& whole = online.kernels[k].flat;
    const int index = online.key_index[k];
    const KeyCut cut(whole, index, size);
    kernel.flat = MapPolys(whole, [&](const Affine& poly) { return cut.Map(poly); });
    FlatContraction& flat = kernel.flat;
    flat.indices[index].range = is_rest ? online.keys % size : size;
    flat.indices.insert(flat.indices.begin() + cut.block(),
                        {whole.indices[index].name + "_block", is_rest ? count + 1 : count});
    ++flat.output_index_count;
    KeepBlock(online, k, cut, blocks.tensors, &kernel);
    kernel.axes.push_back(cut.block());
  }
  return blocks;
}

}  // namespace tartan::poly
