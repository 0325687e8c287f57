// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/graph/ctc_loss.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/train/graph/class_losses.h"
#include "frontend/train/graph/loss_terms.h"
#include "frontend/train/graph/tile_text.h"

namespace tartan::train {
namespace {

// The logarithm of 0. It is finite so that differences of two such values are numbers.
constexpr double kLogZero = -1e30;

struct Sizes {
  int64_t rows, frames, classes, labels;
  int64_t states() const { return 2 * labels + 1; }
  std::string OfStates() const { return absl::StrCat(rows, ", ", states()); }
  std::string OfLabels() const { return absl::StrCat(rows, ", ", labels); }
};

// Appends LAB, the labels; COUNT, their number per row; FRAMES, the number of frames per row; and
// VALID, whether all of these are in range.
void AppendLabels(const Loss& loss, const Sizes& sizes, std::vector<std::string>* statements) {
  const int64_t first = loss.lengths.empty() ? 0 : 1;
  const std::string rows = absl::StrCat(sizes.rows);
  statements->insert(
      statements->end(),
      {absl::StrCat("LAB[n, s : ", sizes.OfLabels(), "] = =(T[n, s + ", first, "])"),
       absl::StrCat(
           "ENDS = LAB == ", loss.blank,
           loss.ignore_index.has_value() ? absl::StrCat(" || LAB == ", *loss.ignore_index) : ""),
       absl::StrCat("PLACE = ENDS ? index(LAB, 1) : ", sizes.labels),
       absl::StrCat("COUNT[n : ", rows, "] = <(PLACE[n, s])"),
       absl::StrCat("COUNTS = reshape(COUNT, ", rows, ", 1)"),
       absl::StrCat("WRONG = index(LAB, 1) < COUNTS && (LAB < 0 || LAB >= ", sizes.classes,
                    ") ? as_float(1, 32) : as_float(0, 32)"),
       absl::StrCat("WRONGS[n : ", rows, "] = +(WRONG[n, s])")});
  if (loss.lengths.empty()) {
    statements->push_back("VALID = WRONGS == 0");
    return;
  }
  statements->insert(
      statements->end(),
      {absl::StrCat("FRAMES[n : ", rows, "] = =(T[n, 0])"),
       absl::StrCat("FRAMECOUNTS = reshape(FRAMES, ", rows, ", 1)"),
       absl::StrCat("VALID = WRONGS == 0 && FRAMES >= 0 && FRAMES <= ", sizes.frames)});
}

// Appends EMIT[n, t, s], the log-probability of state s at frame t, and SKIPS[n, s], whether state
// s may follow state s - 2. States are blank, label 0, blank, label 1, …, blank.
void AppendStates(const Loss& loss, const Sizes& sizes, std::vector<std::string>* statements) {
  const std::string by_time = absl::StrCat(sizes.rows, ", ", sizes.frames, ", ");
  statements->insert(
      statements->end(),
      {absl::StrCat("SAFE = LAB < 0 || LAB >= ", sizes.classes, " ? ", loss.blank, " : LAB"),
       absl::StrCat("PLACES[n, t, s : ", by_time, sizes.labels, "] = =(SAFE[n, s])"),
       "OFLABELS = gather_elements(LOGP, PLACES, 2)",
       absl::StrCat("LABELS[n, t, 2*s + 1 : ", by_time, sizes.states(), "] = =(OFLABELS[n, t, s])"),
       absl::StrCat("BLANKS[n, t, 2*s : ", by_time, sizes.states(), "] = =(LOGP[n, t, ", loss.blank,
                    "]), s < ", sizes.labels + 1),
       "EMIT = LABELS + BLANKS",
       absl::StrCat("BEFORE[n, s : ", sizes.OfLabels(), "] = =(LAB[n, s - 1])"),
       "SKIP = LAB != BEFORE && index(LAB, 1) > 0 ? as_float(1, 32) : as_float(0, 32)",
       absl::StrCat("SKIPPED[n, 2*s + 1 : ", sizes.OfStates(), "] = =(SKIP[n, s])"),
       "SKIPS = SKIPPED > 0", absl::StrCat("ZERO1 = ", Number(kLogZero)),
       absl::StrCat("ZERO[n, s : ", sizes.OfStates(), "] = +(ZERO1[])"),
       // Before the first frame only the first blank has been reached.
       absl::StrCat("A0 = index(ZERO, 1) == 0 ? ", Number(0), " : ZERO")});
}

// Appends A(t + 1), the log-probabilities of the states after frame t.
void AppendFrame(const Loss& loss, const Sizes& sizes, int64_t t,
                 std::vector<std::string>* statements) {
  const std::string before = absl::StrCat("A", t);
  const std::string after = absl::StrCat("A", t + 1);
  const auto shifted = [&](const std::string& name, int64_t by) {
    return absl::StrCat(name, t, "[n, s : ", sizes.OfStates(), "] = =(", before, "[n, s - ", by,
                        "]) default ZERO");
  };
  statements->insert(
      statements->end(),
      {shifted("ONE", 1), shifted("TWO", 2),
       absl::StrCat("JUMP", t, " = SKIPS ? TWO", t, " : ZERO"),
       absl::StrCat("M", t, " = stop_gradient(max(", before, ", max(ONE", t, ", JUMP", t, ")))"),
       absl::StrCat("AT", t, "[n, s : ", sizes.OfStates(), "] = =(EMIT[n, ", t, ", s])"),
       absl::StrCat("NEXT", t, " = M", t, " + AT", t, " + log(exp(", before, " - M", t,
                    ") + exp(ONE", t, " - M", t, ") + exp(JUMP", t, " - M", t, "))"),
       loss.lengths.empty()
           ? absl::StrCat(after, " = NEXT", t)
           : absl::StrCat(after, " = FRAMECOUNTS > ", t, " ? NEXT", t, " : ", before)});
}

}  // namespace

absl::StatusOr<LossTerms> CtcLoss(const Loss& loss, const api::Tensor& output,
                                  const api::Tensor& target) {
  if (output.rank() != 3 || target.rank() != 2 || !IsInteger(target.type())) {
    return DoNotFit(loss, output, target,
                    "expected scores [N, T, C] and integer class indices [N, S]");
  }
  const int64_t lengths = loss.lengths.empty() ? 0 : 1;
  const Sizes sizes = {target.dims()[0], output.dims()[static_cast<size_t>(loss.time_axis)],
                       output.dims()[2], target.dims()[1] - lengths};
  if (output.dims()[static_cast<size_t>(1 - loss.time_axis)] != sizes.rows) {
    return DoNotFit(
        loss, output, target,
        absl::StrCat("they have different numbers of examples; the time axis is ", loss.time_axis));
  }
  if (sizes.labels < 1) return DoNotFit(loss, output, target, "a row has no label");
  if (loss.blank >= sizes.classes) {
    return DoNotFit(loss, output, target, absl::StrCat("the blank ", loss.blank, " is no class"));
  }
  std::vector<std::string> statements = {
      loss.time_axis == 1 ? std::string("Y = X")
                          : absl::StrCat("Y[n, t, c : ", sizes.rows, ", ", sizes.frames, ", ",
                                         sizes.classes, "] = =(X[t, n, c])")};
  for (std::string& statement :
       ScoreForm({sizes.rows, sizes.frames, sizes.classes}, 2).LogSoftmax()) {
    statements.push_back(std::move(statement));
  }
  AppendLabels(loss, sizes, &statements);
  AppendStates(loss, sizes, &statements);
  for (int64_t t = 0; t < sizes.frames; ++t) AppendFrame(loss, sizes, t, &statements);
  const std::string last = absl::StrCat("A", sizes.frames);
  const std::string rows = absl::StrCat(sizes.rows);
  statements.insert(
      statements.end(),
      {absl::StrCat("IS = index(ZERO, 1) == 2 * COUNTS || index(ZERO, 1) == 2 * COUNTS - 1"),
       absl::StrCat("V = IS ? ", last, " : ZERO"), absl::StrCat("MV1[n : ", rows, "] = >(V[n, s])"),
       "MV = stop_gradient(MV1)", absl::StrCat("EV = exp(V - reshape(MV, ", rows, ", 1))"),
       absl::StrCat("SV[n : ", rows, "] = +(EV[n, s])"),
       "DIVISOR = as_float(COUNT > 1 ? COUNT : 1, 32)",
       absl::StrCat("NUM = VALID && MV > ", Number(kLogZero / 2), " ? -(MV + log(SV)) / DIVISOR : ",
                    loss.zero_infinity ? Number(0) : std::string("inf()"))});
  AppendRepeated("DEN", sizes.rows, 1, &statements);
  return ApplyTerms({"X", "T"}, statements, {output, target}, Name(loss.kind));
}

}  // namespace tartan::train
