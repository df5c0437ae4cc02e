// For code that is compiled for the GPU by nvcc, and for the host by every other compiler.
#pragma once

#ifdef __CUDACC__
#define EMPLACE_DEVICE __device__ __forceinline__
#define EMPLACE_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define EMPLACE_DEVICE inline
#define EMPLACE_HOST_DEVICE inline
#endif
