// CUDA's header, for which torch's in ATen/cuda and c10/cuda ask: whoever includes those is not converted.
#error \
    "CUDA's headers are not here, since the file that asks for them was not converted to HIP. hipify converts the sources \
of an extension and, of what they include, files whose names end in .h, .hpp or .cuh, in the extension's folder and in \
those of include_dirs or extra_include_paths: give the file such a name, or list its folder there"
