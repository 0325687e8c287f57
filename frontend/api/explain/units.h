// SPDX-License-Identifier: Apache-2.0
// Formats numbers with units for people.
#pragma once

#include <string>

namespace tartan::api {

// "512 B", "1.5 KiB", "4.2 GiB".
std::string FormatBytes(double bytes);
// "0.84 ms", "12.3 ms", "1.52 s".
std::string FormatMs(double ms);
// "0.84 µs", "12.3 µs", "1.52 ms".
std::string FormatMicroseconds(double us);
// "31.2 k", "4.1 M", "7.8 G".
std::string FormatCount(double count);
// "512 FLOP", "31.2 kFLOP".
std::string FormatFlops(double flops);

}  // namespace tartan::api
