// Where the folders are that come with the programs, such as configs/.
#pragma once

#include <filesystem>
#include <string>

namespace emplace {

// The folder `name`: what the environment variable `variable` says; else the one beside the folder of this program, as
// where programs are installed (PREFIX/bin, PREFIX/configs); else the one beside the build folder that this program is
// in, as in a checkout (build/bin, configs). Throws BadInput when there is none.
std::filesystem::path ShippedFolder(const std::string& name, const char* variable);

}  // namespace emplace
