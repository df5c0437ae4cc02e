#include "common/files/file_io.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <string>

#include "common/error.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class FileIo : public ::testing::Test {
 protected:
  FileIo() : folder_(fs::temp_directory_path() / ("emplace_file_io_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~FileIo() override { fs::remove_all(folder_); }

  static std::string ErrorOf(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  const fs::path folder_;
};

TEST_F(FileIo, ReadsBackWhatItWroteWhateverTheBytes) {
  std::string bytes;
  for (int i = 0; i < 100000; ++i) bytes.push_back(static_cast<char>(i * 7));
  for (const std::string& text : {bytes, std::string(), std::string("a\0b\n", 4)}) {
    WriteFileAtomically(folder_ / "file", text);
    EXPECT_EQ(ReadFile(folder_ / "file"), text);
  }
  // Nothing is left beside it.
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(FileIo, APipeStaysAPipe) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  WriteFileAtomically(pipe, "text");
  EXPECT_TRUE(fs::is_fifo(pipe));
  std::string read(10, ' ');
  EXPECT_EQ(::read(reader, read.data(), read.size()), 4);
  EXPECT_EQ(read.substr(0, 4), "text");
  ::close(reader);
}

TEST_F(FileIo, ALinkStaysALink) {
  fs::create_directory(folder_ / "elsewhere");
  fs::create_symlink("elsewhere/file", folder_ / "link");
  fs::create_symlink(folder_ / "link", folder_ / "second");
  for (const std::string name : {"link", "second"}) {  // The file is made, and then replaced.
    WriteFileAtomically(folder_ / name, name);
    EXPECT_TRUE(fs::is_symlink(folder_ / name));
    EXPECT_EQ(ReadFile(folder_ / "elsewhere" / "file"), name);
  }
}

TEST_F(FileIo, ALinkThatLeadsToItselfIsNoFile) {
  fs::create_symlink("circle", folder_ / "circle");
  EXPECT_THAT(ErrorOf([&] { WriteFileAtomically(folder_ / "circle", "x"); }),
              HasSubstr("is a link that leads to itself"));
}

// As /dev/stdout where the output goes to a file: what is printed afterwards follows.
TEST_F(FileIo, WhatIsOpenIsWrittenWhereItStands) {
  const int file = ::open((folder_ / "file").c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
  ASSERT_GE(file, 0);
  ASSERT_EQ(::write(file, "before ", 7), 7);
  fs::create_directory_symlink("/proc/self/fd", folder_ / "fd");
  fs::create_symlink("fd/" + std::to_string(file), folder_ / "output");
  WriteFileAtomically(folder_ / "output", "written ");
  WriteFileAtomically("/proc/self/fd/" + std::to_string(file), "again ");
  ASSERT_EQ(::write(file, "after", 5), 5);
  ::close(file);
  EXPECT_TRUE(fs::is_symlink(folder_ / "output"));
  EXPECT_EQ(ReadFile(folder_ / "file"), "before written again after");
}

TEST_F(FileIo, ErrorsNameThePath) {
  EXPECT_THAT(ErrorOf([&] { ReadFile(folder_ / "missing"); }), HasSubstr("missing: cannot be read: No such file"));
  EXPECT_THAT(ErrorOf([&] { ReadFile(folder_); }), HasSubstr("is a folder, expected a file"));
  EXPECT_THAT(ErrorOf([&] { WriteFileAtomically(folder_ / "no" / "folder", "x"); }), HasSubstr("no/folder"));
}

TEST_F(FileIo, AWriteThatFailsHalfWayLeavesTheOldFile) {
  WriteFileAtomically(folder_ / "file", "old");
  // A limit on file sizes stands in for a full disk.
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 1000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string error = ErrorOf([&] { WriteFileAtomically(folder_ / "file", std::string(5000, 'x')); });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_THAT(error, HasSubstr("file"));
  EXPECT_EQ(ReadFile(folder_ / "file"), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(FileIo, UndoesZstdByTheNamesEnd) {
  const std::string text(100000, 'e');
  const std::string packed = CompressZstd(text);
  EXPECT_LT(packed.size(), text.size() / 10);
  WriteFileAtomically(folder_ / "g.json.zst", packed);
  WriteFileAtomically(folder_ / "g.json", text);
  EXPECT_EQ(ReadMaybeCompressedFile(folder_ / "g.json.zst"), text);
  EXPECT_EQ(ReadMaybeCompressedFile(folder_ / "g.json"), text);
  WriteFileAtomically(folder_ / "cut.zst", packed.substr(0, packed.size() / 2));
  EXPECT_THAT(ErrorOf([&] { ReadMaybeCompressedFile(folder_ / "cut.zst"); }), HasSubstr("cut.zst"));
  WriteFileAtomically(folder_ / "not.zst", "plain text");
  EXPECT_THAT(ErrorOf([&] { ReadMaybeCompressedFile(folder_ / "not.zst"); }), HasSubstr("not.zst"));
}

}  // namespace
}  // namespace emplace
