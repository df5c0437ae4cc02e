#include "common/files/file_descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <utility>

namespace emplace {
namespace {

FileDescriptor OpenNull() { return FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }
bool IsOpen(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

TEST(FileDescriptor, IsClosedOnceWhereverItWentTo) {
  int first = -1;
  int second = -1;
  {
    FileDescriptor a = OpenNull();
    first = a.get();
    FileDescriptor b = std::move(a);
    EXPECT_EQ(b.get(), first);
    FileDescriptor c = OpenNull();
    second = c.get();
    c = std::move(b);
    EXPECT_FALSE(IsOpen(second));
    EXPECT_EQ(c.get(), first);
    EXPECT_TRUE(IsOpen(first));
  }
  EXPECT_FALSE(IsOpen(first));
  EXPECT_LT(FileDescriptor().get(), 0);
}

}  // namespace
}  // namespace emplace
