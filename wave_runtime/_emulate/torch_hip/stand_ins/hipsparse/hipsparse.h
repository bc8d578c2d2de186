// The types that torch's headers name, where hipSPARSE is not installed.
#pragma once

using hipsparseHandle_t = void*;
using hipsparseStatus_t = int;
