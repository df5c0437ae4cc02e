# find_package(Emplace): the target Emplace::emplace, whose header is <emplace/emplace.h>.
include(${CMAKE_CURRENT_LIST_DIR}/EmplaceTargets.cmake)
