// Products of matrices as libraries for GPUs compute them, here by torch on the host: hipBLAS, where it is not
// installed, and torch's own functions over it. Matrices are stored by columns, and the products are in order with
// launches.

#include <chrono>  // before HIP's macros, of which __noinline__ is an attribute in it
//
#include <ATen/cuda/CUDABlas.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/from_blob.h>

#include <optional>

namespace {

using at::ScalarType;

struct Matrix {
  const void* data;
  ScalarType type;
  int64_t leading, stride;  // from column to column, and from matrix to matrix
  char operation = 'n';
};

// As many as the batch has. What is read behind the end of HIP's memory is a mistake, as in a kernel.
at::Tensor tensor(const Matrix& matrix, int64_t rows, int64_t columns, int64_t count) {
  const bool is_turned = matrix.operation != 'n' && matrix.operation != 'N';
  if (is_turned) std::swap(rows, columns);
  const int64_t elements =
      rows * columns * count == 0 ? 0 : (count - 1) * matrix.stride + (columns - 1) * matrix.leading + rows;
  const auto bytes = elements * static_cast<int64_t>(c10::elementSize(matrix.type));
  hipDeviceptr_t begin = nullptr;
  size_t size = 0;
  auto* const data = const_cast<void*>(matrix.data);
  if (elements > 0 && hipMemGetAddressRange(&begin, &size, data) != cudaSuccess) {
    (void)cudaGetLastError();
  } else if (elements > 0) {
    const int64_t behind = static_cast<char*>(data) - static_cast<char*>(begin) + bytes - static_cast<int64_t>(size);
    TORCH_CHECK(behind <= 0, "a product of matrices leaves the memory of one, by ", behind,
                " bytes past the end of the hipMalloc at ", begin, ", which has ", size, " bytes: ", count, " of ",
                rows, " x ", columns, " elements of ", matrix.type, ", columns ", matrix.leading, " apart");
  }
  const at::Tensor all = at::from_blob(data, {count, rows, columns}, {matrix.stride, 1, matrix.leading}, matrix.type);
  if (!is_turned) return all;
  return matrix.operation == 'c' || matrix.operation == 'C' ? all.mH() : all.mT();
}

void multiply(const Matrix& a, const Matrix& b, const Matrix& c, int64_t m, int64_t n, int64_t k, int64_t count,
              const at::Scalar& alpha, const at::Scalar& beta, ScalarType type) {
  const at::AutoDispatchBelowADInplaceOrView guard;
  const at::Tensor result = tensor(c, m, n, count);
  at::Tensor product = at::bmm(tensor(a, m, k, count).to(type), tensor(b, k, n, count).to(type)).mul_(alpha);
  if (!beta.equal(0)) product.add_(result.to(type), beta);  // else the result may be NaN before
  result.copy_(product);
}

}  // namespace

// ---- torch's functions

namespace at::cuda::blas {

#define WAVE_GEMMS(T)                                                                                            \
  template <>                                                                                                    \
  void gemm<T>(CUDABLAS_GEMM_ARGTYPES(T)) {                                                                      \
    constexpr ScalarType type = c10::CppTypeToScalarType<T>::value;                                              \
    multiply({a, type, lda, 0, transa}, {b, type, ldb, 0, transb}, {c, type, ldc, 0}, m, n, k, 1, alpha, beta,   \
             c10::CppTypeToScalarType<at::opmath_type<T>>::value);                                               \
  }                                                                                                              \
  template <>                                                                                                    \
  void bgemm<T>(CUDABLAS_BGEMM_ARGTYPES(T)) {                                                                    \
    constexpr ScalarType type = c10::CppTypeToScalarType<T>::value;                                              \
    multiply({a, type, lda, stridea, transa}, {b, type, ldb, strideb, transb}, {c, type, ldc, stridec}, m, n, k, \
             num_batches, alpha, beta, c10::CppTypeToScalarType<at::opmath_type<T>>::value);                     \
  }
WAVE_GEMMS(at::Half)
WAVE_GEMMS(at::BFloat16)
WAVE_GEMMS(float)
WAVE_GEMMS(double)
WAVE_GEMMS(c10::complex<float>)
WAVE_GEMMS(c10::complex<double>)

const char* _cublasGetErrorEnum(cublasStatus_t error) {
  return error == CUBLAS_STATUS_NOT_SUPPORTED ? "HIPBLAS_STATUS_NOT_SUPPORTED" : "an error of hipBLAS";
}

}  // namespace at::cuda::blas

#ifdef WAVE_HIPBLAS

// ---- hipBLAS

namespace {

struct Handle {
  cudaStream_t stream = nullptr;
  hipblasPointerMode_t mode = HIPBLAS_POINTER_MODE_HOST;  // on this device the host reads both
};

Handle& of(hipblasHandle_t handle) { return *static_cast<Handle*>(handle); }

char letter(hipblasOperation_t operation) {
  return operation == HIPBLAS_OP_N ? 'n' : operation == HIPBLAS_OP_T ? 't' : 'c';
}

std::optional<ScalarType> type_of(hipDataType type) {
  switch (type) {
    case HIP_R_16F:
      return at::kHalf;
    case HIP_R_16BF:
      return at::kBFloat16;
    case HIP_R_32F:
      return at::kFloat;
    case HIP_R_64F:
      return at::kDouble;
    default:
      return std::nullopt;
  }
}

std::optional<ScalarType> type_of(hipblasComputeType_t type) {
  if (type <= HIPBLAS_COMPUTE_16F_PEDANTIC) return at::kHalf;
  if (type <= HIPBLAS_COMPUTE_32F_FAST_TF32) return at::kFloat;
  if (type <= HIPBLAS_COMPUTE_64F_PEDANTIC) return at::kDouble;
  return std::nullopt;
}

at::Scalar factor(const void* value, ScalarType type) {
  return at::from_blob(const_cast<void*>(value), {}, type).item();
}

}  // namespace

