/* wave_runtime.h, used from C99: c_api_test KERNELS DRIVER, the binary of tests/conformance and a wave_driver whose
 * devices can access the host's memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wave_runtime.h>

#define EXPECT(condition)                                                                                           \
  do {                                                                                                              \
    if (!(condition)) {                                                                                             \
      fprintf(stderr, "%s:%d: not so: %s; last error: %s\n", __FILE__, __LINE__, #condition, wave_error_message()); \
      exit(1);                                                                                                      \
    }                                                                                                               \
  } while (0)
#define EXPECT_ERROR(call, status, part) \
  EXPECT((call) == (status));            \
  EXPECT(strstr(wave_error_message(), part) != NULL)

static const char kAdd[] = "a: *f32 const, b: *f32 const, c: *f32, n: i32";
static const char kStore[] =
    "out: *u8, i8: i8, u8: u8, i16: i16, u16: u16, i32: i32, u32: u32, i64: i64, u64: u64, flag: bool, half: f16, "
    "single: f32, twice: f64, mixed: bytes[24]";

static wave_device device;

static wave_launch_options options_of(int64_t grid, int64_t block) {
  wave_launch_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.device = device;
  options.grid[0] = grid, options.grid[1] = 1, options.grid[2] = 1;
  options.block[0] = block, options.block[1] = 1, options.block[2] = 1;
  return options;
}

static const wave_kernel* kernel_of(wave_module* module, const char* name, const char* signature) {
  const wave_kernel* kernel = NULL;
  EXPECT(wave_module_get_kernel(module, name, signature, &kernel) == WAVE_OK);
  return kernel;
}

static void test_loading(const char* path, wave_module* module) {
  wave_module* other = NULL;
  const wave_kernel* kernel = NULL;
  EXPECT(wave_api_version() >= WAVE_API_VERSION);
  EXPECT_ERROR(wave_module_load_file("/nowhere/file", NULL, &other), WAVE_FILE_ERROR, "/nowhere/file: No such file");
  EXPECT_ERROR(wave_module_load_file("/", NULL, &other), WAVE_FILE_ERROR, "/: ");
  EXPECT_ERROR(wave_module_load_file(NULL, NULL, &other), WAVE_INVALID_VALUE, "path is NULL");
  EXPECT_ERROR(wave_module_load_file(path, "gfx90a", &other), WAVE_INVALID_VALUE, "does not run on gfx90a");
  EXPECT_ERROR(wave_module_load_file(path, NULL, NULL), WAVE_INVALID_VALUE, "module is NULL");
  EXPECT_ERROR(wave_module_load("text", 4, NULL, &other), WAVE_INVALID_VALUE, "expected an AMDGPU code object");
  EXPECT(other == NULL);
  wave_module_free(NULL);

  const size_t count = wave_module_kernel_count(module);
  EXPECT(count > 5 && wave_module_kernel_name(module, count - 1) != NULL);
  EXPECT(wave_module_kernel_name(module, count) == NULL);
  EXPECT_ERROR(wave_module_get_kernel(module, "gone", NULL, &kernel), WAVE_INVALID_VALUE,
               "no kernel 'gone' in the file; ");
  EXPECT(strstr(wave_error_message(), "vector_add") != NULL);
  EXPECT_ERROR(wave_module_get_kernel(module, "vector_add", "*f32", &kernel), WAVE_INVALID_VALUE, "vector_add");
  EXPECT(kernel == NULL);
  EXPECT(kernel_of(module, "vector_add", kAdd) == kernel_of(module, "vector_add", kAdd));
}

static void test_queries(wave_module* module) {
  const wave_kernel* add = kernel_of(module, "vector_add", kAdd);
  wave_kernel_info info = {.size = sizeof info};
  EXPECT(wave_kernel_get_info(add, &info) == WAVE_OK);
  EXPECT(strcmp(info.name, "vector_add") == 0 && strcmp(info.signature, kAdd) == 0);
  EXPECT(strncmp(info.handle, "vector_add@", 11) == 0);
  EXPECT(info.parameter_count == 4 && info.argument_bytes >= 28 && info.block[0] == 0 && info.writes_known);

  wave_parameter parameter = {.size = sizeof parameter};
  EXPECT(wave_kernel_get_parameter(add, 2, &parameter) == WAVE_OK);
  EXPECT(strcmp(parameter.name, "c") == 0 && strcmp(parameter.type, "*f32") == 0);
  EXPECT(parameter.offset == 16 && parameter.bytes == 8 && parameter.is_pointer && parameter.is_written);
  EXPECT(wave_kernel_get_parameter(add, 0, &parameter) == WAVE_OK && !parameter.is_written);
  EXPECT_ERROR(wave_kernel_get_parameter(add, 4, &parameter), WAVE_INVALID_VALUE, "has 4 parameters, none at 4");

  /* A caller that knows of the first two fields only, and one that forgot. */
  wave_kernel_info old = {.size = offsetof(wave_kernel_info, signature)};
  EXPECT(wave_kernel_get_info(add, &old) == WAVE_OK && old.name == info.name && old.signature == NULL);
  old.size = 0;
  EXPECT_ERROR(wave_kernel_get_info(add, &old), WAVE_INVALID_VALUE, "info->size is 0");

  wave_device_info about = {.size = sizeof about};
  int32_t devices = 0;
  EXPECT(wave_device_count(device.driver, &devices) == WAVE_OK && devices >= 1);
  EXPECT(wave_device_get_info(device, &about) == WAVE_OK);
  EXPECT(strncmp(about.target, "gfx942", 6) == 0 && about.name[0] != 0 && about.max_block_size >= 64);
  wave_device other = {.driver = device.driver, .index = devices};
  EXPECT_ERROR(wave_device_get_info(other, &about), WAVE_DRIVER_ERROR, "there is no ");
  EXPECT_ERROR(wave_device_count((wave_driver)9, &devices), WAVE_INVALID_VALUE, "no driver 9");
}

