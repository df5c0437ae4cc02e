#include "common/files/output_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "common/files/file_io.h"
#include "tests/support/bad_input.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;

class OutputFiles : public ::testing::Test {
 protected:
  OutputFiles() : folder_(fs::temp_directory_path() / ("emplace_output_files_" + std::to_string(getpid()))) {
    fs::create_directories(folder_ / "sub");
    WriteFileAtomically(folder_ / "in", "text");
    WriteFileAtomically(folder_ / "sub" / "in", "text");
  }
  ~OutputFiles() override { fs::remove_all(folder_); }

  static std::string ErrorOf(const std::vector<FileArgument>& outputs, const std::vector<FileArgument>& inputs) {
    return BadInputOf([&] { CheckOutputFiles(outputs, inputs); });
  }
  static bool Refuses(const fs::path& output, const fs::path& input) {
    return !BadInputOf([&] { CheckFilesDiffer({{"--out", output}}, {{"--graph", input}}); }).empty();
  }

  const fs::path folder_;
};

TEST_F(OutputFiles, SaysWhichArgumentsHaveOneFile) {
  EXPECT_EQ(ErrorOf({{"--out", "./a"}}, {{"--devices", "b"}, {"--graph", "a"}}),
            "--out is './a', which belongs to --graph, expected another file");
  EXPECT_EQ(ErrorOf({{"--out", "a"}, {"--trace", "./a"}}, {}),
            "--trace is './a', which belongs to --out, expected another file");
  EXPECT_EQ(ErrorOf({{"--out", "a"}, {"--trace", "c"}}, {{"--graph", "b"}}), "");
  // Two inputs may be one file.
  EXPECT_EQ(ErrorOf({{"--out", "a"}}, {{"--devices", "b"}, {"--graph", "b"}}), "");
}

TEST_F(OutputFiles, WantsAFolderForEach) {
  EXPECT_EQ(ErrorOf({{"--out", "none/such/a"}}, {}),
            "--out is 'none/such/a': there is no folder 'none/such', expected an existing one");
  EXPECT_EQ(ErrorOf({{"--out", folder_ / "in" / "a"}}, {}).substr(0, 10), "--out is '");
  EXPECT_EQ(ErrorOf({{"--out", folder_}}, {}),
            "--out is '" + folder_.string() + "', which is a folder, expected a file to write");
  EXPECT_EQ(ErrorOf({{"--out", folder_ / "sub" / "a"}, {"--trace", ""}, {"--json", "/dev/null"}}, {}), "");
}

TEST_F(OutputFiles, KnowsAFileByAllItsNames) {
  const fs::path in = folder_ / "in";
  EXPECT_TRUE(Refuses(in, in));
  EXPECT_TRUE(Refuses(folder_ / "sub" / ".." / "in", in));
  EXPECT_TRUE(Refuses(fs::relative(in), in));
  fs::create_symlink("in", folder_ / "link");
  fs::create_hard_link(in, folder_ / "hard");
  fs::create_directory_symlink("sub", folder_ / "linked");
  EXPECT_TRUE(Refuses(folder_ / "link", in));
  EXPECT_TRUE(Refuses(in, folder_ / "link"));
  EXPECT_TRUE(Refuses(folder_ / "hard", in));
  EXPECT_TRUE(Refuses(folder_ / "linked" / "in", folder_ / "sub" / "in"));
  EXPECT_FALSE(Refuses(folder_ / "sub" / "in", in));  // One name and one text, but two files.
  EXPECT_FALSE(Refuses(folder_ / "new", in));
}

TEST_F(OutputFiles, FilesNeedNotExist) {
  EXPECT_TRUE(Refuses(folder_ / "sub" / "." / "new", folder_ / "sub" / "new"));
  EXPECT_TRUE(Refuses(folder_ / "none" / ".." / "new", folder_ / "new"));
  EXPECT_TRUE(Refuses("no_such_file", "./no_such_file"));
  EXPECT_TRUE(Refuses(fs::current_path() / "no_such_file", "no_such_file"));
  EXPECT_FALSE(Refuses(folder_ / "sub" / "new", folder_ / "new"));
  // Paths that nobody can follow are for those who read and write.
  EXPECT_FALSE(Refuses(folder_ / "in" / "below", folder_ / "in"));
  EXPECT_FALSE(Refuses(folder_ / std::string(5000, 'x'), folder_ / "in"));
}

TEST_F(OutputFiles, ALinkIsWhatItLeadsToAlsoWhereThatDoesNotExist) {
  fs::create_symlink("sub/new", folder_ / "link");
  EXPECT_TRUE(Refuses(folder_ / "link", folder_ / "sub" / "new"));
  EXPECT_FALSE(Refuses(folder_ / "link", folder_ / "new"));
  fs::create_symlink("none/new", folder_ / "lost");
  EXPECT_NE(ErrorOf({{"--out", folder_ / "lost"}}, {}).find("there is no folder"), std::string::npos);
}

TEST_F(OutputFiles, ArgumentsThatAreNotGivenAndDevicesAreNoFiles) {
  EXPECT_EQ(ErrorOf({{"--out", ""}, {"--trace", ""}}, {{"--policy", ""}}), "");
  EXPECT_EQ(ErrorOf({{"--out", "/dev/null"}, {"--trace", "/dev/null"}}, {{"--graph", "/dev/null"}}), "");
}

}  // namespace
}  // namespace emplace
