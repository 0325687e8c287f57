// SPDX-License-Identifier: Apache-2.0
#include "tile/codegen/write_kernel.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tile/base/match.h"
#include "tile/codegen/checked_places.h"
#include "tile/codegen/group_functions.h"
#include "tile/codegen/item_functions.h"
#include "tile/codegen/known_forms.h"
#include "tile/codegen/mask_widths.h"

namespace tartan::codegen {
namespace {

using loop::ExprPtr;
using loop::StmtPtr;
using loop::Type;

struct Memory {
  MemorySpace space;
  int lanes;
};

// Writes one kernel; its state is the indentation and the memory in scope.
class Writer {
 public:
  explicit Writer(const Dialect& dialect) : dialect_(dialect), checks_(dialect) {}

  std::string Write(const loop::Kernel& kernel) {
    for (const std::string& line : kernel.comments) absl::StrAppend(&text_, "// ", line, "\n");
    for (const loop::Parameter& parameter : kernel.parameters) {
      memory_[parameter.name] = Memory{MemorySpace::kGlobal, 1};
    }
    const std::string comments = std::exchange(text_, "");
    checks_.Begin(kernel);
    is_sized_ = kernel.sizes.size() > checks_.size_count();
    in_sequence_ = kernel.in_launch_batch;
    const bool is_group = in_sequence_ && dialect_.team_barrier != nullptr;
    if (is_group) group_ = std::make_unique<GroupText>(kernel, dialect_);
    ++depth_;
    for (const loop::Size& size : kernel.sizes) {
      if (size.is_float) WriteFloatOfBits(size, kernel.index_type);
    }
    --depth_;
    WriteScope(kernel.body);
    std::vector<std::string> parameters;
    for (const loop::Parameter& parameter : kernel.parameters) {
      parameters.push_back(WriteParameter(parameter));
    }
    for (const loop::Size& size : kernel.sizes) {
      parameters.push_back(absl::StrCat("const ", dialect_.type_name(Type{kernel.index_type, 1}),
                                        " ", ParameterName(size)));
    }
    const std::string listed = absl::StrJoin(parameters, ", ");
    if (group_ != nullptr) return absl::StrCat(comments, group_->Write(listed, text_));
    const std::string functions =
        in_sequence_ ? WriteItemFunctions(kernel, listed, text_, dialect_) : "";
    return absl::StrCat(comments, functions, dialect_.kernel_qualifier, " ",
                        dialect_.attributes(kernel), "void ", kernel.name, "(", listed, ") {\n",
                        in_sequence_ ? WriteItemCall(kernel, dialect_) : text_, "}\n");
  }

 private:
  void WriteFloatOfBits(const loop::Size& size, DataType index_type) {
    Line(absl::StrCat("const ", dialect_.type_name(size.type(index_type)), " ", size.name, " = ",
                      dialect_.float_of_bits(ParameterName(size)).text, ";"));
  }

  // Call after the body is written.
  std::string WriteParameter(const loop::Parameter& parameter) const {
    // Compilers move reads through a restricted pointer across barriers, because no other item is
    // supposed to write there. In a launch batch they might also read through a constant cache,
    // which does not see what previous launches wrote.
    const bool is_restricted = group_ == nullptr && (!parameter.is_output || !hands_on_);
    return absl::StrCat(PointerTo(parameter, dialect_),
                        is_restricted ? dialect_.restrict_qualifier : "", parameter.name);
  }

  void Line(absl::string_view line) {
    text_.append(2 * depth_, ' ');
    absl::StrAppend(&text_, line, "\n");
  }

  void Statement(absl::string_view text) { Line(absl::StrCat(text, ";")); }

  // Writes statements one level deeper.
  void WriteScope(const StmtPtr& stmt) {
    ++depth_;
    WriteStmt(stmt);
    --depth_;
  }

