// SPDX-License-Identifier: Apache-2.0
#include "tile/codegen/group_functions.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tile/codegen/item_functions.h"
#include "tile/loop/launch_batches.h"
#include "tile/loop/local_memory.h"

namespace tartan::codegen {
namespace {

using loop::Type;

// Variable names that no kernel statement uses.
constexpr const char* kPool = "work_pool";
constexpr const char* kTeam = "work_team";
constexpr const char* kWorkItem = "work_item";
constexpr const char* kPhase = "work_phase";
// Variables of the loop over a batch of launches:
// - kLaunch, kLaunches: the number of the current launch, and the number of launches;
// - kArguments, kNext: the arguments of the current launch, and of the next one in the table;
// - kStride: the table's stride between launches;
// - kAhead: the word of the next arguments that the work-item has preloaded.
constexpr const char* kLaunch = "work_launch";
constexpr const char* kLaunches = "work_launches";
constexpr const char* kArguments = "work_arguments";
constexpr const char* kNext = "work_next";
constexpr const char* kStride = "work_stride";
constexpr const char* kAhead = "work_ahead";
constexpr const char* kGroup[3] = {"work_group_x", "work_group_y", "work_group_z"};

int64_t RoundUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

const std::string& BufferOf(const loop::ExprPtr& load) {
  return std::get<loop::Load>(load->node).buffer;
}

// The variables with the address of an output in this launch and in the previous one.
std::string PlaceNow(const std::string& output) { return absl::StrCat("work_at_", output); }
std::string PlaceBefore(const std::string& output) { return absl::StrCat("work_before_", output); }

}  // namespace

int64_t GroupText::Items() const {
  return kernel_.local_size[0] * kernel_.local_size[1] * kernel_.local_size[2];
}

Code GroupText::ItemIndex(int dimension) const {
  const int64_t size = kernel_.local_size[dimension];
  if (size == 1) return Code{"0"};
  if (size == Items()) return Code{kWorkItem};
  int64_t inner = 1;
  for (int d = 0; d < dimension; ++d) inner *= kernel_.local_size[d];
  return Code{absl::StrCat(kWorkItem, " / ", inner, " % ", size), Precedence::kMultiplicative};
}

Code GroupText::WorkIndex(const loop::WorkIndex& work, const Type& type) const {
  const Code item = ItemIndex(work.dimension);
  const Code group = {kGroup[work.dimension]};
  const std::string type_name = dialect_.type_name(type);
  const auto cast = [&](const Code& code) {
    return Code{absl::StrCat("(", type_name, ")", Parenthesized(code, Precedence::kUnary)),
                Precedence::kUnary};
  };
  if (work.id == loop::WorkId::kLocal) return cast(item);
  if (work.id == loop::WorkId::kGroup) return cast(group);
  return Code{absl::StrCat(cast(group).text, " * ", kernel_.local_size[work.dimension], " + ",
                           Parenthesized(item, Precedence::kAdditive)),
              Precedence::kAdditive};
}

std::string GroupText::Barrier() const { return dialect_.team_barrier(Items()); }

std::string GroupText::DeclareLocal(const loop::DeclareArray& array) {
  const std::string pointer = absl::StrCat(
      dialect_.local_space, dialect_.stored_type_name(array.type, MemorySpace::kLocal), "*");
  if (!array.over.empty()) {
    return absl::StrCat(pointer, " const ", array.name, " = (", pointer, ")", array.over, ";");
  }
  const int64_t alignment = loop::LocalAlignment(array);
  const int64_t begin = RoundUp(local_bytes_, alignment);
  alignment_ = std::max(alignment_, alignment);
  local_bytes_ = RoundUp(begin + loop::LocalBytes(array), alignment_);
  return absl::StrCat(pointer, " const ", array.name, " = (", pointer, ")(", kPool, " + ", begin,
                      ");");
}

std::string GroupText::BeginEarly() {
  has_early_ = true;
  return absl::StrCat("if (", kPhase, " != 2) {");
}

std::string GroupText::EndEarly() const { return absl::StrCat("} if (", kPhase, " == 1) return;"); }

std::string GroupText::DeclareArguments(int depth) const {
  const std::vector<std::string> values = ArgumentsOfTable(kernel_, dialect_, kArguments);
  std::vector<std::string> names;
  for (const loop::Parameter& parameter : kernel_.parameters) {
    names.push_back(absl::StrCat(PointerTo(parameter, dialect_), "const ", parameter.name));
  }
  const std::string number = dialect_.type_name(Type{kernel_.index_type, 1});
  for (const loop::Size& size : kernel_.sizes) {
    names.push_back(absl::StrCat("const ", number, " ", ParameterName(size)));
  }
  std::string text;
  for (size_t a = 0; a < names.size(); ++a) {
    absl::StrAppend(&text, std::string(2 * depth, ' '), names[a], " = ", values[a], ";\n");
  }
  return text;
}

std::string GroupText::BeginLaunches(int depth) {
  has_runs_ = true;
  const std::string indent(2 * depth, ' ');
  const std::string address = dialect_.type_name(Type{DataType::kUInt64, 1});
  const std::string number = dialect_.type_name(Type{DataType::kInt32, 1});
  std::string text;
  for (const std::string& output : loop::ForwardedOutputs(kernel_)) {
    absl::StrAppend(&text, indent, address, " ", PlaceBefore(output), " = 0;\n");
  }
  absl::StrAppend(&text, indent, "for (", number, " ", kLaunch, " = 1; ", kLaunch,
                  " <= ", kLaunches, "; ++", kLaunch, ") {\n", DeclareArguments(depth + 1));
  for (const std::string& output : loop::ForwardedOutputs(kernel_)) {
    absl::StrAppend(&text, indent, "  const ", address, " ", PlaceNow(output), " = ",
                    WordOf(output), ";\n");
  }
  // The word is loaded long before it is needed, to hide the latency.
  absl::StrAppend(&text, indent, "  const ", address, " ", kAhead, " = ", HasWord(), " ? ", kNext,
                  "[(", kLaunch, " - 1) * ", kStride, " + ", kWorkItem, "] : 0;\n");
  return text;
}

std::string GroupText::BeginFetch(const loop::Fetch& fetch) const {
  return absl::StrCat("if (", WordOf(BufferOf(fetch.input)),
                      " != ", PlaceBefore(BufferOf(fetch.output)), ") {");
}

std::string GroupText::WordOf(const std::string& parameter) const {
  size_t number = 0;
  while (kernel_.parameters[number].name != parameter) ++number;
  return absl::StrCat(kArguments, "[", number, "]");
}

std::string GroupText::HasWord() const {
  return absl::StrCat(kLaunch, " < ", kLaunches, " && ", kWorkItem, " < ",
                      kernel_.parameters.size());
}

// The next arguments replace the current ones, which all work-items have read: the launch's
// statements contain a barrier.
std::string GroupText::EndLaunches() const {
  std::string text;
  for (const std::string& output : loop::ForwardedOutputs(kernel_)) {
    absl::StrAppend(&text, "    ", PlaceBefore(output), " = ", PlaceNow(output), ";\n");
  }
  return absl::StrCat(text, "    if (", HasWord(), ") ", kArguments, "[", kWorkItem, "] = ", kAhead,
                      ";\n    ", Barrier(), "\n  }\n");
}

std::string GroupText::Write(absl::string_view parameters, absl::string_view body) const {
  const std::string number = dialect_.type_name(Type{DataType::kInt32, 1});
  const std::string address = dialect_.type_name(Type{DataType::kUInt64, 1});
  std::vector<std::string> all = {std::string(parameters)};
  if (has_runs_) all = {absl::StrCat(dialect_.local_space, address, "* ", kArguments)};
  all.push_back(absl::StrCat(dialect_.local_space, dialect_.type_name(Type{DataType::kUInt8, 1}),
                             "* ", kPool));
  for (const char* name : {kPhase, kTeam, kWorkItem, kGroup[0], kGroup[1], kGroup[2]}) {
    if (name == kPhase && !has_early_) continue;
    all.push_back(absl::StrCat("const ", number, " ", name));
  }
  if (has_runs_) {
    all.push_back(
        absl::StrCat(dialect_.global_space, dialect_.constant_qualifier, address, "* ", kNext));
    for (const char* name : {kStride, kLaunches}) {
      all.push_back(absl::StrCat("const ", number, " ", name));
    }
  }
  return absl::StrCat("enum { ", kernel_.name, "_team = ", Items(), ", ", kernel_.name,
                      "_local = ", local_bytes_, ", ", kernel_.name, "_align = ", alignment_, ", ",
                      kernel_.name, "_early = ", int{has_early_}, " };\n", qualifier_, "void ",
                      kernel_.name, "_group(", absl::StrJoin(all, ", "), ") {\n",
                      has_runs_ ? DeclareArguments(1) : "", body, has_runs_ ? EndLaunches() : "",
                      "}\n", WriteGroups(), WriteEntryPoint(parameters));
}

std::string GroupText::WriteGroups() const {
  const std::string address = dialect_.type_name(Type{DataType::kUInt64, 1});
  const std::string byte = dialect_.type_name(Type{DataType::kUInt8, 1});
  const std::string number = dialect_.type_name(Type{DataType::kInt32, 1});
  std::vector<std::string> arguments = {"arguments"};
  if (!has_runs_) arguments = ArgumentsOfTable(kernel_, dialect_);
  // Most grids have one dimension, and integer divisions are slow.
  for (const char* argument :
       {kPool, kPhase, kTeam, kWorkItem, "group < width ? group : group % width",
        "group < width ? 0 : group / width % height",
        "group < width ? 0 : group / width / height"}) {
    if (argument != kPhase || has_early_) arguments.emplace_back(argument);
  }
  if (has_runs_) {
    for (const char* argument : {"next", "stride", "launches"}) arguments.emplace_back(argument);
  }
  const std::string constant = has_runs_ ? "" : dialect_.constant_qualifier;
  const std::string run =
      has_runs_ ? absl::StrCat(", ", dialect_.global_space, dialect_.constant_qualifier, address,
                               "* next, ", number, " stride, ", number, " launches")
                : "";
  // The next work-group uses the same local memory.
  const std::string wait =
      local_bytes_ > 0 ? absl::StrCat("    ", dialect_.team_barrier(Items()), "\n") : "";
  const std::string early =
      has_early_ ? absl::StrCat("    if (", kPhase, " == 1) return;\n    ", kPhase, " = 0;\n") : "";
  return absl::StrCat(qualifier_, "void ", kernel_.name, "_groups(", dialect_.local_space, constant,
                      address, "* arguments, ", dialect_.local_space, byte, "* ", kPool, ", ",
                      number, " ", kPhase, ", ", number, " ", kTeam, ", ", number, " ", kWorkItem,
                      ", ", number, " group, ", number, " end, ", number, " step, ", number,
                      " width, ", number, " height", run,
                      ") {\n  for (; group < end; group += step) {\n    ", kernel_.name, "_group(",
                      absl::StrJoin(arguments, ", "), ");\n", early, wait, "  }\n}\n");
}

std::string GroupText::WriteEntryPoint(absl::string_view parameters) const {
  const auto index = [&](loop::WorkId id, int dimension) {
    return dialect_.work_index(id, dimension, DataType::kInt32).text;
  };
  std::vector<std::string> names;
  for (const loop::Parameter& parameter : kernel_.parameters) names.push_back(parameter.name);
  for (const loop::Size& size : kernel_.sizes) names.push_back(ParameterName(size));
  std::vector<std::string> arguments = {kArguments};
  if (!has_runs_) arguments = names;
  arguments.emplace_back(local_bytes_ > 0 ? kPool : "0");
  if (has_early_) arguments.emplace_back("0");  // phase
  arguments.emplace_back("0");                  // team
  const auto& [x, y, z] = kernel_.local_size;
  std::string item = index(loop::WorkId::kLocal, 0);
  if (y > 1) absl::StrAppend(&item, " + ", x, " * ", index(loop::WorkId::kLocal, 1));
  if (z > 1) absl::StrAppend(&item, " + ", x * y, " * ", index(loop::WorkId::kLocal, 2));
  arguments.push_back(item);
  for (int d = 0; d < 3; ++d) arguments.push_back(index(loop::WorkId::kGroup, d));
  if (has_runs_) {  // a single launch without a table
    for (const char* argument : {"0", "0", "1"}) arguments.emplace_back(argument);
  }
  const std::string pool =
      local_bytes_ == 0
          ? ""
          : absl::StrCat("  ", dialect_.local_space, dialect_.type_name(Type{DataType::kUInt8, 1}),
                         " ", kPool, "[", local_bytes_, "]", dialect_.aligned_to(alignment_),
                         ";\n");
  return absl::StrCat(dialect_.kernel_qualifier, " ", dialect_.attributes(kernel_), "void ",
                      kernel_.name, "(", parameters, ") {\n", pool,
                      has_runs_ ? WriteTable(names, item) : "", "  ", kernel_.name, "_group(",
                      absl::StrJoin(arguments, ", "), ");\n}\n");
}

std::string GroupText::WriteTable(const std::vector<std::string>& names,
                                  const std::string& item) const {
  const std::string address = dialect_.type_name(Type{DataType::kUInt64, 1});
  std::string text = absl::StrCat("  ", dialect_.local_space, address, " ", kArguments, "[",
                                  names.size(), "];\n  if (", item, " == 0) {\n");
  for (size_t a = 0; a < names.size(); ++a) {
    absl::StrAppend(&text, "    ", kArguments, "[", a, "] = (", address, ")", names[a], ";\n");
  }
  return absl::StrCat(text, "  }\n  ", dialect_.barrier, "\n");
}

}  // namespace tartan::codegen
