// SPDX-License-Identifier: Apache-2.0
// Combines the kernels of a program with the definitions that they need.
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "tile/codegen/write_kernel.h"

namespace tartan::codegen {
namespace {

// The distinct identifiers of a program text, in order of appearance, without comments.
std::vector<std::string> Identifiers(absl::string_view text) {
  std::vector<std::string> result;
  std::set<absl::string_view> seen;
  const auto is_word = [&](size_t i) { return absl::ascii_isalnum(text[i]) || text[i] == '_'; };
  for (size_t i = 0; i < text.size();) {
    if (text.substr(i, 2) == "//") {
      while (i < text.size() && text[i] != '\n') ++i;
    } else if (is_word(i)) {
      const size_t begin = i;
      while (i < text.size() && is_word(i)) ++i;
      const absl::string_view word = text.substr(begin, i - begin);
      if (seen.insert(word).second) result.emplace_back(word);
    } else {
      ++i;
    }
  }
  return result;
}

// Appends the definitions that `text` needs, each after its own dependencies.
void AppendDefinitions(absl::string_view text, const Dialect& dialect,
                       std::set<std::string>* written, std::vector<std::string>* out) {
  for (const std::string& identifier : Identifiers(text)) {
    std::string definition = dialect.definition(identifier);
    if (definition.empty() || !written->insert(definition).second) continue;
    AppendDefinitions(definition, dialect, written, out);
    out->push_back(std::move(definition));
  }
}

}  // namespace

KernelText WriteKernelText(const loop::Kernel& kernel, const Dialect& dialect) {
  KernelText text;
  text.kernel = WriteKernel(kernel, dialect);
  std::set<std::string> written;
  AppendDefinitions(text.kernel, dialect, &written, &text.definitions);
  return text;
}

std::string PrologueOf(absl::Span<const KernelText* const> kernels, const Dialect& dialect) {
  std::string prologue = dialect.prologue;
  std::set<absl::string_view> written;
  for (const KernelText* kernel : kernels) {
    for (const std::string& definition : kernel->definitions) {
      if (written.insert(definition).second) absl::StrAppend(&prologue, definition);
    }
  }
  return prologue;
}

ProgramText WriteProgramParts(absl::Span<const loop::Kernel> kernels, const Dialect& dialect) {
  std::vector<KernelText> texts;
  texts.reserve(kernels.size());
  std::vector<const KernelText*> all;
  for (const loop::Kernel& kernel : kernels) {
    texts.push_back(WriteKernelText(kernel, dialect));
    all.push_back(&texts.back());
  }
  ProgramText text;
  text.prologue = PrologueOf(all, dialect);
  for (KernelText& kernel : texts) text.kernels.push_back(std::move(kernel.kernel));
  return text;
}

std::string WriteProgram(absl::Span<const loop::Kernel> kernels, const Dialect& dialect) {
  ProgramText text = WriteProgramParts(kernels, dialect);
  for (const std::string& kernel : text.kernels) absl::StrAppend(&text.prologue, "\n", kernel);
  return std::move(text.prologue);
}

}  // namespace tartan::codegen