  void WriteStmt(const StmtPtr& stmt) {
    if (stmt == nullptr) return;
    Match(
        stmt->node,
        [&](const loop::Block& block) {
          for (const StmtPtr& child : block.statements) WriteStmt(child);
        },
        [&](const loop::Declare& declare) { WriteDeclare(declare); },
        [&](const loop::DeclareArray& array) { WriteArray(array); },
        [&](const loop::Assign& assign) { WriteAssign(assign); },
        [&](const loop::Store& store) { WriteStore(store); },
        [&](const loop::For& loop) { WriteFor(loop); },
        [&](const loop::If& branch) { WriteIf(branch, "if ("); },
        [&](const loop::Barrier& barrier) {
          hands_on_ |= barrier.is_global;
          if (barrier.for_mma) Line(dialect_.mma_fence);
          const std::string& alone = barrier.is_global ? dialect_.global_barrier : dialect_.barrier;
          Line(group_ != nullptr ? group_->Barrier() : alone);
        },
        [&](const loop::AtomicUpdate& update) {
          Place place = MakePlace(update.buffer, update.stored, update.index);
          checks_.Check("1", update.index->type, &place);
          Statement(
              dialect_.atomic_update(place, update.op, update.value->type, Print(update.value)));
        },
        [&](const loop::Prefetch& prefetch) {
          Statement(dialect_.prefetch(MakePlace(prefetch.buffer, prefetch.stored, prefetch.index),
                                      prefetch.into_second_cache_only));
        },
        [&](const loop::CopyVector& copy) { WriteCopy(copy); },
        [&](const loop::EndCopies&) { Statement(dialect_.end_copies); },
        [&](const loop::AwaitCopies& await) { Statement(dialect_.await_copies(await.pending)); },
        [&](const loop::MultiplyTiles& product) {
          if (group_ != nullptr) group_->UseMma();
          Statement(dialect_.multiply_tiles(product, PlaceOf(product.accumulators),
                                            PlaceOf(product.left), PlaceOf(product.right)));
        },
        [&](const loop::AwaitTiles&) { Statement(dialect_.await_tiles); },
        [&](const loop::Early& early) {
          if (group_ == nullptr) return WritePart("{", early.body);
          WritePart(group_->BeginEarly(), early.body, group_->EndEarly());
        },
        [&](const loop::Once& once) {
          WritePart("{", once.body);
          if (group_ != nullptr) absl::StrAppend(&text_, group_->BeginLaunches(depth_++));
        },
        [&](const loop::Fetch& fetch) {
          WritePart(group_ == nullptr ? "{" : group_->BeginFetch(fetch), fetch.body);
        },
        [&](const loop::Comment& comment) { Line(absl::StrCat("// ", comment.text)); });
  }

  void WriteStore(const loop::Store& store) {
    Place place = MakePlace(store.buffer, store.stored, store.index, store.is_aligned);
    checks_.Check(absl::StrCat(store.value->type.lanes), store.index->type, &place);
    place.is_streamed = store.is_streamed;
    place.rounds_to_tf32 = store.rounds_to_tf32;
    Statement(dialect_.store(place, store.value->type, Print(store.value)));
  }

  void WriteCopy(const loop::CopyVector& copy) {
    const Code count = copy.count == nullptr ? Code{} : Print(copy.count);
    const std::string lanes = absl::StrCat(copy.to->type.lanes);
    Place to = PlaceOf(copy.to);
    Place from = PlaceOf(copy.from);
    checks_.Check(lanes, std::get<loop::Load>(copy.to->node).index->type, &to);
    checks_.Check(copy.count == nullptr ? lanes : count.text,
                  std::get<loop::Load>(copy.from->node).index->type, &from);
    Statement(dialect_.copy_vector(to, from, count));
  }

  void WriteDeclare(const loop::Declare& declare) {
    const std::string head =
        absl::StrCat(declare.is_mutable || declare.value == nullptr ? "" : "const ",
                     dialect_.type_name(declare.type), " ", declare.name);
    NoteData(declare.name, declare.is_mutable);
    if (declare.value == nullptr) return Line(absl::StrCat(head, ";"));
    const Code value = Print(declare.value);
    NoteData(declare.name, declare.is_mutable || value.is_data);
    Line(absl::StrCat(head, " = ", value.text, ";"));
  }

  void NoteData(const std::string& name, bool is_data) {
    if (is_data) {
      data_.insert(name);
    } else {
      data_.erase(name);
    }
  }

  void WriteArray(const loop::DeclareArray& array) {
    const bool local = array.space == loop::Space::kLocal;
    memory_[array.name] = {local ? MemorySpace::kLocal : MemorySpace::kPrivate, array.type.lanes};
    checks_.Add(array);
    Line(local && group_ != nullptr ? group_->DeclareLocal(array) : ArrayText(array, dialect_));
  }

  // Writes statements in a block between the lines `begin` and `end`.
  void WritePart(absl::string_view begin, const StmtPtr& body, absl::string_view end = "}") {
    Line(begin);
    WriteScope(body);
    Line(end);
  }

