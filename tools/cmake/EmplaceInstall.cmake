# `cmake --install BUILD --prefix DIR`: a folder that can be moved to any machine with the same processor and a C library as
# new: the programs in bin/, every library they need but the C library in lib/, configs/, models/, launch/ and the documentation.
# tools/package.sh packs it.

# A program looks for libraries beside itself, and so do the libraries it loads: that is what the older of the two kinds of
# run path does (no new dtags).
set(programs emplace emplace-actor emplace-learner)
foreach(program ${programs})
  set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
  target_link_options(${program} PRIVATE -Wl,--disable-new-dtags)
endforeach()

install(TARGETS ${programs} RUNTIME_DEPENDENCY_SET emplace_libraries RUNTIME DESTINATION bin)

# The C library's own parts have to be those of the machine, as has the driver of a GPU.
set(of_the_machine "^(ld-linux.*|lib(c|m|dl|rt|pthread|util|resolv|anl|nsl|mvec))\\.so" "^libcuda\\.so")
install(RUNTIME_DEPENDENCY_SET emplace_libraries PRE_EXCLUDE_REGEXES ${of_the_machine} LIBRARY DESTINATION lib)

# The library for C++ programs, also as the component `library` alone. The libraries that it needs are a component of their
# own, `library-dependencies`: a folder for all programs of a machine, such as /usr/local, must not get copies of them.
if(TARGET emplace_shared)
  include(CMakePackageConfigHelpers)
  set(package lib/cmake/Emplace)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/EmplaceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  set_target_properties(emplace_shared PROPERTIES INSTALL_RPATH "$ORIGIN")
  target_link_options(emplace_shared PRIVATE -Wl,--disable-new-dtags)
  install(TARGETS emplace_shared EXPORT EmplaceTargets RUNTIME_DEPENDENCY_SET emplace_library_dependencies
    LIBRARY DESTINATION lib COMPONENT library)
  install(RUNTIME_DEPENDENCY_SET emplace_library_dependencies PRE_EXCLUDE_REGEXES ${of_the_machine}
    LIBRARY DESTINATION lib COMPONENT library-dependencies)
  install(EXPORT EmplaceTargets NAMESPACE Emplace:: DESTINATION ${package} COMPONENT library)
  install(FILES api/library/EmplaceConfig.cmake ${PROJECT_BINARY_DIR}/EmplaceConfigVersion.cmake
    DESTINATION ${package} COMPONENT library)
  install(FILES api/library/emplace.h DESTINATION include/emplace COMPONENT library)
  install(DIRECTORY models DESTINATION share/emplace COMPONENT library EXCLUDE_FROM_ALL)  # The whole has it in models/.
endif()

install(DIRECTORY configs launch models DESTINATION . USE_SOURCE_PERMISSIONS)
install(FILES README.md DESTINATION .)
install(DIRECTORY docs DESTINATION .)
