// SPDX-License-Identifier: Apache-2.0
#include "frontend/bench/peer_engine.h"

#include <dlfcn.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/bench/peer.h"
#include "tile/base/status_macros.h"

namespace tartan::bench {
namespace {

struct PeerLibrary {
  absl::string_view engine;
  absl::string_view library;
};

constexpr PeerLibrary kPeers[] = {
    {"onednn", "onednn"},
    {"onednn-auto", "onednn"},
    {"openblas", "openblas"},
    {"clblast", "clblast"},
};

// The folder of the running program, where the build puts the shared objects.
std::string ProgramFolder() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  if (length <= 0) return ".";
  const std::string program(path, static_cast<size_t>(length));
  return program.substr(0, program.rfind('/'));
}

absl::StatusOr<MakePeerRun> LoadPeer(absl::string_view library) {
  std::string path = absl::StrCat(ProgramFolder(), "/tartan_bench_", library, ".so");
  // Tests and benchmarks are one folder deeper.
  if (access(path.c_str(), R_OK) != 0) {
    path = absl::StrCat(ProgramFolder(), "/../tartan_bench_", library, ".so");
  }
  if (access(path.c_str(), R_OK) != 0) {
    return absl::NotFoundError(absl::StrCat("this build has no ", library, " (no ", path,
                                            "); bench/README.md lists its requirements"));
  }
  // Never closed, because the libraries leave threads running.
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return absl::NotFoundError(dlerror());
  void* symbol = dlsym(handle, "TartanMakePeerRun");
  if (symbol == nullptr) return absl::NotFoundError(dlerror());
  return reinterpret_cast<MakePeerRun>(symbol);
}

class PeerEngine : public Engine {
 public:
  PeerEngine(std::string name, TensorShape result, std::vector<HostTensor> values,
             std::unique_ptr<PeerRun> run)
      : name_(std::move(name)),
        result_(std::move(result)),
        values_(std::move(values)),
        run_(std::move(run)) {}

  const std::string& name() const override { return name_; }

  absl::Status Run(int64_t count) override { return Check(run_->Run(count)); }

  absl::StatusOr<HostTensor> Output() override {
    std::vector<float> output(static_cast<size_t>(result_.element_count()));
    TARTAN_RETURN_IF_ERROR(Check(run_->Read(output.data())));
    return HostTensor::FromVector(result_, output);
  }

 private:
  absl::Status Check(const std::string& error) const {
    if (error.empty()) return absl::OkStatus();
    return absl::InternalError(absl::StrCat(name_, ": ", error));
  }

  const std::string name_;
  const TensorShape result_;
  const std::vector<HostTensor> values_;
  const std::unique_ptr<PeerRun> run_;
};

}  // namespace

std::vector<std::string> PeerNames() {
  std::vector<std::string> names;
  for (const PeerLibrary& peer : kPeers) names.emplace_back(peer.engine);
  return names;
}

absl::StatusOr<std::unique_ptr<Engine>> MakePeerEngine(absl::string_view name,
                                                       const Problem& problem,
                                                       const TensorShape& result,
                                                       absl::Span<const HostTensor> values,
                                                       const hal::DeviceInfo& device) {
  const PeerLibrary* peer = nullptr;
  for (const PeerLibrary& known : kPeers) {
    if (known.engine == name) peer = &known;
  }
  if (peer == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("there is no engine '", name, "'; there are ",
                                                   absl::StrJoin(PeerNames(), ", ")));
  }
  TARTAN_ASSIGN_OR_RETURN(const MakePeerRun make, LoadPeer(peer->library));
  if (result.type != DataType::kFloat32) return std::unique_ptr<Engine>();
  PeerRequest request;
  request.engine = std::string(name);
  request.problem = &problem;
  for (const HostTensor& value : values) {
    const bool is_float = value.type() == DataType::kFloat32;
    request.inputs.push_back(is_float ? reinterpret_cast<const float*>(value.bytes().data())
                                      : nullptr);
  }
  request.platform = device.platform;
  request.device = device.name;
  std::string error;
  std::unique_ptr<PeerRun> run(make(request, &error));
  if (!error.empty()) return absl::InternalError(absl::StrCat(name, ": ", error));
  if (run == nullptr) return std::unique_ptr<Engine>();
  return std::unique_ptr<Engine>(std::make_unique<PeerEngine>(
      request.engine, result, std::vector<HostTensor>(values.begin(), values.end()),
      std::move(run)));
}

}  // namespace tartan::bench
