// The version that sources ask for: of the HIP library over the emulator, unless an option says another.
#pragma once

#ifndef HIP_VERSION_MAJOR
#define HIP_VERSION_MAJOR 6
#endif
#ifndef HIP_VERSION_MINOR
#define HIP_VERSION_MINOR 4
#endif
#ifndef HIP_VERSION_PATCH
#define HIP_VERSION_PATCH 43482
#endif
#ifndef HIP_VERSION
#define HIP_VERSION (HIP_VERSION_MAJOR * 10000000 + HIP_VERSION_MINOR * 100000 + HIP_VERSION_PATCH)
#endif
