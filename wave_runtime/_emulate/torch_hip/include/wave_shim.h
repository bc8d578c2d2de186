// Functions of the stable ABI that know no emulated GPU in a torch for the CPU: stable.cpp has others in their place.
#pragma once

#define aoti_torch_device_type_cuda aoti_torch_device_type_cpu
#define aoti_torch_create_device_guard wave_create_device_guard
#define aoti_torch_delete_device_guard wave_delete_device_guard
#define aoti_torch_device_guard_set_index wave_device_guard_set_index
#define aoti_torch_get_current_device_index wave_get_current_device_index
#define aoti_torch_get_current_stream wave_get_current_stream
#define torch_stream_native_handle wave_stream_native_handle
