#include "common/files/file_io.h"

#include <fcntl.h>
#include <unistd.h>
#include <zstd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "common/error.h"
#include "common/files/file_descriptor.h"
#include "common/strings.h"
#include "common/threads/mutex.h"

namespace emplace {
namespace {

// What a compressed file may grow to.
constexpr size_t kMaxUnpackedBytes = size_t{4} << 30;

bool WriteAll(int fd, std::string_view bytes) {
  size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t n = ::write(fd, bytes.data() + written, bytes.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    written += static_cast<size_t>(n);
  }
  return true;
}

constexpr std::string_view kAside = ".tmp";

// Two processes that write the same file do not meet.
std::string NameAside(const std::filesystem::path& path) {
  return StrCat(".", path.filename().string(), ".", ::getpid(), kAside);
}

// .policy.safetensors.1234.tmp
bool IsNameAside(std::string_view name) {
  if (!name.starts_with('.') || !name.ends_with(kAside)) return false;
  name.remove_suffix(kAside.size());
  const size_t dot = name.rfind('.');
  const std::string_view pid = name.substr(dot + 1);
  return dot > 1 && !pid.empty() && pid.find_first_not_of("0123456789") == std::string_view::npos;
}

// The temporary files that are being written. Never destroyed: a thread may end the process at any time.
class Unfinished {
 public:
  static Unfinished& Files() {
    static auto& files = *new Unfinished();
    return files;
  }
  void Add(const std::string& path) {
    const MutexLock lock(mu_);
    paths_.insert(path);
  }
  void Forget(const std::string& path) {
    const MutexLock lock(mu_);
    paths_.erase(path);
  }
  void RemoveAll() {
    const MutexLock lock(mu_);
    for (const std::string& path : paths_) ::unlink(path.c_str());
  }

 private:
  Mutex mu_;
  std::set<std::string> paths_ EMPLACE_GUARDED_BY(mu_);
};

// A file is unfinished while this lives.
class WhileWriting {
 public:
  explicit WhileWriting(std::string path) : path_(std::move(path)) { Unfinished::Files().Add(path_); }
  ~WhileWriting() { Unfinished::Files().Forget(path_); }
  WhileWriting(const WhileWriting&) = delete;
  WhileWriting& operator=(const WhileWriting&) = delete;

 private:
  const std::string path_;
};

constexpr int kMostLinks = 40;  // One behind the other, as of Linux.

// What a symbolic link names.
std::filesystem::path LinkTarget(const std::filesystem::path& link) {
  std::error_code ignored;  // It is gone by now: its own folder is no file to write either.
  const std::filesystem::path target = std::filesystem::read_symlink(link, ignored);
  return target.is_relative() ? link.parent_path() / target : target;
}

// The open file of this process for which a path stands, such as /dev/stdout; -1: for none.
int OpenFileNamed(std::filesystem::path path) {
  const std::string open_files = StrCat("/proc/", ::getpid(), "/fd");
  std::error_code error;
  for (int links = 0; links < kMostLinks && std::filesystem::is_symlink(path, error); ++links) {
    const std::string name = path.filename().string();
    int fd = -1;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), fd);
    if (parsed.ec == std::errc() && std::filesystem::weakly_canonical(path.parent_path(), error) == open_files)
      return fd;
    path = LinkTarget(path);
  }
  return -1;
}

}  // namespace

Error WriteError(const std::filesystem::path& path) {
  return RunFailed(StrCat(path.string(), ": cannot be written: ", std::strerror(errno)));
}

std::filesystem::path BehindLinks(std::filesystem::path path) {
  std::error_code error;
  for (int links = 0; links < kMostLinks && std::filesystem::is_symlink(path, error); ++links) path = LinkTarget(path);
  return path;
}

void RemoveUnfinishedFiles() { Unfinished::Files().RemoveAll(); }

bool IsDeviceOrPipe(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
         !std::filesystem::is_directory(status);
}

