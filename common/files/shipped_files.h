// Finds the folders that come with the programs, such as configs/.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace emplace {

// The path of the folder `name`; nullopt: there is none. The environment variable `variable` decides if it is set;
// throws BadInput when it names no folder. Otherwise the folder is beside that of the shared library that this code is
// in, or else of this program, as in an installation (PREFIX/bin, PREFIX/configs), or up to two folders above, as in a
// checkout (build/bin, configs). Of a library that is installed alone it is PREFIX/share/emplace/NAME.
std::optional<std::filesystem::path> ShippedFolderIfAny(const std::string& name, const char* variable);
// The same. Throws BadInput when there is no such folder.
std::filesystem::path ShippedFolder(const std::string& name, const char* variable);

}  // namespace emplace
