// SPDX-License-Identifier: Apache-2.0
#include "python/src/environment.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>

namespace tartan::python {
namespace {

// Stores a value that other threads may read at any time, after the data that it points to.
template <class T>
void Publish(T* place, T value) {
  __atomic_store_n(place, value, __ATOMIC_RELEASE);
}

bool IsSet(const std::string& name) {
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    if (std::strncmp(*variable, name.c_str(), name.size()) == 0 &&
        (*variable)[name.size()] == '=') {
      return true;
    }
  }
  return false;
}

}  // namespace

void ReserveVariable(const std::string& name) {
  // Lists and texts are never freed, because other threads may still read them.
  static char** list = nullptr;
  static size_t room = 0;
  static auto& texts = *new std::set<std::string>();
  const bool is_name =
      !name.empty() && name.find_first_of(std::string("=\0", 2)) == std::string::npos;
  if (!is_name || IsSet(name)) return;
  size_t count = 0;
  while (environ != nullptr && environ[count] != nullptr) ++count;
  if (environ != list || count + 2 > room) {
    // Doubles the capacity, so that all lists together take at most twice the space of the last
    // one.
    room = std::max<size_t>(2 * (count + 2), 256);
    list = new char*[room]();
    std::copy_n(environ, count, list);
    Publish(&environ, list);
  }
  Publish(list + count + 1, static_cast<char*>(nullptr));
  Publish(list + count, const_cast<char*>(texts.insert(name + "=").first->c_str()));
}

}  // namespace tartan::python
