// SPDX-License-Identifier: Apache-2.0
#include "distributed/peer/file_exchange.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"

namespace tartan::distributed {
namespace {

constexpr int kLongestWaitMs = 10000;

absl::Status Failure(const char* call) {
  return absl::UnavailableError(
      absl::StrCat("files between ranks: ", call, ": ", std::strerror(errno)));
}

class Socket {
 public:
  explicit Socket(int file) : file_(file) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() {
    if (file_ >= 0) close(file_);
  }
  int file() const { return file_; }

 private:
  const int file_;
};

// The address of a socket, as ranks exchange it.
struct Address {
  sockaddr_un name = {};
  socklen_t size = 0;  // 0: the rank has no socket
};

// Binds to an abstract name that the kernel chooses, and listens.
absl::StatusOr<Address> Listen(const Socket& socket) {
  sockaddr_un any = {};
  any.sun_family = AF_UNIX;
  Address address;
  address.size = sizeof(address.name);
  if (socket.file() < 0) return Failure("socket");
  if (bind(socket.file(), reinterpret_cast<const sockaddr*>(&any), sizeof(sa_family_t)) != 0)
    return Failure("bind");
  if (listen(socket.file(), SOMAXCONN) != 0) return Failure("listen");
  if (getsockname(socket.file(), reinterpret_cast<sockaddr*>(&address.name), &address.size) != 0)
    return Failure("getsockname");
  return address;
}

// A message: the sender's rank with a file.
struct Message {
  int64_t rank = 0;
  iovec bytes = {&rank, sizeof(rank)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header = {};

  Message() {
    header.msg_iov = &bytes;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
  }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
};

absl::Status SendFile(const Address& to, int64_t rank, int file) {
  const Socket socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.file() < 0) return Failure("socket");
  if (connect(socket.file(), reinterpret_cast<const sockaddr*>(&to.name), to.size) != 0)
    return Failure("connect (are all ranks in one network namespace?)");
  Message message;
  message.rank = rank;
  cmsghdr* const control = CMSG_FIRSTHDR(&message.header);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(control), &file, sizeof(file));
  if (sendmsg(socket.file(), &message.header, MSG_NOSIGNAL) != sizeof(message.rank))
    return Failure("sendmsg");
  return absl::OkStatus();
}

absl::Status WaitFor(int file, const char* what) {
  pollfd waits = {file, POLLIN, 0};
  const int ready = poll(&waits, 1, kLongestWaitMs);
  if (ready == 1) return absl::OkStatus();
  if (ready < 0) return Failure("poll");
  return absl::UnavailableError(
      absl::StrCat("files between ranks: no ", what, " for ", kLongestWaitMs / 1000, " s"));
}

// Receives the file of one rank. Connections of other users are ignored.
absl::Status ReceiveFile(const Socket& listening, RankFiles* files, int64_t ranks) {
  TARTAN_RETURN_IF_ERROR(WaitFor(listening.file(), "connection"));
  const Socket socket(accept4(listening.file(), nullptr, nullptr, SOCK_CLOEXEC));
  if (socket.file() < 0) return Failure("accept");
  ucred peer = {};
  socklen_t size = sizeof(peer);
  if (getsockopt(socket.file(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return Failure("getsockopt");
  if (peer.uid != geteuid()) return ReceiveFile(listening, files, ranks);
  TARTAN_RETURN_IF_ERROR(WaitFor(socket.file(), "message"));
  Message message;
  if (recvmsg(socket.file(), &message.header, MSG_CMSG_CLOEXEC) != sizeof(message.rank))
    return Failure("recvmsg");
  const cmsghdr* const control = CMSG_FIRSTHDR(&message.header);
  if (control == nullptr || control->cmsg_type != SCM_RIGHTS || message.rank < 0 ||
      message.rank >= ranks)
    return absl::UnavailableError("files between ranks: a message without a file");
  int file = -1;
  std::memcpy(&file, CMSG_DATA(control), sizeof(file));
  files->Set(static_cast<size_t>(message.rank), file);
  return absl::OkStatus();
}

}  // namespace

RankFiles::~RankFiles() {
  for (const int file : files_) {
    if (file >= 0) close(file);
  }
}

void RankFiles::Set(size_t rank, int file) {
  if (files_[rank] >= 0) close(files_[rank]);
  files_[rank] = file;
}

absl::StatusOr<RankFiles> ExchangeFiles(HostTransport& transport, int own) {
  const Place& place = transport.place();
  const Socket listening(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const absl::StatusOr<Address> made =
      own < 0 ? absl::UnavailableError("files between ranks: this rank has none")
              : Listen(listening);
  const Address address = made.ok() ? *made : Address();
  std::vector<Address> all(static_cast<size_t>(place.ranks));
  TARTAN_RETURN_IF_ERROR(transport.AllGather(
      {reinterpret_cast<const uint8_t*>(&address), sizeof(address)},
      absl::MakeSpan(reinterpret_cast<uint8_t*>(all.data()), all.size() * sizeof(address))));
  TARTAN_RETURN_IF_ERROR(made.status());
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].size > 0) continue;
    return absl::UnavailableError(absl::StrCat("files between ranks: rank ", rank, " has none"));
  }
  RankFiles files(all.size());
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (static_cast<int64_t>(rank) == place.rank) continue;
    TARTAN_RETURN_IF_ERROR(SendFile(all[rank], place.rank, own));
  }
  for (int64_t others = 1; others < place.ranks; ++others)
    TARTAN_RETURN_IF_ERROR(ReceiveFile(listening, &files, place.ranks));
  return files;
}

}  // namespace tartan::distributed
