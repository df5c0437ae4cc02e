// Finds the folders that come with the programs, such as configs/.
#pragma once

#include <filesystem>
#include <string>

namespace emplace {

// The path of the folder `name`. The environment variable `variable` decides if it is set. Otherwise the folder is
// beside that of this program, as in an installation (PREFIX/bin, PREFIX/configs), or beside the build folder, as in a
// checkout (build/bin, configs). Throws BadInput when there is no such folder.
std::filesystem::path ShippedFolder(const std::string& name, const char* variable);

}  // namespace emplace
