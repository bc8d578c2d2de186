// The type that torch's headers name, where hipBLASLt is not installed.
#pragma once

using hipblasLtHandle_t = void*;
