// SPDX-License-Identifier: Apache-2.0
// A fixture that trains on several ranks, which are threads here, and in one process.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "distributed/in_process.h"
#include "distributed/training/gradient_exchange.h"
#include "frontend/data/dataset.h"
#include "frontend/train/fit.h"
#include "tests/frontend/train/training_models.h"

namespace tartan::distributed {

struct Outcome {
  absl::Status status;
  std::vector<train::LogLine> lines;
  std::map<std::string, HostTensor> values;
  train::TrainingMemory memory;

  std::vector<double> losses() const {
    std::vector<double> losses;
    for (const train::LogLine& line : lines) losses.push_back(line.loss);
    return losses;
  }
};

class TrainOnRanks : public train::DeviceTest {
 protected:
  TrainOnRanks() {
    fit_.batch = 12;
    fit_.steps = 100;
    fit_.rate = 0.01;
    fit_.log_every = 1;
    trainer_.optimizer.kind = train::OptimizerKind::kAdamW;
  }

  // Trains the network of `graph_` on `rows_` examples as one rank; null: alone.
  Outcome TrainAs(std::shared_ptr<train::GradientExchange> exchange) const {
    train::TrainerOptions options = trainer_;
    if (exchange == nullptr) {  // one process keeps the whole state, and exchanges nothing
      options.shard = train::Shard::kNone;
      options.gradient_type = DataType::kFloat32;
    }
    Outcome outcome;
    // Each rank has a device with a queue of its own, as processes have.
    const auto device = api::Device::Open();
    const bool is_odd = exchange != nullptr && exchange->rank() == 1;
    const auto model =
        train::LoadToTrain(is_odd && !graph_of_rank_1_.empty() ? graph_of_rank_1_ : graph_);
    const auto data = data::DatasetOf(
        "data", {{"x", train::Images(rows_, 3)}, {"y", train::ClassesFor(rows_, 3)}});
    EXPECT_TRUE(device.ok() && model.ok() && data.ok()) << model.status();
    options.exchange = exchange;
    const auto trainer = train::Trainer::Create(*model, *device, options);
    EXPECT_TRUE(trainer.ok()) << trainer.status();
    train::FitHooks hooks;
    hooks.log = [&](const train::LogLine& line) { outcome.lines.push_back(line); };
    train::FitOptions fit = fit_;
    if (is_odd && seed_of_rank_1_.has_value()) fit.seed = *seed_of_rank_1_;
    outcome.status = train::Fit(**trainer, **model, *data, options, fit, hooks).status();
    if (exchange != nullptr) {
      if (outcome.status.ok()) {
        outcome.status = exchange->Finish();
      } else {
        exchange->Fail(outcome.status);
      }
    }
    if (outcome.status.ok()) outcome.values = *(*trainer)->Values();
    outcome.memory = (*trainer)->memory();
    return outcome;
  }

  virtual std::shared_ptr<train::GradientExchange> ExchangeOf(
      std::unique_ptr<HostTransport> transport) const {
    return MakeGradientExchange(std::move(transport));
  }

  std::vector<Outcome> TrainOn(int64_t ranks) const {
    std::vector<Outcome> outcomes(static_cast<size_t>(ranks));
    std::vector<std::thread> threads;
    auto transports = InProcessRanks(ranks);
    for (size_t rank = 0; rank < outcomes.size(); ++rank) {
      threads.emplace_back(
          [&, rank] { outcomes[rank] = TrainAs(ExchangeOf(std::move(transports[rank]))); });
    }
    for (std::thread& thread : threads) thread.join();
    return outcomes;
  }

  // Compares the loss of each step and the final parameters; returns the ranks' outcomes.
  std::vector<Outcome> CompareWithOneProcess(int64_t ranks, double tolerance = 1e-5) {
    const Outcome alone = TrainAs(nullptr);
    EXPECT_TRUE(alone.status.ok()) << alone.status;
    std::vector<Outcome> outcomes = TrainOn(ranks);
    for (const Outcome& rank : outcomes) {
      EXPECT_TRUE(rank.status.ok()) << rank.status;
      EXPECT_EQ(rank.lines.size(), alone.lines.size());
      for (size_t i = 0; i < std::min(rank.lines.size(), alone.lines.size()); ++i) {
        EXPECT_NEAR(rank.lines[i].loss, alone.lines[i].loss,
                    tolerance * std::abs(alone.lines[i].loss))
            << "step " << i;
      }
      for (const auto& [name, value] : alone.values) {
        const auto found = rank.values.find(name);
        if (found == rank.values.end()) continue;
        EXPECT_EQ(outcomes[0].values.at(name).ToDoubles(), found->second.ToDoubles()) << name;
        for (int64_t i = 0; i < value.element_count(); ++i)
          EXPECT_NEAR(found->second.GetDouble(i), value.GetDouble(i), 100 * tolerance) << name;
      }
    }
    return outcomes;
  }

  std::string graph_ = train::MlpText();
  int64_t rows_ = 60;
  train::TrainerOptions trainer_;
  train::FitOptions fit_;
  std::optional<uint64_t> seed_of_rank_1_;
  std::string graph_of_rank_1_;  // empty: graph_
};

}  // namespace tartan::distributed
