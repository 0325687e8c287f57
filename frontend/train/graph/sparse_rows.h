// SPDX-License-Identifier: Apache-2.0
// Updates of embeddings by rows: only the rows that a batch reads have gradients and change. A step
// needs neither a gradient nor a pass over the whole table.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "frontend/api/tensor.h"
#include "frontend/train/graph/optimizer.h"
#include "frontend/train/graph/parameters.h"

namespace tartan::train {

// InvalidArgument unless the optimiser can leave out rows whose gradient is 0. Its formula keeps
// such rows, or only shrinks their averages.
absl::Status CheckRowOptimizer(const Optimizer& optimizer);

// The embeddings of a step that are updated by rows; none before Find.
class RowUpdates {
 public:
  // Finds all trained embeddings. `masters` has the tables, which are placeholders. InvalidArgument
  // if there is none, and for one that something else than one Gather along axis 0 reads.
  absl::Status Find(const api::Tensor& loss, const std::vector<Parameter>& parameters,
                    const std::map<std::string, api::Tensor>& masters);

  // The tensor whose gradient Sum takes: the looked-up rows of an embedding, or the master itself.
  const api::Tensor& SourceOf(const api::Tensor& master) const;

  // Replaces the gradients of looked-up rows by their sums over equal ids. The sum is at the last
  // place of its id, other places have 0. `gradients`: one per trained parameter.
  absl::Status Sum(const std::vector<Parameter>& parameters,
                   const std::map<std::string, api::Tensor>& masters,
                   std::vector<api::Tensor>* gradients);

  // Like the function Update (optimizer.h); computes rows alone for an embedding. The results are
  // whole tensors.
  absl::StatusOr<Updated> Update(const Optimizer& optimizer, const ParameterGroup& group,
                                 const api::Tensor& master, const api::Tensor& gradient,
                                 absl::Span<const api::Tensor> slots, const api::Tensor& numbers,
                                 const api::Tensor& scale, const api::Tensor& enabled,
                                 absl::string_view name) const;

 private:
  struct Lookup {
    api::Tensor ids;      // integers of any shape; negative ones count from the end
    api::Tensor rows;     // float32[shape of ids…, row…]
    api::Tensor places;   // int32[n]: ids from 0, set by Sum
    api::Tensor targets;  // int32[n, 1]: each id at its last place, elsewhere the number of rows
  };
  static Lookup LookupOf(const std::shared_ptr<const api::TensorNode>& node,
                         const api::Tensor& table);
  const Lookup* LookupOf(const api::Tensor& master) const;

  std::map<const api::TensorNode*, Lookup> lookups_;  // by table
};

}  // namespace tartan::train
