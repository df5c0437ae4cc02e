# Every switch of the build. The presets in CMakePresets.json set them; nothing else should need to.
# A wheel in a build folder of its own (SKBUILD is what scikit-build-core sets) has the package alone, and needs no LibTorch.
set(EMPLACE_NO_WHEEL ON)
if(SKBUILD)
  set(EMPLACE_NO_WHEEL OFF)
endif()
option(EMPLACE_TESTS "Build the tests" ${EMPLACE_NO_WHEEL})
option(EMPLACE_BENCH "Build the benchmarks" ${EMPLACE_NO_WHEEL})
option(EMPLACE_TORCH "Build what links LibTorch: the reference of the policy, and what is tested against it" ${EMPLACE_NO_WHEEL})
# The presets switch it off again, so that a build folder that pip has used does not need pip's environment for ever.
option(EMPLACE_PYTHON "Build the module of the Python package; pip asks for it (pyproject.toml)" OFF)
option(EMPLACE_CUDA "The learner on NVIDIA GPUs: its kernels by nvcc, and LibTorch's CUDA half to compare with" OFF)
set(EMPLACE_SANITIZER "" CACHE STRING "Sanitizer of own code: empty, address or thread; the latter two need clang")
# A newer compiler has warnings that nobody has seen yet: they must not stop a user.
set(EMPLACE_KNOWN_COMPILER OFF)
if((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
   OR (CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 15))
  set(EMPLACE_KNOWN_COMPILER ON)
endif()
option(EMPLACE_WERROR "Warnings are errors; off by default with compilers newer than those of Debian 12" ${EMPLACE_KNOWN_COMPILER})
option(EMPLACE_UNITY "Compile several source files of a target at once: from nothing, in a third of the time" ON)
set(EMPLACE_TORCH_VENV "" CACHE PATH "Virtual environment that holds the torch wheel (tools/setup.sh makes it)")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
# What every file of ours is compiled with. `fast-math` stays off: lockstep training promises equal bits.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")
set(CMAKE_CXX_FLAGS_RELEASE "-O3")
set(CMAKE_UNITY_BUILD ${EMPLACE_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 12)

# The Python module is made of the same objects as the programs, so all code is position independent. Without semantic
# interposition, a library's calls to its own functions stay direct and can be inlined, as in a program.
if(NOT EMPLACE_SANITIZER)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang>:-fno-semantic-interposition>)
endif()

# A failed check names its file from the project's root on, wherever that lies: builds in two folders are equal then, and
# ccache takes one for the other.
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang>:-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=>)

# Debian's linker takes several times as long.
find_program(EMPLACE_MOLD mold)
if(EMPLACE_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

find_program(EMPLACE_CCACHE ccache)
if(EMPLACE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${EMPLACE_CCACHE})
endif()

if(EMPLACE_SANITIZER)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "EMPLACE_SANITIZER=${EMPLACE_SANITIZER} needs clang, the compiler is ${CMAKE_CXX_COMPILER}: use the preset `asan` or `tsan`")
  endif()
  # Enough for a sanitizer to be quick, and no more: its code takes long to optimize.
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 0)  # All of a target.
  add_compile_options(-fno-omit-frame-pointer -fno-sanitize-recover=all)
endif()
if(EMPLACE_SANITIZER STREQUAL "address")
  # `fuzzer-no-link` tells libFuzzer's targets which code an input has reached. `undefined` leaves out a number too great for
  # the integer it is turned into, and that is what hostile numbers do.
  add_compile_options(-fsanitize=address,undefined,float-cast-overflow,fuzzer-no-link)
  add_link_options(-fsanitize=address,undefined)
elseif(EMPLACE_SANITIZER STREQUAL "thread")
  add_compile_options(-fsanitize=thread)
  add_link_options(-fsanitize=thread)
elseif(EMPLACE_SANITIZER)
  message(FATAL_ERROR "EMPLACE_SANITIZER is '${EMPLACE_SANITIZER}', expected empty, address or thread")
endif()
