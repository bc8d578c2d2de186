#include "base/decompress.h"

#include <cstddef>
#include <string>

#include "base/dynamic_library.h"
#include "base/fork_safe.h"
#include "base/lz4.h"

namespace wave {
namespace {

constexpr uint64_t kMaxSize = uint64_t{4} << 30;
constexpr uint64_t kMaxRatio = 1024;

// The part of zlib.h and zstd.h that is used; both are stable since the libraries' first releases.
using ZlibUncompress = int(unsigned char*, unsigned long*, const unsigned char*, unsigned long);
using ZstdDecompress = size_t(void*, size_t, const void*, size_t);
using ZstdFindFrameCompressedSize = size_t(const void*, size_t);
using ZstdIsError = unsigned(size_t);
using ZstdGetErrorName = const char*(size_t);

struct Zlib {
  DynamicLibrary library;
  ZlibUncompress* uncompress = library.function<ZlibUncompress>("uncompress");
};

struct Zstd {
  DynamicLibrary library;
  ZstdDecompress* decompress = library.function<ZstdDecompress>("ZSTD_decompress");
  ZstdFindFrameCompressedSize* frame_size =
      library.function<ZstdFindFrameCompressedSize>("ZSTD_findFrameCompressedSize");
  ZstdIsError* is_error = library.function<ZstdIsError>("ZSTD_isError");
  ZstdGetErrorName* error_name = library.function<ZstdGetErrorName>("ZSTD_getErrorName");
};

Lazy<Zlib>& opened_zlib = *new Lazy<Zlib>();
Lazy<Zstd>& opened_zstd = *new Lazy<Zstd>();

// Opened once and kept until the process ends; a failure is reported to each caller.
template <class Library>
const Library& library(Lazy<Library>& opened, const char* soname) {
  return opened.get([&] {
    const std::string name = soname;
    return Library{DynamicLibrary::open({&name, 1})};
  });
}

std::string zlib_reason(int code) {
  switch (code) {
    case -3:
      return "damaged zlib stream";
    case -4:
      return "zlib is out of memory";
    case -5:
      return "the zlib stream is cut short or holds more than declared";
    default:
      return text("zlib error ", code);
  }
}

void decompress_zlib(const Bytes& payload, std::vector<uint8_t>& out) {
  const Zlib& zlib = library(opened_zlib, "libz.so.1");
  unsigned long size = out.size();
  const int code = zlib.uncompress(out.data(), &size, payload.data(), payload.size());
  if (code != 0) payload.fail(0, zlib_reason(code));
  if (size != out.size()) payload.fail(0, text("decompresses to ", size, " bytes, declared are ", out.size()));
}

void decompress_zstd(const Bytes& payload, std::vector<uint8_t>& out) {
  const Zstd& zstd = library(opened_zstd, "libzstd.so.1");
  size_t result = zstd.frame_size(payload.data(), payload.size());
  if (!zstd.is_error(result)) result = zstd.decompress(out.data(), out.size(), payload.data(), result);
  if (zstd.is_error(result)) payload.fail(0, text("zstd: ", zstd.error_name(result)));
  if (result != out.size()) payload.fail(0, text("decompresses to ", result, " bytes, declared are ", out.size()));
}

}  // namespace

std::vector<uint8_t> decompress(Compression method, const Bytes& payload, uint64_t size) {
  if (size > kMaxSize) payload.fail(0, text("declares ", size, " bytes decompressed, more than the limit of 4 GiB"));
  if (size > kMaxRatio * payload.size()) {
    payload.fail(0,
                 text("declares ", size, " bytes decompressed, more than ", kMaxRatio, " times its ", payload.size()));
  }
  if (size == 0) payload.fail(0, "declares 0 bytes decompressed");
  std::vector<uint8_t> out(size);
  switch (method) {
    case Compression::Zlib:
      decompress_zlib(payload, out);
      return out;
    case Compression::Zstd:
      decompress_zstd(payload, out);
      return out;
    case Compression::Lz4:
      decompress_lz4(payload, out);
      return out;
  }
  return {};  // no other method
}

}  // namespace wave
