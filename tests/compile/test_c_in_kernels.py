"""What programs take for granted of C, C++ and HIP beside its functions: memcpy, std::complex, older names, headers."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

import wave_runtime

HEADERS = ["channel_descriptor", "device_functions", "driver_types", "hip_common", "hip_ext", "hip_runtime_api"]
HEADERS += ["hip_texture_types", "hip_vector_types", "hip_version", "math_functions", "surface_types", "texture_types"]

pytestmark = pytest.mark.usefixtures("clang")


@pytest.mark.each_value
@pytest.mark.parametrize("include", ["", "#include <string.h>", "#include <cstring>"])
@pytest.mark.parametrize("options", [["-O0"], ["-O3", "-std=c++20"]])
def test_memory(each_clang: str, include: str, options: list[str]) -> None:
    """Of sizes that the compiler knows and that it does not, in LDS, too."""
    space = "std::" if "cstring" in include else ""
    source = f"""{include}
    extern "C" __global__ void move(const unsigned char* in, unsigned char* out, int n) {{
      unsigned char four[4];
      __shared__ unsigned char shared[16];
      {space}memcpy(four, in, sizeof four);
      {space}memcpy(shared, in, n);
      {space}memcpy(out, four, 4);
      {space}memset(out + 4, 7, 4);
      {space}memset(out + 8, n, n);
      {space}memcpy(out + 16, shared, n);
      {space}memmove(out + 17, out + 16, n);
      {space}memmove(out + 30, out + 31, 3);
    }}"""
    data, out = torch.arange(1, 9, dtype=torch.uint8), torch.zeros(40, dtype=torch.uint8)
    out[31:34] = torch.tensor([50, 51, 52])
    wave_runtime.compile(source, options=options)["move"](data, out, 5, grid=1, block=1)
    expected = [1, 2, 3, 4, *[7] * 4, *[5] * 5, 0, 0, 0, 1, 1, 2, 3, 4, 5, *[0] * 8, 50, 51, 52, 52, *[0] * 6]
    assert out.tolist() == expected


@pytest.mark.each_value
@pytest.mark.parametrize("include", ["", "#include <memory>\n#include <new>"])
@pytest.mark.parametrize("target", ["gfx942", "gfx1201"])
@pytest.mark.parametrize("options", [["-O0"], ["-O3", "-std=c++20"]])
def test_objects(each_clang: str, include: str, target: str, options: list[str]) -> None:
    """Virtual functions, pure ones among them, of objects that a kernel allocates, or makes in memory that it has."""
    source = f"""{include}
    struct Shape {{
      __device__ virtual int area(int more) const = 0;
      __device__ virtual ~Shape() {{}}
    }};
    struct Square : Shape {{
      int side;
      __device__ Square(int side) : side(side) {{}}
      __device__ int area(int more) const override {{ return side * side + more; }}
    }};
    struct Half : Square {{
      __device__ Half(int side) : Square(side) {{}}
      __device__ int area(int more) const override {{ return Square::area(more) / 2; }}
    }};
    extern "C" __global__ void areas(int* out) {{
      const int i = threadIdx.x;
      const Shape* shape = i % 2 ? new Square(i) : static_cast<const Shape*>(new Half(i));
      out[i] = shape->area(6);
      delete shape;
      int* numbers = new int[i + 1];
      numbers[i] = i;
      out[i] += 10000 * numbers[i];
      delete[] numbers;
      alignas(Square) unsigned char room[sizeof(Square)];
      const Square* square = new (room) Square(2);
      out[i] += 1000000 * square->area(1);
      square->~Square();
    }}"""
    out, i = torch.zeros(64, dtype=torch.int32), torch.arange(64)
    wave_runtime.compile(source, target=target, options=options)["areas"](out, grid=1, block=64)
    areas = torch.where(i % 2 == 1, i * i + 6, (i * i + 6) // 2)
    assert torch.equal(out.long(), areas + 10000 * i + 5000000)


def test_without_any_of_rocm(each_clang: str, tmp_path: Path) -> None:
    """clang's headers for C++ in kernels, which it leaves out where it finds no HIP of some release."""
    source = """
    #include <complex>
    #include <iostream>
    extern "C" __global__ void multiply(float* numbers) {
      alignas(std::complex<float>) unsigned char room[sizeof(std::complex<float>)];
      auto* number = new (room) std::complex<float>(numbers[0], numbers[1]);
      *number *= *number;
      numbers[0] = number->real();
      numbers[1] = number->imag();
    }"""
    numbers = torch.tensor([3.0, 4.0])
    wave_runtime.compile(source, options=[f"--rocm-path={tmp_path}"])["multiply"](numbers, grid=1, block=1)
    assert numbers.tolist() == [-7, 24]