static void test_launch(wave_module* module) {
  enum { kElements = 500 };
  const wave_kernel* add = kernel_of(module, "vector_add", kAdd);
  float a[kElements], b[kElements], c[kElements] = {0};
  for (int i = 0; i < kElements; ++i) a[i] = (float)i, b[i] = 0.5f;
  wave_launch_options options = options_of(2, 256);
  wave_argument arguments[] = {wave_memory(a, sizeof a), wave_memory(b, sizeof b), wave_memory(c, sizeof c),
                               wave_integer(kElements)};
  EXPECT(wave_check(add, &options, arguments, 4) == WAVE_OK);
  EXPECT(c[499] == 0);
  EXPECT(wave_launch(add, &options, arguments, 4) == WAVE_OK);
  for (int i = 0; i < kElements; ++i) EXPECT(c[i] == (float)i + 0.5f);

  EXPECT_ERROR(wave_launch(add, &options, arguments, 3), WAVE_INVALID_TYPE, "'vector_add' takes 4 arguments");
  EXPECT_ERROR(wave_launch(add, NULL, arguments, 4), WAVE_INVALID_VALUE, "options is NULL");
  EXPECT_ERROR(wave_launch(add, &options, NULL, 4), WAVE_INVALID_VALUE, "arguments is NULL");
  arguments[3] = wave_integer((int64_t)1 << 40);
  EXPECT_ERROR(wave_check(add, &options, arguments, 4), WAVE_INVALID_VALUE, "argument 3 'n': expected i32, an integer");
  arguments[3] = wave_float(1);
  EXPECT_ERROR(wave_check(add, &options, arguments, 4), WAVE_INVALID_TYPE, "expected i32, given the float 1");
  arguments[3] = wave_memory(a, 4);
  EXPECT_ERROR(wave_check(add, &options, arguments, 4), WAVE_INVALID_TYPE, "expected i32, given a pointer");
  arguments[3] = wave_integer(kElements);
  arguments[0] = wave_integer(1);
  EXPECT_ERROR(wave_check(add, &options, arguments, 4), WAVE_INVALID_TYPE, "argument 0 'a': expected *f32 const");
  arguments[0] = wave_memory(NULL, sizeof a);
  EXPECT_ERROR(wave_check(add, &options, arguments, 4), WAVE_INVALID_VALUE, "argument 0 'a': 2000 bytes at NULL");
  EXPECT_ERROR(wave_launch(add, &options, arguments, 4), WAVE_INVALID_VALUE, "argument 0 'a': 2000 bytes at NULL");
  arguments[0] = wave_memory(NULL, 0);
  EXPECT(wave_check(add, &options, arguments, 4) == WAVE_OK);
  arguments[0] = wave_memory((void*)(uintptr_t)-8, 16);
  if (device.driver == WAVE_EMULATOR) {
    EXPECT_ERROR(wave_check(add, &options, arguments, 4), WAVE_INVALID_VALUE,
                 "'vector_add', argument 0 'a': 16 bytes at 0xfffffffffffffff8 end past the last address");
  }
  arguments[0] = wave_memory(a, sizeof a);
  options.memory = &(wave_range){NULL, 8};
  options.memory_count = 1;
  EXPECT_ERROR(wave_check(add, &options, arguments, 4), WAVE_INVALID_VALUE, "options->memory[0]: 8 bytes at NULL");
  options.memory_count = 0;
  options.grid[1] = 0;
  EXPECT_ERROR(wave_check(add, &options, arguments, 4), WAVE_INVALID_VALUE, "grid");
  options = options_of(2, 2048);
  EXPECT_ERROR(wave_check(add, &options, arguments, 4), WAVE_INVALID_VALUE, "block");
  options = options_of(2, 0);
  options.block[1] = options.block[2] = 0;
  EXPECT_ERROR(wave_check(add, &options, arguments, 4), WAVE_INVALID_TYPE, "the binary fixes no workgroup size");
  options = options_of(2, 256);
  options.device.index = 77;
  EXPECT_ERROR(wave_check(add, &options, arguments, 4), WAVE_INVALID_VALUE, "device index 77");
  options = options_of(2, 256);
  options.size = 8;
  EXPECT_ERROR(wave_check(add, &options, arguments, 4), WAVE_INVALID_VALUE, "options->size is 8");
}