  void WriteAssign(const loop::Assign& assign) {
    if (const auto update = AsUpdate(assign)) {
      return Line(absl::StrCat(assign.name, update->sign, Print(update->value).text, ";"));
    }
    Line(absl::StrCat(assign.name, " = ", Print(assign.value).text, ";"));
  }

  void WriteFor(const loop::For& loop) {
    if (loop.unroll && !dialect_.unroll.empty()) Line(UnrollOf(loop, dialect_));
    if (!loop.unroll && is_sized_ && !dialect_.keep_loop.empty()) Line(dialect_.keep_loop);
    const std::string step =
        loop.step == 1 ? absl::StrCat("++", loop.name) : absl::StrCat(loop.name, " += ", loop.step);
    const Code begin = Print(loop.begin);
    NoteData(loop.name, begin.is_data);
    Line(absl::StrCat("for (", dialect_.type_name(loop.end->type), " ", loop.name, " = ",
                      begin.text, "; ", loop.name, " < ",
                      Parenthesized(Print(loop.end), Precedence::kShift), "; ", step, ") {"));
    WriteScope(loop.body);
    Line("}");
  }

  void WriteIf(const loop::If& branch, absl::string_view head) {
    Line(absl::StrCat(head, Print(branch.condition).text, ") {"));
    WriteScope(branch.then);
    if (branch.otherwise == nullptr) return Line("}");
    if (const auto* chained = std::get_if<loop::If>(&branch.otherwise->node)) {
      return WriteIf(*chained, "} else if (");
    }
    Line("} else {");
    WriteScope(branch.otherwise);
    Line("}");
  }

  Place MakePlace(const std::string& buffer, DataType stored, const ExprPtr& index,
                  bool is_aligned = false) {
    const auto found = memory_.find(buffer);
    const Memory memory = found == memory_.end() ? Memory{MemorySpace::kGlobal, 1} : found->second;
    return Place{buffer,
                 stored,
                 memory.lanes,
                 memory.space,
                 Print(index),
                 is_aligned,
                 /*is_streamed=*/false,
                 /*rounds_to_tf32=*/false};
  }

  // The place of a Load.
  Place PlaceOf(const ExprPtr& expr) {
    const auto& load = std::get<loop::Load>(expr->node);
    return MakePlace(load.buffer, load.stored, load.index, load.is_aligned);
  }

  Code Print(const ExprPtr& expr) {
    const Type& type = expr->type;
    return Match(
        expr->node,
        [&](const loop::IntLiteral& literal) { return dialect_.int_literal(literal.value, type); },
        [&](const loop::FloatLiteral& literal) {
          return dialect_.float_literal(literal.value, type);
        },
        [&](const loop::Variable& variable) {
          return Marked(Code{variable.name}, data_.count(variable.name) > 0);
        },
        [&](const loop::Load& load) {
          Place place = MakePlace(load.buffer, load.stored, load.index, load.is_aligned);
          checks_.Check(absl::StrCat(type.lanes), load.index->type, &place);
          return Marked(dialect_.load(place, type), true);
        },
        [&](const loop::Apply& apply) { return PrintApply(apply, type); },
        [&](const loop::MultiplyAdd& sum) {
          const Code a = Print(sum.a);
          const Code b = Print(sum.b);
          const Code accumulator = Print(sum.accumulator);
          return Marked(dialect_.multiply_add(a, b, accumulator, type),
                        a.is_data || b.is_data || accumulator.is_data);
        },
        [&](const loop::WorkIndex& work) { return PrintWorkIndex(work, type); },
        [&](const loop::Lane& lane) {
          const Code vector = Print(lane.vector);
          return Marked(dialect_.lane(vector, lane.lane), vector.is_data);
        },
        [&](const loop::Shuffle& shuffle) {
          const Code a = Print(shuffle.a);
          const Code b = Print(shuffle.b);
          return Marked(dialect_.shuffle(a, b, shuffle.lanes, type), a.is_data || b.is_data);
        });
  }

  Code PrintWorkIndex(const loop::WorkIndex& work, const Type& type) const {
    if (group_ != nullptr) return group_->WorkIndex(work, type);
    if (!in_sequence_) return dialect_.work_index(work.id, work.dimension, type.element);
    if (work.id == loop::WorkId::kLocal) return dialect_.int_literal(0, type);
    return Code{absl::StrCat("(", dialect_.type_name(type), ")", kItem[work.dimension]),
                Precedence::kUnary};
  }

