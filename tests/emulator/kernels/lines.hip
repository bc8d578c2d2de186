// A kernel and a function with line tables: what a message says of a source line is tested with it.
extern "C" __attribute__((device)) __attribute__((noinline)) int square(int value) {
  return value * value;  // line 3
}

extern "C" __attribute__((global)) void squares(const int* in, int* out) {
  const int i = __builtin_amdgcn_workitem_id_x();
  out[i] = square(in[i]);  // line 8
}
