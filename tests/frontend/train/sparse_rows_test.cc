// SPDX-License-Identifier: Apache-2.0
// Tests embeddings that are updated by rows, against formulas in float64 and dense updates.
#include "frontend/train/graph/sparse_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/train/trainer.h"
#include "tests/frontend/onnx/model_text.h"
#include "tests/frontend/train/training_models.h"

namespace tartan::train::sparse_rows_test {
namespace {

using onnx::NodeText;
using onnx::ValueText;
using testing::HasSubstr;

constexpr int64_t kRows = 40;
constexpr int64_t kWidth = 6;
constexpr int64_t kResults = 3;
constexpr double kRate = 0.05;

// y = table[ids] w, and more nodes.
std::string Graph(const std::string& more = "", int64_t rows = kRows) {
  return absl::StrCat("graph { name: 'rows' ", ValueText("input", "ids", 7, "2 4"),
                      " output { name: 'y' } ", InitializerText("table", {rows, kWidth}, 21),
                      InitializerText("w", {kWidth, kResults}, 22),
                      NodeText("Gather", {"table", "ids"}, {"rows"}),
                      NodeText("MatMul", {"rows", "w"}, {more.empty() ? "y" : "z"}), more, "}");
}

// Ids of a batch: some occur twice, one counts from the end.
std::vector<int64_t> Ids(int step) { return {3 + step, 7, 3 + step, -1, 11, 7, 7, 2 * step}; }

HostTensor IdTensor(int step) {
  return HostTensor::FromVector({DataType::kInt64, {2, 4}}, Ids(step));
}

HostTensor Target(int step) {
  return Floats({2, 4, kResults}, Numbers(8 * kResults, 30 + static_cast<uint64_t>(step)));
}

TrainerOptions OptionsOf(OptimizerKind kind, bool is_sparse = true) {
  TrainerOptions options;
  options.loss.kind = LossKind::kMse;
  options.optimizer.kind = kind;
  options.rules.frozen = "w";
  options.sparse_embeddings = is_sparse;
  return options;
}

std::vector<double> ToDoubles(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

// Rows of the table with the averages of lazy Adam, in float64.
struct LazyAdam {
  std::vector<double> table = ToDoubles(Numbers(kRows * kWidth, 21));
  std::vector<double> w = ToDoubles(Numbers(kWidth * kResults, 22));
  std::vector<double> momentum = std::vector<double>(kRows * kWidth);
  std::vector<double> square = std::vector<double>(kRows * kWidth);
  double decay = 0;

  void Step(int step) {
    std::vector<double> gradient(kRows * kWidth);
    std::set<int64_t> read;
    const std::vector<int64_t> ids = Ids(step);
    const HostTensor target = Target(step);
    for (int64_t n = 0; n < 8; ++n) {
      const int64_t id = ids[n] < 0 ? ids[n] + kRows : ids[n];
      read.insert(id);
      for (int64_t r = 0; r < kResults; ++r) {
        double y = 0;
        for (int64_t i = 0; i < kWidth; ++i) y += table[id * kWidth + i] * w[i * kResults + r];
        const double slope = 2 * (y - target.GetDouble(n * kResults + r)) / (8 * kResults);
        for (int64_t i = 0; i < kWidth; ++i)
          gradient[id * kWidth + i] += slope * w[i * kResults + r];
      }
    }
    const double c1 = 1 - std::pow(0.9, step + 1);
    const double c2 = 1 - std::pow(0.999, step + 1);
    for (const int64_t id : read) {
      for (int64_t e = id * kWidth; e < (id + 1) * kWidth; ++e) {
        momentum[e] = 0.9 * momentum[e] + 0.1 * gradient[e];
        square[e] = 0.999 * square[e] + 0.001 * gradient[e] * gradient[e];
        table[e] -= kRate * decay * table[e];
        table[e] -= kRate * momentum[e] / c1 / (std::sqrt(square[e] / c2) + 1e-8);
      }
    }
  }
};

class SparseRows : public DeviceTest {
 protected:
  std::unique_ptr<Trainer> Make(const TrainerOptions& options, const std::string& graph = Graph()) {
    const auto model = LoadToTrain(graph);
    EXPECT_TRUE(model.ok()) << model.status();
    auto trainer = Trainer::Create(*model, device_, options);
    EXPECT_TRUE(trainer.ok()) << trainer.status();
    return *std::move(trainer);
  }

  static void Train(Trainer& trainer, int first, int end) {
    for (int step = first; step < end; ++step) {
      ASSERT_EQ(trainer.Step({{"ids", IdTensor(step)}}, Target(step), kRate), absl::OkStatus());
      ASSERT_TRUE(trainer.Read().ok());
    }
  }

  static std::vector<double> Table(Trainer& trainer) {
    const auto values = trainer.Values();
    EXPECT_TRUE(values.ok()) << values.status();
    return values->at("table").ToDoubles();
  }

  std::string ErrorOf(const TrainerOptions& options, const std::string& graph) {
    const auto model = LoadToTrain(graph);
    EXPECT_TRUE(model.ok()) << model.status();
    const auto trainer = Trainer::Create(*model, device_, options);
    if (!trainer.ok()) return std::string(trainer.status().message());
    const absl::Status status = (*trainer)->Step({{"ids", IdTensor(0)}}, Target(0), kRate);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  }
};

TEST_F(SparseRows, FollowLazyAdam) {
  for (const double decay : {0.0, 0.1}) {
    TrainerOptions options = OptionsOf(decay == 0 ? OptimizerKind::kAdam : OptimizerKind::kAdamW);
    options.optimizer.decay = decay;
    const auto trainer = Make(options);
    LazyAdam expected;
    expected.decay = decay;
    for (int step = 0; step < 4; ++step) {
      Train(*trainer, step, step + 1);
      expected.Step(step);
      const std::vector<double> table = Table(*trainer);
      for (size_t e = 0; e < table.size(); ++e)
        EXPECT_NEAR(table[e], expected.table[e], 3e-6) << "step " << step << ", element " << e;
    }
  }
}

// Rows that no batch reads have no gradient, with which these optimisers do not change them.
TEST_F(SparseRows, ChangeAsInADenseUpdateOfTheseOptimizers) {
  for (const OptimizerKind kind : {OptimizerKind::kSgd, OptimizerKind::kAdagrad}) {
    const auto sparse = Make(OptionsOf(kind));
    const auto dense = Make(OptionsOf(kind, /*is_sparse=*/false));
    Train(*sparse, 0, 3);
    Train(*dense, 0, 3);
    const std::vector<double> expected = Table(*dense);
    const std::vector<double> table = Table(*sparse);
    for (size_t e = 0; e < table.size(); ++e) EXPECT_NEAR(table[e], expected[e], 1e-6) << e;
  }
}

TEST_F(SparseRows, ClipTheSumsOfEqualIds) {
  TrainerOptions options = OptionsOf(OptimizerKind::kSgd);
  options.clip_norm = 0.05;
  const auto sparse = Make(options);
  options.sparse_embeddings = false;
  const auto dense = Make(options);
  Train(*sparse, 0, 2);
  Train(*dense, 0, 2);
  const std::vector<double> expected = Table(*dense);
  const std::vector<double> table = Table(*sparse);
  for (size_t e = 0; e < table.size(); ++e) EXPECT_NEAR(table[e], expected[e], 1e-6) << e;
}

TEST_F(SparseRows, NeedNoMemoryForTheWholeTable) {
  constexpr int64_t kMany = 1 << 16;
  const auto trainer = Make(OptionsOf(OptimizerKind::kAdamW), Graph("", kMany));
  Train(*trainer, 0, 1);
  const Trainer::Memory memory = trainer->memory();
  EXPECT_GE(memory.state, 2 * kMany * kWidth * 4);
  // An int32 per row finds equal ids.
  EXPECT_LT(memory.scratch + memory.kept, kMany * 8);
}

TEST_F(SparseRows, ContinueFromASavedState) {
  const auto first = Make(OptionsOf(OptimizerKind::kAdamW));
  Train(*first, 0, 2);
  const auto state = first->Save();
  ASSERT_TRUE(state.ok()) << state.status();
  const auto second = Make(OptionsOf(OptimizerKind::kAdamW));
  ASSERT_EQ(second->Restore(*state), absl::OkStatus());
  Train(*first, 2, 4);
  Train(*second, 2, 4);
  EXPECT_EQ(Table(*first), Table(*second));
}

TEST_F(SparseRows, WorkWithValuesOf16Bits) {
  for (const Precision precision : {Precision::kBFloat16, Precision::kFloat16}) {
    TrainerOptions options = OptionsOf(OptimizerKind::kSgd);
    options.precision = precision;
    const auto sparse = Make(options);
    options.sparse_embeddings = false;
    const auto dense = Make(options);
    Train(*sparse, 0, 3);
    Train(*dense, 0, 3);
    const std::vector<double> expected = Table(*dense);
    const std::vector<double> table = Table(*sparse);
    // The sparse gradient of a row is not rounded to 16 bits.
    for (size_t e = 0; e < table.size(); ++e) EXPECT_NEAR(table[e], expected[e], 2e-4) << e;
    EXPECT_NE(table, ToDoubles(Numbers(kRows * kWidth, 21)));
  }
}

TEST_F(SparseRows, AreRefusedWhereUpdatesAreDense) {
  TrainerOptions options = OptionsOf(OptimizerKind::kMomentum);
  EXPECT_THAT(ErrorOf(options, Graph()), HasSubstr("momentum cannot update single rows"));
  options = OptionsOf(OptimizerKind::kAdamW);
  options.accumulate = 2;
  EXPECT_THAT(ErrorOf(options, Graph()), HasSubstr("accumulated gradients, which are dense"));
  options = OptionsOf(OptimizerKind::kAdamW);
  options.rules.frozen = "table";
  EXPECT_THAT(ErrorOf(options, Graph()), HasSubstr("no Gather reads rows of a trained parameter"));
}

TEST_F(SparseRows, AreRefusedForATableThatAnotherNodeReads) {
  const std::string more =
      NodeText("ReduceSum", {"table"}, {"all"}) + NodeText("Add", {"z", "all"}, {"y"});
  EXPECT_THAT(ErrorOf(OptionsOf(OptimizerKind::kAdamW), Graph(more)),
              HasSubstr("'table' cannot be updated by rows: its only reader"));
}

}  // namespace
}  // namespace tartan::train::sparse_rows_test
