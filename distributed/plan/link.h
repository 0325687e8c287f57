// SPDX-License-Identifier: Apache-2.0
// Links between devices, and which links a group of devices uses.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tartan::plan_cluster {

// A link in one direction. Sending b bytes takes latency_s + b / bytes_per_s.
struct Link {
  double latency_s = 0;    // seconds per message
  double bytes_per_s = 0;  // bandwidth in bytes per second

  double Send(double bytes) const { return latency_s + bytes / bytes_per_s; }
};

// Parses BANDWIDTH[:LATENCY], such as "400Gb" (gigabits per second), "900GB:2us" (gigabytes per
// second) or "25Gb:0.1ms". K, M, G and T are powers of 1000. Without a latency, `latency_s` is
// used. InvalidArgument for other texts and for bandwidths that are not positive.
absl::StatusOr<Link> ParseLink(absl::string_view text, double latency_s);

// Parses a duration such as "3us", "20ms", "90s", "15min", "6h" or "30d" as seconds.
// InvalidArgument for other texts and for durations that are not positive.
absl::StatusOr<double> ParseDuration(absl::string_view text);

// A group of devices that communicate. Each device has a link of its own to the other hosts.
struct Group {
  int64_t size = 1;
  int64_t per_host = 1;  // members on one host
  Link inside;           // between devices of a host
  Link between;          // between hosts

  int64_t hosts() const { return (size + per_host - 1) / per_host; }
  // The slowest link that a ring over the group uses.
  Link slowest() const;
};

// Hosts with equal numbers of devices.
struct Cluster {
  int64_t devices = 1;
  int64_t per_host = 8;
  Link inside;
  Link between;

  // `size` devices at distance `stride`: 1 for adjacent devices, t for one device out of each group
  // of t adjacent ones.
  Group GroupOf(int64_t size, int64_t stride) const;
};

}  // namespace tartan::plan_cluster