void SyncFolder(const std::filesystem::path& folder) {
  const FileDescriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() >= 0) ::fsync(fd.get());  // Some file systems refuse to sync a folder; the rename stands all the same.
}

std::string ReadFile(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw BadInput(StrCat(path.string(), ": is a folder, expected a file"));
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) throw BadInput(StrCat(path.string(), ": cannot be read: ", std::strerror(errno)));
  std::string bytes;
  std::string chunk(size_t{1} << 18, '\0');
  while (in.read(chunk.data(), std::ssize(chunk)) || in.gcount() > 0) {
    bytes.append(chunk, 0, static_cast<size_t>(in.gcount()));
  }
  if (in.bad()) throw BadInput(StrCat(path.string(), ": cannot be read: ", std::strerror(errno)));
  return bytes;
}

void WriteFileAtomically(const std::filesystem::path& path, std::string_view bytes, mode_t mode) {
  if (const int open_file = OpenFileNamed(path); open_file >= 0) {
    std::fflush(stdout);  // What was printed comes before.
    if (!WriteAll(open_file, bytes)) throw WriteError(path);
    return;
  }
  if (IsDeviceOrPipe(path)) {  // A rename would replace it by a file.
    const FileDescriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (fd.get() < 0 || !WriteAll(fd.get(), bytes)) throw WriteError(path);
    return;
  }
  const std::filesystem::path file = BehindLinks(path);
  if (std::error_code ignored; std::filesystem::is_symlink(file, ignored)) {
    throw RunFailed(StrCat(path.string(), ": cannot be written: is a link that leads to itself"));
  }
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  const std::filesystem::path aside = folder / NameAside(file);
  const WhileWriting unfinished(aside.string());
  {
    const FileDescriptor fd(::open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
    if (fd.get() < 0) throw WriteError(path);
    if (!WriteAll(fd.get(), bytes) || ::fsync(fd.get()) != 0) {
      const Error error = WriteError(path);
      ::unlink(aside.c_str());
      throw error;
    }
  }
  if (::rename(aside.c_str(), file.c_str()) != 0) {
    const Error error = WriteError(path);
    ::unlink(aside.c_str());
    throw error;
  }
  SyncFolder(folder);
}

void RemoveHalfWritten(const std::filesystem::path& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> found;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (IsNameAside(entry->path().filename().string()) && entry->is_regular_file(error)) found.push_back(entry->path());
  }
  for (const std::filesystem::path& path : found) std::filesystem::remove(path, error);
}

void MakeFolder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw BadInput(StrCat(folder.string(), ": cannot be made: ", error.message()));
}

std::string ReadMaybeCompressedFile(const std::filesystem::path& path) {
  std::string bytes = ReadFile(path);
  if (path.extension() != ".zst") return bytes;
  return DecompressZstd(bytes, path.string(), kMaxUnpackedBytes);
}

std::string DecompressZstd(std::string_view bytes, const std::string& source, size_t max_bytes) {
  const std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream(ZSTD_createDStream(), ZSTD_freeDStream);
  std::string unpacked;
  std::string chunk(ZSTD_DStreamOutSize(), '\0');
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  size_t more = 1;
  while (in.pos < in.size) {
    ZSTD_outBuffer out{chunk.data(), chunk.size(), 0};
    more = ZSTD_decompressStream(stream.get(), &out, &in);
    if (ZSTD_isError(more)) throw BadInput(StrCat(source, ": damaged zstd stream: ", ZSTD_getErrorName(more)));
    unpacked.append(chunk.data(), out.pos);
    if (unpacked.size() > max_bytes) throw BadInput(StrCat(source, ": unpacks to more than ", max_bytes, " bytes"));
  }
  if (more != 0) throw BadInput(StrCat(source, ": zstd stream ends early"));
  return unpacked;
}

std::string CompressZstd(std::string_view bytes) {
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  const size_t size = ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), 9);
  EMPLACE_CHECK(!ZSTD_isError(size));
  packed.resize(size);
  return packed;
}

}  // namespace emplace
