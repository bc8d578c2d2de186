// The types that torch's headers name, where hipSOLVER is not installed.
#pragma once

using hipsolverHandle_t = void*;
using hipsolverDnHandle_t = void*;
using hipsolverStatus_t = int;
