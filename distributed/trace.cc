// SPDX-License-Identifier: Apache-2.0
#include "distributed/trace.h"

#include <chrono>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace tartan::distributed {
namespace {

constexpr size_t kMostSpans = 200000;
constexpr const char* kLanes[] = {"device", "communication", "training", "updates"};

}  // namespace

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void Trace::Add(Lane lane, const char* name, int64_t start_ns, int64_t end_ns) {
  if (spans_.size() < kMostSpans) spans_.push_back({lane, name, start_ns, end_ns});
}

std::string Trace::EventsOf(int64_t rank) const {
  std::vector<std::string> events = {absl::StrFormat(
      R"({"name":"process_name","ph":"M","pid":%d,"args":{"name":"rank %d"}})", rank, rank)};
  for (size_t lane = 0; lane < std::size(kLanes); ++lane) {
    events.push_back(
        absl::StrFormat(R"({"name":"thread_name","ph":"M","pid":%d,"tid":%d,"args":{"name":"%s"}})",
                        rank, lane, kLanes[lane]));
  }
  for (const Span& span : spans_) {
    events.push_back(absl::StrFormat(
        R"({"name":"%s","ph":"X","pid":%d,"tid":%d,"ts":%.3f,"dur":%.3f})", span.name, rank,
        static_cast<int>(span.lane), static_cast<double>(span.start_ns - start_ns_) * 1e-3,
        static_cast<double>(span.end_ns - span.start_ns) * 1e-3));
  }
  return absl::StrJoin(events, ",\n");
}

std::string TraceDocument(const std::vector<std::string>& events) {
  return absl::StrCat("{\"traceEvents\":[\n", absl::StrJoin(events, ",\n"), "\n]}\n");
}

}  // namespace tartan::distributed
