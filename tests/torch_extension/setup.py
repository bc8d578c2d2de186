from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="emulated_extension",
    ext_modules=[CUDAExtension("emulated_extension", ["operators.cpp", "kernels.cu"])],
    cmdclass={"build_ext": BuildExtension},
)
