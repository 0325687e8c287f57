// SPDX-License-Identifier: Apache-2.0
#include "tile/poly/online/key_indices.h"

#include <algorithm>

namespace tartan::poly {
namespace {

using math::Affine;

class KeyFinder {
 public:
  KeyFinder(const std::vector<RowKernel>& kernels, const std::vector<RowTensor>& tensors)
      : kernels_(kernels),
        tensors_(tensors),
        found_{std::vector<int>(kernels.size(), -1), std::vector<int>(tensors.size(), -1)} {}

  std::optional<KeyIndices> Run(int first, int index) {
    keys_ = kernels_[first].flat.indices[index].range;
    is_sound_ = SetIndex(first, index);
    do {
      has_changed_ = false;
      for (size_t k = 0; k < kernels_.size() && is_sound_; ++k) is_sound_ = Follow(k);
    } while (has_changed_ && is_sound_);
    if (!is_sound_) return std::nullopt;
    return found_;
  }

 private:
  // Propagates key indices between a kernel and the tensors that it reads and writes.
  bool Follow(size_t k) {
    const RowKernel& kernel = kernels_[k];
    for (const TensorAccess& access : kernel.flat.accesses) {
      const int kept = kernel.tensors[access.tensor];
      if (kept < 0) continue;
      const auto coords = RowCoords(kernel.flat, access, tensors_[kept], kernel.axes);
      if (!coords || !Join(k, kept, *coords)) return false;
    }
    return kernel.output < 0 || Join(k, kernel.output, kernel.flat.output_coords);
  }

  // Propagates between kernel k and a tensor that it accesses at the coordinates.
  bool Join(size_t k, int tensor, const std::vector<Affine>& coords) {
    const int dim = found_.of_tensors[tensor];
    if (dim >= 0) {
      const int index = coords[dim].single_variable();
      if (index < 0 || !(coords[dim] == Affine::Variable(index)) || !SetIndex(k, index)) {
        return false;
      }
    }
    const int index = found_.of_kernels[k];
    if (index < 0) return true;
    for (size_t d = 0; d < coords.size(); ++d) {
      if (coords[d].coefficient(index).is_zero()) continue;
      if (!(coords[d] == Affine::Variable(index)) || !SetDim(tensor, static_cast<int>(d))) {
        return false;
      }
    }
    return true;
  }

  bool SetIndex(size_t k, int index) {
    const RowKernel& kernel = kernels_[k];
    const bool is_row =
        std::find(kernel.axes.begin(), kernel.axes.end(), index) != kernel.axes.end();
    if (is_row || kernel.flat.indices[index].range != keys_) return false;
    return Set(index, &found_.of_kernels[k]);
  }

  bool SetDim(int tensor, int dim) {
    if (tensors_[tensor].axes[dim] >= 0 || tensors_[tensor].dims[dim] != keys_) return false;
    return Set(dim, &found_.of_tensors[tensor]);
  }

  bool Set(int value, int* known) {
    if (*known >= 0) return *known == value;
    *known = value;
    has_changed_ = true;
    return true;
  }

  const std::vector<RowKernel>& kernels_;
  const std::vector<RowTensor>& tensors_;
  KeyIndices found_;
  int64_t keys_ = 0;
  bool has_changed_ = false;
  bool is_sound_ = true;
};

}  // namespace

std::optional<KeyIndices> FindKeyIndices(const std::vector<RowKernel>& kernels,
                                         const std::vector<RowTensor>& tensors, int first,
                                         int index) {
  return KeyFinder(kernels, tensors).Run(first, index);
}

}  // namespace tartan::poly
