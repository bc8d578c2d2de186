// Products of matrices, and what torch's headers name, where hipBLAS is not installed. blas.cpp has the functions.
#pragma once

#include <hip/hip_runtime_api.h>
#include <hip/library_types.h>

#include <cstdint>

#ifdef HIPBLAS_USE_HIP_HALF
#include <hip/hip_fp16.h>
#endif

#define WAVE_HIPBLAS 1

typedef void* hipblasHandle_t;
#ifdef HIPBLAS_USE_HIP_HALF
typedef __half hipblasHalf;
#else
typedef uint16_t hipblasHalf;
#endif
typedef int64_t hipblasStride;
enum hipblasStatus_t {
  HIPBLAS_STATUS_SUCCESS,
  HIPBLAS_STATUS_NOT_INITIALIZED,
  HIPBLAS_STATUS_ALLOC_FAILED,
  HIPBLAS_STATUS_INVALID_VALUE,
  HIPBLAS_STATUS_MAPPING_ERROR,
  HIPBLAS_STATUS_EXECUTION_FAILED,
  HIPBLAS_STATUS_INTERNAL_ERROR,
  HIPBLAS_STATUS_NOT_SUPPORTED,
  HIPBLAS_STATUS_ARCH_MISMATCH
};
enum hipblasOperation_t { HIPBLAS_OP_N = 111, HIPBLAS_OP_T, HIPBLAS_OP_C };
enum hipblasPointerMode_t { HIPBLAS_POINTER_MODE_HOST, HIPBLAS_POINTER_MODE_DEVICE };
enum hipblasFillMode_t { HIPBLAS_FILL_MODE_UPPER = 121, HIPBLAS_FILL_MODE_LOWER, HIPBLAS_FILL_MODE_FULL };
enum hipblasDiagType_t { HIPBLAS_DIAG_NON_UNIT = 131, HIPBLAS_DIAG_UNIT };
enum hipblasSideMode_t { HIPBLAS_SIDE_LEFT = 141, HIPBLAS_SIDE_RIGHT, HIPBLAS_SIDE_BOTH };
enum hipblasGemmAlgo_t { HIPBLAS_GEMM_DEFAULT = 160 };
enum hipblasMath_t { HIPBLAS_DEFAULT_MATH, HIPBLAS_XF32_XDL_MATH, HIPBLAS_PEDANTIC_MATH, HIPBLAS_TENSOR_OP_MATH };
enum hipblasComputeType_t {
  HIPBLAS_COMPUTE_16F,
  HIPBLAS_COMPUTE_16F_PEDANTIC,
  HIPBLAS_COMPUTE_32F,
  HIPBLAS_COMPUTE_32F_PEDANTIC,
  HIPBLAS_COMPUTE_32F_FAST_16F,
  HIPBLAS_COMPUTE_32F_FAST_16BF,
  HIPBLAS_COMPUTE_32F_FAST_TF32,
  HIPBLAS_COMPUTE_64F,
  HIPBLAS_COMPUTE_64F_PEDANTIC,
  HIPBLAS_COMPUTE_32I,
  HIPBLAS_COMPUTE_32I_PEDANTIC
};

// Names of types from before HIP had its own, which hipBLAS 2 still has.
typedef hipDataType hipblasDatatype_t;
#define HIPBLAS_R_16F HIP_R_16F
#define HIPBLAS_R_16B HIP_R_16BF
#define HIPBLAS_R_32F HIP_R_32F
#define HIPBLAS_R_64F HIP_R_64F

extern "C" {

hipblasStatus_t hipblasCreate(hipblasHandle_t* handle);
hipblasStatus_t hipblasDestroy(hipblasHandle_t handle);
hipblasStatus_t hipblasSetStream(hipblasHandle_t handle, hipStream_t stream);
hipblasStatus_t hipblasGetStream(hipblasHandle_t handle, hipStream_t* stream);
hipblasStatus_t hipblasSetPointerMode(hipblasHandle_t handle, hipblasPointerMode_t mode);
hipblasStatus_t hipblasGetPointerMode(hipblasHandle_t handle, hipblasPointerMode_t* mode);
hipblasStatus_t hipblasSetMathMode(hipblasHandle_t handle, hipblasMath_t mode);

#define WAVE_GEMM(name, type)                                                                                        \
  hipblasStatus_t name(hipblasHandle_t handle, hipblasOperation_t transa, hipblasOperation_t transb, int m, int n,   \
                       int k, const type* alpha, const type* a, int lda, const type* b, int ldb, const type* beta,   \
                       type* c, int ldc);                                                                            \
  hipblasStatus_t name##StridedBatched(hipblasHandle_t handle, hipblasOperation_t transa, hipblasOperation_t transb, \
                                       int m, int n, int k, const type* alpha, const type* a, int lda,               \
                                       hipblasStride stridea, const type* b, int ldb, hipblasStride strideb,         \
                                       const type* beta, type* c, int ldc, hipblasStride stridec, int count);
WAVE_GEMM(hipblasHgemm, hipblasHalf)
WAVE_GEMM(hipblasSgemm, float)
WAVE_GEMM(hipblasDgemm, double)
#undef WAVE_GEMM

hipblasStatus_t hipblasGemmEx(hipblasHandle_t handle, hipblasOperation_t transa, hipblasOperation_t transb, int m,
                              int n, int k, const void* alpha, const void* a, hipDataType a_type, int lda,
                              const void* b, hipDataType b_type, int ldb, const void* beta, void* c, hipDataType c_type,
                              int ldc, hipblasComputeType_t compute, hipblasGemmAlgo_t algorithm);
hipblasStatus_t hipblasGemmStridedBatchedEx(hipblasHandle_t handle, hipblasOperation_t transa,
                                            hipblasOperation_t transb, int m, int n, int k, const void* alpha,
                                            const void* a, hipDataType a_type, int lda, hipblasStride stridea,
                                            const void* b, hipDataType b_type, int ldb, hipblasStride strideb,
                                            const void* beta, void* c, hipDataType c_type, int ldc,
                                            hipblasStride stridec, int count, hipblasComputeType_t compute,
                                            hipblasGemmAlgo_t algorithm);

}  // extern "C"
