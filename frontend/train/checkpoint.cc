// SPDX-License-Identifier: Apache-2.0
// Checkpoint file format: kMagic, the header length (8 bytes, little-endian), the header digest (32
// characters), the header (proto/checkpoint.proto), the tensors.
#include "frontend/train/checkpoint.h"

#include <cstring>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "proto/checkpoint.pb.h"
#include "tile/base/digest.h"
#include "tile/base/mapped_file.h"
#include "tile/base/out_of_memory.h"
#include "tile/base/status_macros.h"
#include "tile/base/write_file.h"

namespace tartan::train {
namespace {

constexpr absl::string_view kMagic = "tartan checkpoint 2\n";
constexpr absl::string_view kFirstMagic = "tartan checkpoint 1\n";
constexpr size_t kLengthBytes = 8;
constexpr size_t kDigestBytes = 32;
constexpr size_t kPreamble = kMagic.size() + kLengthBytes + kDigestBytes;

absl::string_view AsText(absl::Span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string LengthText(size_t length) {
  std::string text;
  for (size_t b = 0; b < kLengthBytes; ++b) text.push_back(static_cast<char>(length >> (8 * b)));
  return text;
}

size_t LengthIn(absl::string_view text) {
  size_t length = 0;
  for (size_t b = kLengthBytes; b-- > 0;) length = length << 8 | static_cast<uint8_t>(text[b]);
  return length;
}

absl::Status Damaged(const std::string& path, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", why));
}

absl::Status ReadTensors(const std::string& path, const proto::CheckpointHeader& header,
                         absl::string_view data, std::map<std::string, HostTensor>* tensors) {
  for (const proto::CheckpointHeader::Tensor& stored : header.tensors()) {
    TensorShape shape;
    shape.type = static_cast<DataType>(stored.shape().type());
    shape.dims.assign(stored.shape().dims().begin(), stored.shape().dims().end());
    if (shape.type == DataType::kInvalid || !CheckShape(shape).ok())
      return Damaged(path, "the checkpoint is damaged");
    const auto size = static_cast<size_t>(shape.byte_size());
    const auto offset = static_cast<size_t>(stored.offset());
    if (offset > data.size() || size > data.size() - offset)
      return Damaged(path, "the checkpoint is truncated");
    const absl::string_view bytes = data.substr(offset, size);
    if (Digest(bytes) != stored.digest()) {
      return Damaged(path, absl::StrCat("the checkpoint is damaged in '", stored.name(), "'"));
    }
    (*tensors)[stored.name()] =
        HostTensor(shape, {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status WriteCheckpoint(const std::string& path, const Checkpoint& checkpoint) {
  return CatchOutOfMemory([&]() -> absl::Status {
    proto::CheckpointHeader header;
    for (const RunFact& fact : checkpoint.facts) {
      proto::CheckpointHeader::Fact* stored = header.add_facts();
      stored->set_name(fact.name);
      stored->set_value(fact.value);
    }
    header.set_step(checkpoint.state.step);
    header.set_batches(checkpoint.state.batches);
    header.set_batch_size(checkpoint.run.batch_size);
    header.set_steps_ahead(checkpoint.run.steps_ahead);
    header.set_epoch(checkpoint.run.next.epoch);
    header.set_step_in_epoch(checkpoint.run.next.step);
    header.set_has_best(checkpoint.run.best.has_value());
    header.set_best(checkpoint.run.best.value_or(0));
    header.set_epochs_since_best(checkpoint.run.epochs_since_best);
    const Plateau& plateau = checkpoint.run.plateau;
    header.mutable_plateau()->set_share(plateau.share);
    header.mutable_plateau()->set_best(plateau.best);
    header.mutable_plateau()->set_bad_epochs(plateau.bad_epochs);
    std::vector<absl::string_view> tensors;
    int64_t offset = 0;
    for (const auto& [name, value] : checkpoint.state.tensors) {
      proto::CheckpointHeader::Tensor* stored = header.add_tensors();
      tensors.push_back(AsText(value.bytes()));
      stored->set_name(name);
      stored->mutable_shape()->set_type(static_cast<proto::DataType>(value.type()));
      for (int64_t dim : value.shape().dims) stored->mutable_shape()->add_dims(dim);
      stored->set_offset(offset);
      stored->set_digest(Digest(tensors.back()));
      offset += static_cast<int64_t>(tensors.back().size());
    }
    const std::string text = header.SerializeAsString();
    const std::string length = LengthText(text.size());
    const std::string digest = Digest(text);
    std::vector<absl::string_view> pieces = {kMagic, length, digest, text};
    pieces.insert(pieces.end(), tensors.begin(), tensors.end());
    return WriteFile(path, pieces);
  });
}

absl::StatusOr<Checkpoint> ReadCheckpoint(const std::string& path) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<Checkpoint> {
    TARTAN_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
    absl::string_view rest = AsText(file->bytes());
    if (absl::StartsWith(rest, kFirstMagic))
      return Damaged(path,
                     "this checkpoint has format 1, and this version of Tartan reads format 2");
    if (rest.size() < kPreamble || rest.substr(0, kMagic.size()) != kMagic)
      return Damaged(path, "this is not a checkpoint of Tartan");
    const size_t length = LengthIn(rest.substr(kMagic.size()));
    const absl::string_view digest = rest.substr(kMagic.size() + kLengthBytes, kDigestBytes);
    rest.remove_prefix(kPreamble);
    if (length > rest.size()) return Damaged(path, "the checkpoint is truncated");
    const absl::string_view text = rest.substr(0, length);
    proto::CheckpointHeader header;
    if (Digest(text) != digest ||
        !header.ParseFromArray(text.data(), static_cast<int>(text.size())))
      return Damaged(path, "the checkpoint is damaged");
    Checkpoint checkpoint;
    for (const proto::CheckpointHeader::Fact& fact : header.facts())
      checkpoint.facts.push_back({fact.name(), fact.value()});
    checkpoint.state.step = header.step();
    checkpoint.state.batches = header.batches();
    checkpoint.run.batch_size = header.batch_size();
    checkpoint.run.steps_ahead = header.steps_ahead();
    checkpoint.run.next = {header.epoch(), header.step_in_epoch()};
    if (header.has_best()) checkpoint.run.best = header.best();
    checkpoint.run.epochs_since_best = header.epochs_since_best();
    checkpoint.run.plateau.share = header.plateau().share();
    checkpoint.run.plateau.best = header.plateau().best();
    checkpoint.run.plateau.bad_epochs = header.plateau().bad_epochs();
    TARTAN_RETURN_IF_ERROR(
        ReadTensors(path, header, rest.substr(length), &checkpoint.state.tensors));
    return checkpoint;
  });
}

}  // namespace tartan::train