  static Code Marked(Code code, bool is_data) {
    code.is_data = is_data;
    return code;
  }

  Code PrintApply(const loop::Apply& apply, const Type& type) {
    const ExprPtr& first = apply.operands[0];
    if (IsMask(type)) return PrintMask(apply, type, MaskWidthsOf(apply).greatest);
    if (apply.op == ScalarOp::kAdd) {
      for (size_t i = 0; i < 2; ++i) {
        const loop::Apply* dot = AsDot(apply.operands[i]);
        if (dot == nullptr) continue;
        return Marked(
            dialect_.dot_and_add(dot->op, Print(dot->operands[0]), Print(dot->operands[1]),
                                 Print(apply.operands[1 - i]), type),
            true);
      }
    }
    if (const auto few = AsFloatOfBits(apply, type); few && dialect_.float_of_bits_from) {
      return Marked(dialect_.float_of_bits_from(Print(few->word), few->shift, few->bits, type),
                    true);
    }
    std::vector<Code> operands;
    bool is_data = IsFloat(apply.operands.back()->type.element);
    for (const ExprPtr& operand : apply.operands) {
      operands.push_back(IsMask(operand->type) ? PrintMask(operand, ByteWidth(type.element))
                                               : Print(operand));
      is_data = is_data || operands.back().is_data;
    }
    if (!IsMask(first->type)) {
      return Marked(dialect_.apply(apply.op, first->type, type, operands), is_data);
    }
    if (apply.op == ScalarOp::kCast) {
      operands.push_back(PrintNumber(1, type));
      operands.push_back(PrintNumber(0, type));
    }
    return Marked(dialect_.apply(ScalarOp::kSelect, MaskType(ByteWidth(type.element), type.lanes),
                                 type, operands),
                  is_data);
  }

  Code PrintNumber(int64_t value, const Type& type) {
    return IsFloat(type.element) ? dialect_.float_literal(static_cast<double>(value), type)
                                 : dialect_.int_literal(value, type);
  }

  // Prints a vector condition as a mask of `width` bytes per lane.
  Code PrintMask(const ExprPtr& expr, int64_t width) {
    if (const auto* apply = std::get_if<loop::Apply>(&expr->node)) {
      return PrintMask(*apply, expr->type, width);
    }
    const bool is_true = std::get<loop::IntLiteral>(expr->node).value != 0;
    return dialect_.int_literal(is_true ? -1 : 0, MaskType(width, expr->type.lanes));
  }

  Code PrintMask(const loop::Apply& apply, const Type& type, int64_t width) {
    const MaskWidths widths = MaskWidthsOf(apply);
    // Conditions of equal width are combined before they are converted.
    const int64_t own = widths.least == widths.greatest ? widths.least : width;
    bool is_comparison = true;
    std::vector<Code> operands;
    for (const ExprPtr& operand : apply.operands) {
      const bool is_mask = IsMask(operand->type);
      operands.push_back(is_mask ? PrintMask(operand, own) : Print(operand));
      is_comparison = is_comparison && !is_mask;
    }
    const Type mask = MaskType(own, type.lanes);
    const Type& compared = apply.operands[0]->type;  // a scalar condition may select between masks
    const bool is_of_masks = !is_comparison && IsMask(compared);
    const Code code = dialect_.apply(apply.op, is_of_masks ? mask : compared, type, operands);
    if (own == width) return Marked(code, true);
    return Marked(dialect_.apply(ScalarOp::kCast, mask, MaskType(width, type.lanes), {{code}}),
                  true);
  }

  const Dialect& dialect_;
  std::string text_;
  // work-items read what other items of their work-group have written to memory
  bool hands_on_ = false;
  int depth_ = 0;
  // Loop lengths are sizes: unrolling them would only cost compile time.
  bool is_sized_ = false;
  bool in_sequence_ = false;
  CheckedPlaces checks_;
  std::unique_ptr<GroupText> group_;  // null outside launch batches of work-groups
  std::map<std::string, Memory> memory_;
  std::set<std::string> data_;  // variables whose value may come from memory
};

}  // namespace

std::string Parenthesized(const Code& code, Precedence least) {
  return code.precedence < least ? absl::StrCat("(", code.text, ")") : code.text;
}

std::string WriteKernel(const loop::Kernel& kernel, const Dialect& dialect) {
  return Writer(dialect).Write(kernel);
}

}  // namespace tartan::codegen