extern "C" {

hipblasStatus_t hipblasCreate(hipblasHandle_t* handle) {
  *handle = new Handle;
  return HIPBLAS_STATUS_SUCCESS;
}
hipblasStatus_t hipblasDestroy(hipblasHandle_t handle) {
  delete static_cast<Handle*>(handle);
  return HIPBLAS_STATUS_SUCCESS;
}
hipblasStatus_t hipblasSetStream(hipblasHandle_t handle, hipStream_t stream) {
  of(handle).stream = stream;
  return HIPBLAS_STATUS_SUCCESS;
}
hipblasStatus_t hipblasGetStream(hipblasHandle_t handle, hipStream_t* stream) {
  *stream = of(handle).stream;
  return HIPBLAS_STATUS_SUCCESS;
}
hipblasStatus_t hipblasSetPointerMode(hipblasHandle_t handle, hipblasPointerMode_t mode) {
  of(handle).mode = mode;
  return HIPBLAS_STATUS_SUCCESS;
}
hipblasStatus_t hipblasGetPointerMode(hipblasHandle_t handle, hipblasPointerMode_t* mode) {
  *mode = of(handle).mode;
  return HIPBLAS_STATUS_SUCCESS;
}
hipblasStatus_t hipblasSetMathMode(hipblasHandle_t, hipblasMath_t) { return HIPBLAS_STATUS_SUCCESS; }

hipblasStatus_t hipblasGemmStridedBatchedEx(hipblasHandle_t, hipblasOperation_t transa, hipblasOperation_t transb,
                                            int m, int n, int k, const void* alpha, const void* a, hipDataType a_type,
                                            int lda, hipblasStride stridea, const void* b, hipDataType b_type, int ldb,
                                            hipblasStride strideb, const void* beta, void* c, hipDataType c_type,
                                            int ldc, hipblasStride stridec, int count, hipblasComputeType_t compute,
                                            hipblasGemmAlgo_t) {
  const auto type = type_of(compute), of_a = type_of(a_type), of_b = type_of(b_type), of_c = type_of(c_type);
  if (!type || !of_a || !of_b || !of_c) return HIPBLAS_STATUS_NOT_SUPPORTED;
  // Halves are summed up as floats, as AMD's matrix instructions do.
  multiply({a, *of_a, lda, stridea, letter(transa)}, {b, *of_b, ldb, strideb, letter(transb)}, {c, *of_c, ldc, stridec},
           m, n, k, count, factor(alpha, *type), factor(beta, *type), *type == at::kHalf ? at::kFloat : *type);
  return HIPBLAS_STATUS_SUCCESS;
}

hipblasStatus_t hipblasGemmEx(hipblasHandle_t handle, hipblasOperation_t transa, hipblasOperation_t transb, int m,
                              int n, int k, const void* alpha, const void* a, hipDataType a_type, int lda,
                              const void* b, hipDataType b_type, int ldb, const void* beta, void* c, hipDataType c_type,
                              int ldc, hipblasComputeType_t compute, hipblasGemmAlgo_t algorithm) {
  return hipblasGemmStridedBatchedEx(handle, transa, transb, m, n, k, alpha, a, a_type, lda, 0, b, b_type, ldb, 0, beta,
                                     c, c_type, ldc, 0, 1, compute, algorithm);
}

#define WAVE_GEMM(name, type, of_data, compute)                                                                      \
  hipblasStatus_t name##StridedBatched(hipblasHandle_t handle, hipblasOperation_t transa, hipblasOperation_t transb, \
                                       int m, int n, int k, const type* alpha, const type* a, int lda,               \
                                       hipblasStride stridea, const type* b, int ldb, hipblasStride strideb,         \
                                       const type* beta, type* c, int ldc, hipblasStride stridec, int count) {       \
    return hipblasGemmStridedBatchedEx(handle, transa, transb, m, n, k, alpha, a, of_data, lda, stridea, b, of_data, \
                                       ldb, strideb, beta, c, of_data, ldc, stridec, count, compute,                 \
                                       HIPBLAS_GEMM_DEFAULT);                                                        \
  }                                                                                                                  \
  hipblasStatus_t name(hipblasHandle_t handle, hipblasOperation_t transa, hipblasOperation_t transb, int m, int n,   \
                       int k, const type* alpha, const type* a, int lda, const type* b, int ldb, const type* beta,   \
                       type* c, int ldc) {                                                                           \
    return name##StridedBatched(handle, transa, transb, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1);   \
  }
WAVE_GEMM(hipblasHgemm, hipblasHalf, HIP_R_16F, HIPBLAS_COMPUTE_16F)
WAVE_GEMM(hipblasSgemm, float, HIP_R_32F, HIPBLAS_COMPUTE_32F)
WAVE_GEMM(hipblasDgemm, double, HIP_R_64F, HIPBLAS_COMPUTE_64F)

}  // extern "C"

namespace at::cuda {

static cublasHandle_t current_blas_handle() {
  static thread_local Handle handle;
  handle.stream = getCurrentCUDAStream();
  return &handle;
}

cublasHandle_t getCurrentCUDABlasHandle(bool) { return current_blas_handle(); }
cublasHandle_t getCurrentCUDABlasHandle() { return current_blas_handle(); }  // up to torch 2.12

}  // namespace at::cuda

#endif