def test_attributes_as_other_headers_write_them(each_clang: str) -> None:
    """Those of libstdc++ 13 have names that HIP programs write alone."""
    source = """
    __attribute__((__noinline__, __cold__)) __device__ int one_more(int number) { return number + 1; }
    __noinline__ __device__ int twice(int number) { return 2 * number; }
    extern "C" __global__ void change(int* number) { *number = twice(one_more(*number)); }"""
    number = torch.tensor([20], dtype=torch.int32)
    wave_runtime.compile(source)["change"](number, grid=1, block=1)
    assert number.item() == 42


@pytest.mark.each_value
@pytest.mark.parametrize("options", [["-O0"], ["-O3"]])
def test_new_that_does_not_throw_and_aligns(each_clang: str, options: list[str]) -> None:
    """`std::nothrow` is the host's in the library, and clang's <new> for kernels has no operators that align."""
    source = """
    struct Row { int values[4]; __device__ Row() { for (int i = 0; i < 4; ++i) values[i] = i; } };
    struct alignas(256) Line { int value = 6; };
    extern "C" __global__ void allocate(int* out) {
      const int i = threadIdx.x;
      Row *one = new (std::nothrow) Row, *rows = new (std::nothrow) Row[2];
      out[i] = one->values[3] + rows[1].values[2];
      delete one;
      delete[] rows;
      Line *line = new Line, *lines = new Line[2], *other = new (std::nothrow) Line;
      const size_t addresses = reinterpret_cast<size_t>(line) | reinterpret_cast<size_t>(lines) |
                               reinterpret_cast<size_t>(other);
      out[i] += 10 * (line->value + lines[1].value + other->value) + 1000 * (addresses % alignof(Line));
      delete line;
      delete[] lines;
      delete other;
      Line* const nothing = nullptr;
      delete nothing;
      void* const bytes = ::operator new[](8, std::nothrow);
      ::operator delete[](bytes, std::nothrow);
    }"""
    out = torch.zeros(64, dtype=torch.int32)
    with wave_runtime.sanitize("memory") as report:
        wave_runtime.compile(source, options=options)["allocate"](out, grid=1, block=64)
    assert out.unique().tolist() == [185]
    assert report.findings == []


def test_alignment() -> None:
    source = """
    struct __align__(16) Pair { float a, b; };
    static_assert(alignof(Pair) == 16 && sizeof(Pair) == 16);
    extern "C" __global__ void store(int* out) {
      extern __shared__ __align__(16) unsigned char bytes[];
      out[threadIdx.x] = reinterpret_cast<unsigned long long>(bytes) % 16;
    }"""
    out = torch.ones(4, dtype=torch.int32)
    wave_runtime.compile(source)["store"](out, grid=1, block=4, shared_memory=64)
    assert not out.any()


def test_older_names() -> None:
    sizes = ("hipThreadIdx", "hipBlockIdx", "hipBlockDim", "hipGridDim")
    source = f"""
    extern "C" __global__ void store(int* out) {{
      const unsigned all[] = {{{", ".join(f"{name}_{letter}" for name in sizes for letter in "xyz")}}};
      const int item = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
      const int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
      if (item == 5 && thread == 7) for (int i = 0; i < 12; ++i) out[i] = all[i];
    }}"""
    out = torch.zeros(12, dtype=torch.int32)
    wave_runtime.compile(source)["store"](out, grid=(2, 2, 2), block=(2, 3, 4))
    assert out.tolist() == [1, 0, 1, 1, 0, 1, 2, 3, 4, 2, 2, 2]


@pytest.mark.parametrize("include", ["", "#include <cstdlib>", "#include <stdlib.h>"])
def test_absolute_values(include: str) -> None:
    space = "std::" if "cstdlib" in include else ""
    source = f"""{include}
    extern "C" __global__ void store(long long* x) {{
      x[0] = {space}labs(x[0]);
      x[1] = {space}llabs(x[1]);
      x[2] = labs(x[2]) + abs(x[3]);
    }}"""
    x = torch.tensor([-(1 << 40), -3, 5, -7])
    wave_runtime.compile(source)["store"](x, grid=1, block=1)
    assert x.tolist() == [1 << 40, 3, 12, -7]


