// SPDX-License-Identifier: Apache-2.0
// The C interface of the plug-in that calls MPI (mpi_plugin.cc). A program that is linked with the
// MPI library does not start without it, so only the plug-in is. mpi_transport.h loads it.
//
// Functions return null, or the text of an error, which is valid until the next call. All but
// `abort` and the board are called by one thread.
#pragma once

#include <cstdint>

extern "C" {

// Types of elements that can be added.
enum TartanMpiType { kTartanFloat32, kTartanFloat64, kTartanInt32, kTartanInt64, kTartanBFloat16 };

struct TartanMpiPlace {
  int64_t rank, ranks, local_rank, local_ranks;
};

struct TartanMpi {
  int64_t version;  // kTartanMpiVersion of the plug-in
  // Joins the other processes. `*board` is memory that the processes of this host share, zeroed.
  const char* (*join)(int64_t board_bytes, TartanMpiPlace* place, void** board);
  const char* (*all_reduce)(void* data, int64_t bytes, TartanMpiType type);
  const char* (*all_gather)(const void* from, int64_t bytes, void* to);
  // `to` receives `bytes`.
  const char* (*reduce_scatter)(const void* from, int64_t bytes, void* to, TartanMpiType type);
  const char* (*broadcast)(void* data, int64_t bytes, int64_t root);
  const char* (*send)(const void* data, int64_t bytes, int64_t to);
  const char* (*receive)(void* data, int64_t bytes, int64_t from);
  // Waits until all processes have called it.
  const char* (*barrier)();
  // Leaves, after `barrier`.
  const char* (*finish)();
  // Ends all processes. From any thread; does not return.
  void (*abort)(int code);
};

// The only symbol of the plug-in.
const TartanMpi* TartanMpiPlugin();
}

inline constexpr int64_t kTartanMpiVersion = 3;
