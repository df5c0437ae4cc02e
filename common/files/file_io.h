// Reads and writes whole files; a reader never sees a half-written one.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "common/error.h"

namespace emplace {

// Returns the bytes of a file. Throws BadInput "path: cannot be read: reason" when the file is missing, may not be read
// or is a folder.
std::string ReadFile(const std::filesystem::path& path);

// Whether the path is that of a device or a pipe, such as /dev/null or /dev/stdout.
bool IsDeviceOrPipe(const std::filesystem::path& path);

// What the path leads to if it is a symbolic link, whether that exists or not; a link where links lead in a circle.
std::filesystem::path BehindLinks(std::filesystem::path path);

// Writes a temporary file, fsyncs it, renames it to `path` and fsyncs the folder. The file has the permissions `mode`,
// less the process's umask, from its first byte on. Throws RunFailed; `path` is then unchanged. A device, a pipe
// and what this process has open, such as /dev/stdout, are written to and stay what they are. Of a link the file that
// it leads to is written.
void WriteFileAtomically(const std::filesystem::path& path, std::string_view bytes, mode_t mode = 0644);

// RunFailed "path: cannot be written: reason", by errno.
Error WriteError(const std::filesystem::path& path);

// Removes what WriteFileAtomically is writing now, in any thread, for a process that ends at once.
void RemoveUnfinishedFiles();

// Removes the temporary files that killed processes have left in this folder, but not in folders below it. A folder
// that does not exist is no error. REQUIRES: no other process is writing in the folder.
void RemoveHalfWritten(const std::filesystem::path& folder);

// Makes the folder and all missing folders above it. Throws BadInput "folder: cannot be made: reason".
void MakeFolder(const std::filesystem::path& folder);

// Makes a rename within this folder survive a power cut.
void SyncFolder(const std::filesystem::path& folder);

// Reads a file, and unpacks it with zstd when the name ends in ".zst". Throws BadInput as ReadFile does, and for a
// damaged stream.
std::string ReadMaybeCompressedFile(const std::filesystem::path& path);
std::string CompressZstd(std::string_view bytes);
// Unpacks what CompressZstd has packed. `source` names the bytes in errors. Throws BadInput for a damaged stream, and
// for one that unpacks to more than `max_bytes`: a small file could otherwise fill the memory.
std::string DecompressZstd(std::string_view bytes, const std::string& source, size_t max_bytes);

}  // namespace emplace