COMPLEX = """
#include <complex>
using Number = std::complex<NUMBER>;
extern "C" __global__ void both(const NUMBER* a, const NUMBER* b, NUMBER* to, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const Number left(a[2 * i], a[2 * i + 1]), right(b[2 * i], b[2 * i + 1]);
  reinterpret_cast<Number*>(to)[i] = left * right;
  reinterpret_cast<Number*>(to)[n + i] = left / right;
}"""
REAL = {"float": torch.float32, "double": torch.float64}


def products_and_quotients(name: str, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    real = [torch.view_as_real(x.to(REAL[name].to_complex())).contiguous().view(-1) for x in (a, b)]
    out = torch.empty(2 * real[0].numel(), dtype=REAL[name])
    kernel = wave_runtime.compile(COMPLEX, defines={"NUMBER": name})["both"]
    kernel(*real, out, len(a), grid=-(-len(a) // 256), block=256)
    return torch.view_as_complex(out.view(2, len(a), 2))


@pytest.mark.each_value
@pytest.mark.parametrize("name", REAL)
def test_complex_numbers(each_clang: str, name: str) -> None:
    """Small ones and large ones, whose squares are not in the format."""
    limit = 100 if name == "float" else 900
    scales = 2.0 ** torch.linspace(-limit, limit, 501, dtype=torch.float64)
    a, like, unlike = (torch.randn(501, dtype=torch.complex128) * scale for scale in (scales, scales, scales.flip(0)))
    a, like, unlike = (x.to(REAL[name].to_complex()).to(torch.complex128) for x in (a, like, unlike))
    product, quotient = products_and_quotients(name, a, unlike)[0], products_and_quotients(name, a, like)[1]
    bound = 4 * torch.finfo(REAL[name]).eps
    assert ((product - a * unlike).abs() <= bound * (a * unlike).abs()).all()
    assert ((quotient - a / like).abs() <= bound * (a / like).abs()).all()


@pytest.mark.parametrize("name", REAL)
def test_complex_numbers_that_are_infinite(name: str) -> None:
    """Annex G of C: one component that is infinite makes an infinite number, whatever the other one is."""
    inf, nan = math.inf, math.nan
    numbers = [complex(x, y) for x in (0.0, -0.0, 1.0, -2.0, inf, -inf, nan) for y in (0.0, -3.0, inf, -inf, nan)]
    pairs = [(a, b) for a in numbers for b in numbers]
    a, b = (torch.tensor(side, dtype=torch.complex128) for side in zip(*pairs, strict=True))
    products, quotients = products_and_quotients(name, a, b).tolist()
    for (left, right), product, quotient in zip(pairs, products, quotients, strict=True):
        kinds = (kind(left), kind(right))
        if "infinite" in kinds and kinds[0] in ("infinite", "finite") and kinds[1] in ("infinite", "finite"):
            assert kind(product) == "infinite", (left, right, product)
        if kinds in (("infinite", "finite"), ("infinite", "zero"), ("finite", "zero")):
            assert kind(quotient) == "infinite", (left, right, quotient)
        if kinds in (("zero", "finite"), ("zero", "infinite"), ("finite", "infinite")):
            assert kind(quotient) == "zero", (left, right, quotient)
        if "nan" in kinds and "infinite" not in kinds and right != 0:
            assert kind(product) == kind(quotient) == "nan", (left, right, product, quotient)


def kind(number: complex) -> str:
    if math.isinf(number.real) or math.isinf(number.imag):
        return "infinite"
    if math.isnan(number.real) or math.isnan(number.imag):
        return "nan"
    return "finite" if number else "zero"


@pytest.mark.parametrize("header", HEADERS)
def test_headers(header: str) -> None:
    """Ours, not those of a HIP in /usr/include, which declare the same."""
    source = f"""
    #include <hip/{header}.h>
    #if __HIP_PLATFORM_AMD__ != 1 || HIP_VERSION_MAJOR < 6 || HIP_VERSION < 60000000
    #error which HIP
    #endif
    __global__ void none() {{}}"""
    wave_runtime.compile(source)


def test_a_version_of_the_options() -> None:
    source = """
    #if HIP_VERSION != 50200003 || HIP_VERSION_MAJOR != 5
    #error which HIP
    #endif
    __global__ void none() {}"""
    defines = {"HIP_VERSION_MAJOR": 5, "HIP_VERSION_MINOR": 2, "HIP_VERSION_PATCH": 3}
    wave_runtime.compile(source, defines=defines)
