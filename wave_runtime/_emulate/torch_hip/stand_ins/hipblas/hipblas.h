// The types that torch's headers name, where hipBLAS is not installed.
#pragma once

using hipblasHandle_t = void*;
using hipblasStatus_t = int;
#define HIPBLAS_STATUS_SUCCESS 0
