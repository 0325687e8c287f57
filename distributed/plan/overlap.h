// SPDX-License-Identifier: Apache-2.0
// Overlap of communication with computation: gradients in buckets, and parameters gathered ahead of
// their use. A device sends one bucket at a time.
#pragma once

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"

namespace tartan::plan_cluster {

struct Gradient {
  double ready_s = 0;  // seconds since the start of the backward pass
  double bytes = 0;
};

// Joins gradients in the order of their computation into buckets that are full at
// `bucket_bytes`. The last one may have fewer. A bucket is ready with its last gradient.
std::vector<Gradient> MakeBuckets(absl::Span<const Gradient> gradients, double bucket_bytes);

// Seconds of a collective operation on this number of bytes.
using Cost = absl::FunctionRef<double(double bytes)>;

// The end of the last reduction, in seconds since the start of the backward pass: each bucket is
// reduced once it is ready and the previous reduction has ended. 0 without buckets.
double EndOfReductions(absl::Span<const Gradient> buckets, Cost reduce);

// Seconds of a forward and a backward pass whose parameters are gathered bucket by bucket. The
// gather of a bucket starts when the computation with the previous one starts. The backward pass
// takes the buckets in their order, the forward pass in reverse order. Each pass spends time with a
// bucket in proportion to the bucket's share of the backward pass. Reductions of gradients share
// the link with the gathers of the backward pass, and follow the gather of the next bucket.
struct GatheredPasses {
  double forward_s = 0;
  double backward_s = 0;  // until the last reduction ends
};
GatheredPasses GatherAhead(double forward_s, double backward_s, absl::Span<const Gradient> buckets,
                           Cost gather, Cost reduce);

}  // namespace tartan::plan_cluster
