# LibTorch from the pinned wheel, as the target emplace_torch.
#
# The CUDA wheel's own TorchConfig.cmake insists on a CUDA toolkit. We link libtorch_cpu and libc10 directly: the CPU half
# of the same wheel, which needs no toolkit and starts in a third of the time.
if(NOT EMPLACE_TORCH_VENV)
  set(cache_home $ENV{XDG_CACHE_HOME})
  if(NOT cache_home)
    set(cache_home $ENV{HOME}/.cache)
  endif()
  file(STRINGS ${PROJECT_SOURCE_DIR}/tools/setup.sh version REGEX "^torch_version=")
  string(REPLACE "torch_version=" "" version ${version})
  set(EMPLACE_TORCH_VENV ${cache_home}/emplace/torch-${version} CACHE PATH "" FORCE)
endif()
file(GLOB torch_root LIST_DIRECTORIES true ${EMPLACE_TORCH_VENV}/lib/python3*/site-packages/torch)
if(NOT torch_root)
  message(FATAL_ERROR "no torch wheel in ${EMPLACE_TORCH_VENV}: run tools/setup.sh, or pass -DEMPLACE_TORCH_VENV=DIR")
endif()

add_library(emplace_torch INTERFACE)
# SYSTEM: the wheel's headers are not ours to warn about.
target_include_directories(emplace_torch SYSTEM INTERFACE
  ${torch_root}/include ${torch_root}/include/torch/csrc/api/include)
# NDEBUG: some of the wheel's classes have more members without it, and the wheel was built with it.
target_compile_definitions(emplace_torch INTERFACE _GLIBCXX_USE_CXX11_ABI=1 NDEBUG)
target_link_options(emplace_torch INTERFACE -Wl,-rpath,${torch_root}/lib)
target_link_libraries(emplace_torch INTERFACE ${torch_root}/lib/libtorch_cpu.so ${torch_root}/lib/libc10.so)

# A file that includes LibTorch takes up to 3 GB to compile: targets marked TORCH (EmplaceTargets.cmake) compile as many at
# once as memory allows, whatever the number of jobs.
cmake_host_system_information(RESULT memory_mib QUERY TOTAL_PHYSICAL_MEMORY)
math(EXPR torch_jobs "(${memory_mib} + 3071) / 3072")
set_property(GLOBAL APPEND PROPERTY JOB_POOLS torch=${torch_jobs})

if(EMPLACE_CUDA)
  # LibTorch on the GPU, which only measurements compare with: the learner's own kernels need no LibTorch. Nothing in our
  # code names a symbol of libtorch_cuda; it registers the CUDA backend when it is loaded.
  add_library(emplace_torch_cuda INTERFACE)
  target_link_libraries(emplace_torch_cuda INTERFACE emplace_torch)
  target_link_options(emplace_torch_cuda INTERFACE -Wl,--no-as-needed ${torch_root}/lib/libtorch_cuda.so ${torch_root}/lib/libc10_cuda.so -Wl,--as-needed)
endif()
