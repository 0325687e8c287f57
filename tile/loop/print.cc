// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tile/base/match.h"
#include "tile/loop/loop_ir.h"

namespace tartan::loop {
namespace {

absl::string_view InfixSign(ScalarOp op) {
  switch (op) {
    case ScalarOp::kAdd:
      return "+";
    case ScalarOp::kSub:
      return "-";
    case ScalarOp::kMul:
      return "*";
    case ScalarOp::kDiv:
      return "/";
    case ScalarOp::kLogicalAnd:
      return "and";
    case ScalarOp::kLogicalOr:
      return "or";
    case ScalarOp::kEqual:
      return "==";
    case ScalarOp::kNotEqual:
      return "!=";
    case ScalarOp::kLess:
      return "<";
    case ScalarOp::kLessEqual:
      return "<=";
    case ScalarOp::kGreater:
      return ">";
    case ScalarOp::kGreaterEqual:
      return ">=";
    default:
      return "";
  }
}

absl::string_view WorkName(WorkId id) {
  switch (id) {
    case WorkId::kGlobal:
      return "global_id";
    case WorkId::kGroup:
      return "group_id";
    case WorkId::kLocal:
      return "local_id";
  }
  return "";
}

std::string ApplyToString(const Apply& apply, const Type& type) {
  std::vector<std::string> operands;
  for (const ExprPtr& operand : apply.operands) operands.push_back(ToString(operand));
  if (apply.op == ScalarOp::kCast) return absl::StrCat(ToString(type), "(", operands[0], ")");
  const absl::string_view sign = InfixSign(apply.op);
  if (!sign.empty()) return absl::StrCat("(", operands[0], " ", sign, " ", operands[1], ")");
  return absl::StrCat(tartan::Name(apply.op), "(", absl::StrJoin(operands, ", "), ")");
}

// buffer[index], followed by the stored type and the expression's type if they differ, and the
// lanes.
std::string LoadToString(const Load& load, const Type& type) {
  std::string text = absl::StrCat(load.buffer, "[", ToString(load.index), "]");
  if (load.stored != type.element) absl::StrAppend(&text, ":", tartan::Name(load.stored));
  if (type.element != ComputeType(load.stored)) {
    absl::StrAppend(&text, " as ", tartan::Name(type.element), " ");
  }
  if (type.lanes > 1) absl::StrAppend(&text, "x", type.lanes);
  if (load.is_aligned) absl::StrAppend(&text, " aligned");
  return text;
}

// The type of a constant unless it is int32 or float32, and the lanes of a vector.
std::string LiteralSuffix(const Type& type) {
  const bool is_usual = type.element == DataType::kInt32 || type.element == DataType::kFloat32;
  return absl::StrCat(is_usual ? "" : ":", is_usual ? "" : tartan::Name(type.element),
                      type.lanes == 1 ? "" : absl::StrCat("x", type.lanes));
}

class StatementPrinter {
 public:
  void Print(const StmtPtr& stmt) {
    if (stmt == nullptr) return;
    Match(
        stmt->node,
        [&](const Block& block) {
          for (const StmtPtr& child : block.statements) Print(child);
        },
        [&](const Declare& declare) {
          Line(declare.is_mutable ? "var " : "let ", declare.name, ": ", ToString(declare.type),
               declare.value == nullptr ? "" : absl::StrCat(" = ", ToString(declare.value)));
        },
        [&](const DeclareArray& array) { PrintArray(array); },
        [&](const Assign& assign) { Line(assign.name, " = ", ToString(assign.value)); },
        [&](const Store& store) { PrintStore(store); },
        [&](const For& loop) {
          Line("for ", loop.name, " in ", ToString(loop.begin), " .. ", ToString(loop.end),
               loop.step == 1 ? "" : absl::StrCat(" step ", loop.step),
               loop.unroll ? " unrolled" : "");
          PrintInside(loop.body);
        },
        [&](const If& branch) {
          Line("if ", ToString(branch.condition));
          PrintInside(branch.then);
          if (branch.otherwise == nullptr) return;
          Line("else");
          PrintInside(branch.otherwise);
        },
        [&](const Barrier& barrier) {
          Line(barrier.is_global ? "global barrier" : "barrier",
               barrier.for_mma ? " for tensor cores" : "");
        },
        [&](const AtomicUpdate& update) {
          Line("atomic ", update.buffer, "[", ToString(update.index),
               "]:", tartan::Name(update.stored), " = ", tartan::Name(update.op), "(old, ",
               ToString(update.value), ")");
        },
        [&](const Prefetch& prefetch) {
          Line(prefetch.into_second_cache_only ? "prefetch for later " : "prefetch ",
               prefetch.buffer, "[", ToString(prefetch.index), "]:", tartan::Name(prefetch.stored));
        },
        [&](const CopyVector& copy) {
          Line("copy ", ToString(copy.to), " = ", ToString(copy.from),
               copy.count == nullptr ? "" : absl::StrCat(" of ", ToString(copy.count)));
        },
        [&](const EndCopies&) { Line("end copies"); },
        [&](const AwaitCopies& await) { Line("await copies but ", await.pending); },
        [&](const MultiplyTiles& product) { PrintProduct(product); },
        [&](const AwaitTiles&) { Line("await tiles"); },
        [&](const Early& early) { PrintPart("early", early.body); },
        [&](const Once& once) { PrintPart("once", once.body); },
        [&](const Fetch& fetch) {
          PrintPart(absl::StrCat("unless ", ToString(fetch.input), " was ", ToString(fetch.output)),
                    fetch.body);
        },
        [&](const Comment& comment) { Line("// ", comment.text); });
  }

