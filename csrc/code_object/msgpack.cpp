#include "code_object/msgpack.h"

#include <array>

namespace wave {
namespace {

constexpr size_t kMaxDepth = 64;

// A big-endian number of 1, 2, 4 or 8 bytes.
uint64_t read_number(const Bytes& bytes, uint64_t offset, unsigned width) {
  uint64_t value = 0;
  for (unsigned i = 0; i < width; ++i) value = value << 8 | bytes.read<uint8_t>(offset + i);
  return value;
}

}  // namespace

// A string, binary or extension whose length takes `length_bytes`; `extra` bytes (an extension's type) precede the
// payload.
MsgpackReader::Head MsgpackReader::sized(Type type, unsigned length_bytes, uint64_t extra) const {
  const uint64_t length = read_number(bytes_, at_ + 1, length_bytes);
  return {.type = type, .payload = length, .head = 1 + length_bytes + extra};
}

MsgpackReader::Head MsgpackReader::number(Type type, unsigned width, bool is_signed) const {
  uint64_t value = read_number(bytes_, at_ + 1, width);
  const bool negative = is_signed && (value >> (8 * width - 1)) != 0;
  if (negative && width < 8) value |= ~uint64_t{0} << (8 * width);
  return {.type = type, .value = value, .negative = negative, .head = 1u + width};
}

// Every element takes at least a byte, so that a count beyond the bytes left is a lie.
MsgpackReader::Head MsgpackReader::container(Type type, uint64_t count, uint64_t head) const {
  const uint64_t least = type == Type::Map ? 2 * count : count;
  const uint64_t left = bytes_.size() - at_ - head;
  if (least > left) bytes_.fail(at_, text("a MessagePack container of ", count, " elements, ", left, " bytes left"));
  return {.type = type, .value = count, .head = head};
}

MsgpackReader::Head MsgpackReader::counted(Type type, unsigned count_bytes) const {
  return container(type, read_number(bytes_, at_ + 1, count_bytes), 1 + count_bytes);
}

// The specification's table of first bytes, in its order; within a row the widths double from byte to byte.
MsgpackReader::Head MsgpackReader::peek() const {
  const uint8_t first = bytes_.read<uint8_t>(at_);
  if (first <= 0x7f) return {.type = Type::Integer, .value = first};
  if (first <= 0x8f) return container(Type::Map, first & 0x0f, 1);
  if (first <= 0x9f) return container(Type::Array, first & 0x0f, 1);
  if (first <= 0xbf) return {.type = Type::String, .payload = first & 0x1fu};
  if (first == 0xc0) return {.type = Type::Nil};
  if (first == 0xc1) bytes_.fail(at_, "byte 0xc1 starts no MessagePack value");
  if (first <= 0xc3) return {.type = Type::Boolean, .value = first - 0xc2u};
  if (first <= 0xc6) return sized(Type::Binary, 1u << (first - 0xc4), 0);
  if (first <= 0xc9) return sized(Type::Extension, 1u << (first - 0xc7), 1);
  if (first <= 0xcb) return number(Type::Float, 4u << (first - 0xca), false);
  if (first <= 0xcf) return number(Type::Integer, 1u << (first - 0xcc), false);
  if (first <= 0xd3) return number(Type::Integer, 1u << (first - 0xd0), true);
  if (first <= 0xd8) return {.type = Type::Extension, .payload = 1u << (first - 0xd4), .head = 2};
  if (first <= 0xdb) return sized(Type::String, 1u << (first - 0xd9), 0);
  if (first <= 0xdd) return counted(Type::Array, 2u << (first - 0xdc));
  if (first <= 0xdf) return counted(Type::Map, 2u << (first - 0xde));
  return {.type = Type::Integer, .value = ~uint64_t{0xff} | first, .negative = true};
}

MsgpackReader::Head MsgpackReader::expect(Type type, const char* name) {
  const Head head = peek();
  if (head.type != type) bytes_.fail(at_, text("a MessagePack ", name, " wanted, another type found"));
  bytes_.slice(at_, head.head + head.payload);
  start_ = at_;
  at_ += head.head + head.payload;
  return head;
}

MsgpackReader::Type MsgpackReader::type() const { return peek().type; }

uint64_t MsgpackReader::read_uint() {
  const Head head = expect(Type::Integer, "integer");
  if (head.negative) fail("a number that must not be negative is");
  return head.value;
}

bool MsgpackReader::read_bool() { return expect(Type::Boolean, "Boolean").value != 0; }

std::string_view MsgpackReader::read_string() {
  const Head head = expect(Type::String, "string");
  return bytes_.characters(at_ - head.payload, head.payload);
}

uint32_t MsgpackReader::read_array() { return static_cast<uint32_t>(expect(Type::Array, "array").value); }

uint32_t MsgpackReader::read_map() { return static_cast<uint32_t>(expect(Type::Map, "map").value); }

void MsgpackReader::skip() {
  // Values still to pass over in each container that is open, so that hostile nesting takes no stack.
  std::array<uint64_t, kMaxDepth> pending{1};
  for (size_t depth = 0;;) {
    while (pending[depth] == 0) {
      if (depth == 0) return;
      --depth;
    }
    --pending[depth];
    const Head head = peek();
    bytes_.slice(at_, head.head + head.payload);
    start_ = at_;
    at_ += head.head + head.payload;
    if (head.type != Type::Array && head.type != Type::Map) continue;
    if (depth + 1 == kMaxDepth) fail("MessagePack nested too deeply");
    pending[++depth] = head.type == Type::Map ? 2 * head.value : head.value;
  }
}

}  // namespace wave
