// Owns a file descriptor: of a file, a socket or one end of a pipe.
#pragma once

#include <unistd.h>

#include <utility>

namespace emplace {

// Closes it at its end. Not thread-safe.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd = -1) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }  // Negative: there is none.

 private:
  int fd_;
};

}  // namespace emplace
