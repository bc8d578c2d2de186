// What torch's headers name, where hipBLAS is not installed.
#pragma once

using hipblasHandle_t = void*;
enum hipblasStatus_t { HIPBLAS_STATUS_SUCCESS, HIPBLAS_STATUS_NOT_INITIALIZED, HIPBLAS_STATUS_NOT_SUPPORTED = 7 };
enum hipblasOperation_t { HIPBLAS_OP_N = 111, HIPBLAS_OP_T, HIPBLAS_OP_C };
enum hipblasPointerMode_t { HIPBLAS_POINTER_MODE_HOST, HIPBLAS_POINTER_MODE_DEVICE };
enum hipblasFillMode_t { HIPBLAS_FILL_MODE_UPPER = 121, HIPBLAS_FILL_MODE_LOWER, HIPBLAS_FILL_MODE_FULL };
enum hipblasDiagType_t { HIPBLAS_DIAG_NON_UNIT = 131, HIPBLAS_DIAG_UNIT };
enum hipblasSideMode_t { HIPBLAS_SIDE_LEFT = 141, HIPBLAS_SIDE_RIGHT, HIPBLAS_SIDE_BOTH };

inline hipblasStatus_t hipblasGetPointerMode(hipblasHandle_t, hipblasPointerMode_t*) {
  return HIPBLAS_STATUS_NOT_SUPPORTED;
}
inline hipblasStatus_t hipblasSetPointerMode(hipblasHandle_t, hipblasPointerMode_t) {
  return HIPBLAS_STATUS_NOT_SUPPORTED;
}