  void PrintArray(const DeclareArray& array) {
    Line(array.space == Space::kLocal ? "local " : "array ", array.name, ": ", ToString(array.type),
         "[", array.size, "]", array.over.empty() ? "" : absl::StrCat(" over ", array.over),
         array.alignment == 0 ? "" : absl::StrCat(" aligned to ", array.alignment));
  }

  void PrintStore(const Store& store) {
    Line(store.buffer, "[", ToString(store.index), "]:", tartan::Name(store.stored),
         store.is_aligned ? " aligned" : "", store.is_streamed ? " streamed" : "",
         store.rounds_to_tf32 ? " tf32" : "", " = ", ToString(store.value));
  }

  void PrintProduct(const MultiplyTiles& product) {
    Line("multiply tiles ", ToString(product.accumulators), " += ", ToString(product.left),
         product.left_along_rows ? " along rows" : "", " * ", ToString(product.right),
         product.right_along_columns ? " along columns" : "", " in ", tartan::Name(product.format),
         ", ", product.columns, " columns");
  }

  void PrintPart(const std::string& heading, const StmtPtr& body) {
    Line(heading);
    PrintInside(body);
  }

  void PrintInside(const StmtPtr& stmt) {
    ++depth_;
    Print(stmt);
    --depth_;
  }

  template <class... Parts>
  void Line(const Parts&... parts) {
    text_.append(2 * depth_, ' ');
    absl::StrAppend(&text_, parts..., "\n");
  }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
  int depth_ = 0;
};

}  // namespace

std::string ToString(const Type& type) {
  return type.lanes == 1 ? std::string(Name(type.element))
                         : absl::StrCat(Name(type.element), "x", type.lanes);
}

std::string ToString(const ExprPtr& expr) {
  const Type& type = expr->type;
  return Match(
      expr->node,
      [&](const IntLiteral& literal) { return absl::StrCat(literal.value, LiteralSuffix(type)); },
      [&](const FloatLiteral& literal) {
        const int digits = type.element == DataType::kFloat64 ? 17 : 9;
        std::string text = absl::StrFormat("%.*g", digits, literal.value);
        if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
        return absl::StrCat(text, LiteralSuffix(type));
      },
      [](const Variable& variable) { return variable.name; },
      [&](const Load& load) { return LoadToString(load, type); },
      [&](const Apply& apply) { return ApplyToString(apply, type); },
      [](const MultiplyAdd& sum) {
        return absl::StrCat("(", ToString(sum.accumulator), " + ", ToString(sum.a), " * ",
                            ToString(sum.b), ")");
      },
      [&](const WorkIndex& work) {
        return absl::StrCat(WorkName(work.id), "(", work.dimension, ")", LiteralSuffix(type));
      },
      [](const Lane& lane) { return absl::StrCat(ToString(lane.vector), ".", lane.lane); },
      [](const Shuffle& shuffle) {
        return absl::StrCat("shuffle(", ToString(shuffle.a), ", ", ToString(shuffle.b), "; ",
                            absl::StrJoin(shuffle.lanes, " "), ")");
      });
}

std::string ToString(const Kernel& kernel) {
  StatementPrinter printer;
  for (const std::string& comment : kernel.comments) printer.Line("// ", comment);
  printer.Line("kernel ", kernel.name, ": global [", absl::StrJoin(kernel.global_size, ", "),
               "], local [", absl::StrJoin(kernel.local_size, ", "), "], index ",
               Name(kernel.index_type));
  for (const Parameter& parameter : kernel.parameters) {
    printer.Line(parameter.is_output ? "  output " : "  input ", parameter.name, ": ",
                 Name(parameter.stored));
  }
  for (const Size& size : kernel.sizes) {
    printer.Line(size.is_float ? "  bits of " : "  size ", size.name, " = ", size.value);
  }
  printer.PrintInside(kernel.body);
  return printer.text();
}

}  // namespace tartan::loop