static void test_scalars(wave_module* module) {
  const wave_kernel* store = kernel_of(module, "store_scalars", kStore);
  const struct {
    float x;
    short y;
    double z;
    signed char w[3];
  } mixed = {1.5f, -7, -2.25, {1, -2, 3}};
  unsigned char out[128] = {0};
  wave_launch_options options = options_of(1, 64);
  wave_argument arguments[] = {wave_memory(out, sizeof out),
                               wave_integer(-1),
                               wave_integer(2),
                               wave_integer(-3),
                               wave_integer(4),
                               wave_integer(-5),
                               wave_integer(6),
                               wave_integer(-7),
                               wave_unsigned(~(uint64_t)0),
                               wave_integer(1),
                               wave_float(0.5),
                               wave_integer(3),
                               wave_float(1e-9),
                               wave_bytes(&mixed, sizeof mixed)};
  const size_t count = sizeof arguments / sizeof *arguments;
  EXPECT(wave_launch(store, &options, arguments, count) == WAVE_OK);
  float single, x;
  double twice, z;
  uint64_t u64;
  uint16_t half;
  memcpy(&half, out + 72, 2), memcpy(&single, out + 80, 4), memcpy(&twice, out + 88, 8), memcpy(&u64, out + 56, 8);
  memcpy(&x, out + 96, 4), memcpy(&z, out + 112, 8);
  EXPECT((signed char)out[0] == -1 && out[8] == 2 && out[32] == 0xfb && out[64] == 1);
  EXPECT(half == 0x3800 && single == 3 && twice == 1e-9 && u64 == ~(uint64_t)0 && x == 1.5f && z == -2.25);

  arguments[13] = wave_bytes(&mixed, 8);
  EXPECT_ERROR(wave_launch(store, &options, arguments, count), WAVE_INVALID_VALUE, "expected 24 bytes, given 8");
  arguments[13].kind = (wave_argument_kind)12;
  EXPECT_ERROR(wave_launch(store, &options, arguments, count), WAVE_INVALID_VALUE, "no kind of argument: 12");
}

