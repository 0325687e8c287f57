// SPDX-License-Identifier: Apache-2.0
// When ranks that divide the parameters gather buckets of them during a step. Internal to
// frontend/train.
//
// A step gathers each bucket for its forward pass, in the order of the layers, and again for its
// backward pass, in the opposite order. It adds buckets of gradients in between. All ranks make
// these operations in one order, whatever the order of the kernels of their programs: a program
// that needs a bucket early gathers all buckets before it, and has more memory.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "frontend/train/ranks/gradient_arena.h"
#include "frontend/train/ranks/memory_places.h"

namespace tartan::train {

// The uses of buckets by the program of a rank. Of n buckets, gathers 0 to n - 1 are for the
// forward pass, and bucket n - 1 is first. Gathers n to 2n - 1 are for the backward pass, and
// bucket 0 is first.
struct GatherNeeds {
  std::vector<BucketUse> uses;   // by gather; `first` is `last` if it has none
  std::vector<int64_t> reduced;  // by bucket: the step after which its gradients can be added
  int64_t steps = 0;             // number of steps until then

  bool IsUsed(size_t gather) const { return uses[gather].first < uses[gather].last; }
  size_t buckets() const { return uses.size() / 2; }
  size_t BucketOf(size_t gather) const {
    return gather < buckets() ? buckets() - 1 - gather : gather - buckets();
  }
};

// `steps`: by bucket the steps that use its parameters, ascending. `bytes`: by bucket, 0 if its
// memory is not shared. `gradients`:
// the uses of its gradients; empty for a program without a backward pass, which gathers once.
GatherNeeds NeedsOf(absl::Span<const std::vector<int64_t>> steps, absl::Span<const int64_t> bytes,
                    absl::Span<const BucketUse> gradients);

// Numbers of which the ranks take the maxima: by gather 1 if it is needed, then by bucket the
// number of gathers that begin before its gradients are added.
using GatherOrder = std::vector<int64_t>;
GatherOrder OrderOf(const GatherNeeds& needs);

// The places of the buckets. A gather goes on while the program uses the bucket before it.
MemoryPlaces PlaceParameters(const GatherNeeds& needs, const GatherOrder& order);

}  // namespace tartan::train
