// Whole files, read and written so that nobody ever sees half of one.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace emplace {

// The bytes of a file; throws BadInput "path: cannot be read: reason" (missing, no permission), or that it is a folder.
std::string ReadFile(const std::filesystem::path& path);

// Writes aside, fsyncs, renames over `path`, fsyncs the folder. Throws RunFailed; then `path` is as it was. Who may
// read it is what `mode` says, less the process's umask, and was so from its first byte on.
void WriteFileAtomically(const std::filesystem::path& path, std::string_view bytes, mode_t mode = 0644);

// Removes what WriteFileAtomically has written aside in this folder (not below it) and a killed process left there.
// Nobody else may be writing in it. A folder that is not there has none.
void RemoveHalfWritten(const std::filesystem::path& folder);

// Makes the folder, and what is missing above it. Throws BadInput "folder: cannot be made: reason".
void MakeFolder(const std::filesystem::path& folder);

// Makes a rename within this folder survive a power cut.
void SyncFolder(const std::filesystem::path& folder);

// ReadFile, undone from zstd where the name ends in ".zst". A damaged stream throws BadInput.
std::string ReadMaybeCompressedFile(const std::filesystem::path& path);
std::string CompressZstd(std::string_view bytes);
// Undone. `source` names the bytes in errors. Throws BadInput for a damaged stream, and for one that unpacks to more
// than max_bytes: a guard against a small file that unpacks without end.
std::string DecompressZstd(std::string_view bytes, const std::string& source, size_t max_bytes);

}  // namespace emplace
