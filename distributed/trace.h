// SPDX-License-Identifier: Apache-2.0
// A time line of each rank in the trace event format of Chrome and Perfetto.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tartan::distributed {

// Nanoseconds of the clock of hal::Timing of communicators.
int64_t NowNs();

class Trace {
 public:
  enum Lane { kDevice, kCommunication, kTraining, kUpdates };

  // Times are relative to `start_ns`, which all ranks take at the same moment.
  explicit Trace(int64_t start_ns) : start_ns_(start_ns) {}

  // Later spans than the first 200,000 are left out.
  void Add(Lane lane, const char* name, int64_t start_ns, int64_t end_ns);
  // The events, without the brackets of the list, of this rank.
  std::string EventsOf(int64_t rank) const;

 private:
  struct Span {
    Lane lane;
    const char* name;
    int64_t start_ns;
    int64_t end_ns;
  };
  int64_t start_ns_;
  std::vector<Span> spans_;
};

// The trace of all ranks, from the events of each.
std::string TraceDocument(const std::vector<std::string>& events);

}  // namespace tartan::distributed
