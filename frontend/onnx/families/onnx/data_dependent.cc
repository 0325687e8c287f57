// SPDX-License-Identifier: Apache-2.0
// Operators whose result sizes depend on values. They run on the host, between two programs.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/onnx/families.h"
#include "frontend/onnx/import/constant_tensors.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

using HostTensors = absl::StatusOr<std::vector<HostTensor>>;

// --- NonMaxSuppression

struct Box {
  double y1, x1, y2, x2;  // ordered
  double Area() const { return (y2 - y1) * (x2 - x1); }
};

// Reads four numbers: two opposite corners (y, x, y, x), or center and size (x, y, width, height).
Box ReadBox(const double* v, bool is_centre) {
  if (is_centre) {
    return {v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2, v[0] + v[2] / 2};
  }
  return {std::min(v[0], v[2]), std::min(v[1], v[3]), std::max(v[0], v[2]), std::max(v[1], v[3])};
}

// The selected boxes as arrays, so that one box is compared with several at once.
class TakenBoxes {
 public:
  explicit TakenBoxes(double threshold) : threshold_(threshold) {}

  size_t size() const { return area_.size(); }

  void Add(const Box& box) {
    y1_.push_back(box.y1);
    x1_.push_back(box.x1);
    y2_.push_back(box.y2);
    x2_.push_back(box.x2);
    area_.push_back(box.Area());
  }

  // True if the intersection over union with some box is greater than the threshold.
  bool Overlap(const Box& box) const {
    constexpr size_t kTogether = 8;
    const double area = box.Area();
    for (size_t begin = 0; begin < size(); begin += kTogether) {
      const size_t end = std::min(begin + kTogether, size());
      bool any = false;
      for (size_t i = begin; i < end; ++i) {
        const double height = std::min(y2_[i], box.y2) - std::max(y1_[i], box.y1);
        const double width = std::min(x2_[i], box.x2) - std::max(x1_[i], box.x1);
        const double both = height <= 0 || width <= 0 ? 0 : height * width;
        const double either = area_[i] + area - both;
        any |= (both == 0 || either <= 0 ? 0 : both / either) > threshold_;
      }
      if (any) return true;
    }
    return false;
  }

 private:
  const double threshold_;
  std::vector<double> y1_, x1_, y2_, x2_, area_;
};

struct Suppression {
  bool is_centre = false;
  int64_t most_per_class = 0;
  double iou_threshold = 0;
  double score_threshold = -std::numeric_limits<double>::infinity();
};

// Boxes are [batch, boxes, 4], scores [batch, classes, boxes]. Selects per class the boxes in
// descending order of score, except for boxes that overlap one selected earlier.
HostTensor Suppress(const HostTensor& boxes, const HostTensor& scores, const Suppression& how) {
  const std::vector<int64_t>& dims = scores.shape().dims;
  const std::vector<double> corners = boxes.ToDoubles();
  const std::vector<double> all_scores = scores.ToDoubles();
  std::vector<int64_t> selected;
  using Candidate = std::pair<double, int64_t>;  // descending score, then position
  std::vector<Candidate> candidates;
  for (int64_t batch = 0; batch < dims[0]; ++batch) {
    std::vector<Box> all;
    for (int64_t i = 0; i < dims[2]; ++i) {
      all.push_back(
          ReadBox(&corners[static_cast<size_t>(4 * (batch * dims[2] + i))], how.is_centre));
    }
    for (int64_t c = 0; c < dims[1]; ++c) {
      const int64_t first = (batch * dims[1] + c) * dims[2];
      candidates.clear();
      for (int64_t i = 0; i < dims[2]; ++i) {
        const double score = all_scores[static_cast<size_t>(first + i)];
        if (score > how.score_threshold) candidates.emplace_back(-score, i);
      }
      // A heap with the best on top, because often few of many boxes are needed.
      std::make_heap(candidates.begin(), candidates.end(), std::greater<>());
      TakenBoxes taken(how.iou_threshold);
      while (!candidates.empty() && static_cast<int64_t>(taken.size()) < how.most_per_class) {
        std::pop_heap(candidates.begin(), candidates.end(), std::greater<>());
        const int64_t i = candidates.back().second;
        candidates.pop_back();
        const Box& box = all[static_cast<size_t>(i)];
        if (taken.Overlap(box)) continue;
        taken.Add(box);
        selected.insert(selected.end(), {batch, c, i});
      }
    }
  }
  const int64_t count = static_cast<int64_t>(selected.size()) / 3;
  return HostInts({count, 3}, selected);
}

Outputs NonMaxSuppression(NodeContext& context) {
  const Tensor& boxes = context.input(0);
  const Tensor& scores = context.input(1);
  const bool fits = boxes.rank() == 3 && scores.rank() == 3 && boxes.dims()[2] == 4 &&
                    boxes.dims()[0] == scores.dims()[0] && boxes.dims()[1] == scores.dims()[2];
  if (!fits) {
    return Invalid("boxes ", boxes.shape().ToString(), " and scores ", scores.shape().ToString(),
                   " do not fit");
  }
  Suppression how;
  TARTAN_ASSIGN_OR_RETURN(const int64_t form, context.Int("center_point_box", 0));
  how.is_centre = form != 0;
  if (context.HasInput(2)) {
    TARTAN_ASSIGN_OR_RETURN(how.most_per_class, context.HostInt(2));
  }
  if (context.HasInput(3)) {
    TARTAN_ASSIGN_OR_RETURN(how.iou_threshold, context.HostFloat(3));
  }
  if (context.HasInput(4)) {
    TARTAN_ASSIGN_OR_RETURN(how.score_threshold, context.HostFloat(4));
  }
  return context.RunOnHost({boxes, scores}, [how](absl::Span<const HostTensor> x) -> HostTensors {
    return std::vector<HostTensor>{Suppress(x[0], x[1], how)};
  });
}