static void test_packed(wave_module* module) {
  const wave_kernel* reverse = kernel_of(module, "reverse_dynamic", "a: *i32 const, b: *i32, n: i32");
  int a[100], b[100] = {0};
  for (int i = 0; i < 100; ++i) a[i] = i;
  const struct {
    const int* a;
    int* b;
    int n;
  } packed = {a, b, 100};
  const wave_range memory[] = {{a, sizeof a}, {b, sizeof b}};
  wave_launch_options options = options_of(1, 64);
  options.shared_memory = sizeof a;
  options.memory = memory;
  options.memory_count = 2;
  EXPECT(wave_launch_packed(reverse, &options, &packed, 20) == WAVE_OK);
  for (int i = 0; i < 100; ++i) EXPECT(b[i] == 99 - i);
  EXPECT_ERROR(wave_launch_packed(reverse, &options, &packed, 5000), WAVE_INVALID_VALUE,
               "bytes of arguments, given 5000");
  EXPECT_ERROR(wave_launch_packed(reverse, &options, NULL, 20), WAVE_INVALID_VALUE, "arguments is NULL");
  const wave_range past_the_last_address = {(void*)(uintptr_t)-8, 16};
  options.memory = &past_the_last_address;
  options.memory_count = 1;
  if (device.driver == WAVE_EMULATOR) {
    EXPECT_ERROR(wave_launch_packed(reverse, &options, &packed, 20), WAVE_INVALID_VALUE,
                 "memory[0]: 16 bytes at 0xfffffffffffffff8 end past the last address");
  }
  options.memory = NULL;
  EXPECT_ERROR(wave_launch_packed(reverse, &options, &packed, 20), WAVE_INVALID_VALUE, "options->memory is NULL");
}

static void test_fault(wave_module* module) {
  const wave_kernel* add = kernel_of(module, "vector_add", kAdd);
  float a[100] = {0}, c[100] = {0};
  wave_launch_options options = options_of(1, 128);
  wave_argument arguments[] = {wave_memory(a, sizeof a), wave_memory(a, sizeof a), wave_memory(c, 200),
                               wave_integer(100)};
  EXPECT_ERROR(wave_launch(add, &options, arguments, 4), WAVE_KERNEL_FAULT,
               "past the end of argument 2 'c', which has 200 bytes");
}

static void test_unloading(const char* path, wave_module* module) {
  const wave_kernel* add = kernel_of(module, "vector_add", kAdd);
  size_t devices = 0;
  EXPECT(wave_kernel_preload(add, device) == WAVE_OK);
  EXPECT(wave_module_unload(module, &devices) == WAVE_OK && devices == 1);
  EXPECT(wave_module_unload(module, &devices) == WAVE_OK && devices == 0);
  EXPECT(wave_module_unload(module, NULL) == WAVE_OK);
  wave_module_free(module);
  float a[4] = {1, 2, 3, 4}, c[4] = {0};
  wave_launch_options options = options_of(1, 64);
  wave_argument arguments[] = {wave_memory(a, sizeof a), wave_memory(a, sizeof a), wave_memory(c, sizeof c),
                               wave_integer(4)};
  EXPECT(wave_launch(add, &options, arguments, 4) == WAVE_OK && c[3] == 8);
  EXPECT(wave_module_load_file(path, "gfx942", &module) == WAVE_OK);
  wave_module_free(module);
}

int main(int argc, char** argv) {
  wave_module* module = NULL;
  if (argc != 3) return 2;
  EXPECT(wave_error_message()[0] == 0);
  device.driver = (wave_driver)atoi(argv[2]);
  EXPECT(wave_module_load_file(argv[1], NULL, &module) == WAVE_OK);
  test_loading(argv[1], module);
  test_queries(module);
  test_launch(module);
  test_scalars(module);
  test_packed(module);
  if (device.driver == WAVE_EMULATOR) test_fault(module);
  test_unloading(argv[1], module);
  puts("passed");
  return 0;
}