// --- Unique

// A tensor as slices along an axis, which are the units of comparison.
struct Slices {
  int64_t count = 0;
  int64_t outer = 1;
  int64_t inner = 1;

  // Flat position of element `e` of slice `s`.
  int64_t At(int64_t s, int64_t e) const { return (e / inner * count + s) * inner + e % inner; }
  int64_t elements() const { return outer * inner; }
};

// Returns a number below, equal to or above 0. NaN comes last and equals itself.
int CompareElements(const HostTensor& x, int64_t a, int64_t b) {
  if (!IsFloat(x.type())) {
    const int64_t u = x.GetInt(a);
    const int64_t v = x.GetInt(b);
    if (x.type() == DataType::kUInt64) {
      return static_cast<uint64_t>(u) < static_cast<uint64_t>(v) ? -1 : u != v;
    }
    return u < v ? -1 : u > v;
  }
  const double u = x.GetDouble(a);
  const double v = x.GetDouble(b);
  if (std::isnan(u) || std::isnan(v)) return static_cast<int>(std::isnan(u)) - std::isnan(v);
  return u < v ? -1 : u > v;
}

int CompareSlices(const HostTensor& x, const Slices& slices, int64_t a, int64_t b) {
  for (int64_t e = 0; e < slices.elements(); ++e) {
    const int order = CompareElements(x, slices.At(a, e), slices.At(b, e));
    if (order != 0) return order;
  }
  return 0;
}

// Results: the unique slices (in the shape `dims` along `axis`), the first position of each, the
// unique slice of every slice, and the counts.
std::vector<HostTensor> FindUnique(const HostTensor& x, const Slices& slices, int64_t axis,
                                   bool sorted) {
  std::vector<int64_t> order(static_cast<size_t>(slices.count));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return CompareSlices(x, slices, a, b) < 0; });
  std::vector<std::vector<int64_t>> groups;  // equal slices, ascending
  for (int64_t s : order) {
    if (groups.empty() || CompareSlices(x, slices, groups.back()[0], s) != 0) groups.push_back({});
    groups.back().push_back(s);
  }
  if (!sorted) {
    std::sort(groups.begin(), groups.end(),
              [](const auto& a, const auto& b) { return a[0] < b[0]; });
  }
  const int64_t count = static_cast<int64_t>(groups.size());
  std::vector<int64_t> first;
  std::vector<int64_t> counts;
  std::vector<int64_t> inverse(order.size());
  for (size_t g = 0; g < groups.size(); ++g) {
    first.push_back(groups[g][0]);
    counts.push_back(static_cast<int64_t>(groups[g].size()));
    for (int64_t s : groups[g]) inverse[static_cast<size_t>(s)] = static_cast<int64_t>(g);
  }
  TensorShape shape = x.shape();
  if (axis < 0) {
    shape.dims = {count};
  } else {
    shape.dims[static_cast<size_t>(axis)] = count;
  }
  const size_t width = static_cast<size_t>(ByteWidth(x.type()));
  std::vector<uint8_t> bytes(static_cast<size_t>(shape.byte_size()));
  const Slices made{count, slices.outer, slices.inner};
  for (int64_t g = 0; g < count; ++g) {
    for (int64_t e = 0; e < slices.elements(); ++e) {
      std::memcpy(&bytes[static_cast<size_t>(made.At(g, e)) * width],
                  x.bytes().data() +
                      static_cast<size_t>(slices.At(first[static_cast<size_t>(g)], e)) * width,
                  width);
    }
  }
  return {HostTensor(shape, bytes), HostInts({count}, first), HostInts({slices.count}, inverse),
          HostInts({count}, counts)};
}

// Strings are compared through their positions in a sorted list.
OutputValues Unique(NodeContext& context) {
  const Tensor& x = context.input(0);
  if (!x.defined()) return Invalid("operand 0 is not a tensor");
  TARTAN_ASSIGN_OR_RETURN(const int64_t sorted, context.Int("sorted", 1));
  Slices slices{x.shape().element_count(), 1, 1};
  int64_t axis = -1;
  if (context.HasAttribute("axis")) {
    TARTAN_ASSIGN_OR_RETURN(axis, context.Int("axis"));
    TARTAN_ASSIGN_OR_RETURN(axis, NormalAxis(axis, x.rank()));
    slices.count = x.dims()[static_cast<size_t>(axis)];
    for (int64_t d = 0; d < x.rank(); ++d) {
      if (d != axis) (d < axis ? slices.outer : slices.inner) *= x.dims()[static_cast<size_t>(d)];
    }
  }
  TARTAN_ASSIGN_OR_RETURN(
      const std::vector<Tensor> results,
      context.RunOnHost({x}, [=](absl::Span<const HostTensor> operands) -> HostTensors {
        return FindUnique(operands[0], slices, axis, sorted != 0);
      }));
  return std::vector<Value>{context.value(0).With(results[0]), results[1], results[2], results[3]};
}

constexpr OperatorRow kOperators[] = {
    {"NonMaxSuppression", 10, {2, 5}, NonMaxSuppression, HostOperands(2, 3, 4)},
    ValueRow("Unique", 11, {1, 1}, Unique),
};

}  // namespace

absl::Span<const OperatorRow> DataDependentOperators() { return kOperators; }

}  // namespace tartan::onnx
