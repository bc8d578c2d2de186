// Members of thread_block_tile_base that newer HIPs have. A lane's bit is its rank in the tile.
__CG_QUALIFIER__ unsigned long long ballot(int predicate) const {
  const unsigned int first = __lane_id() & ~(numThreads - 1);
  return __ballot(predicate) >> first & ~0ull >> (64 - numThreads);
}

__CG_QUALIFIER__ int any(int predicate) const { return ballot(predicate) != 0; }

__CG_QUALIFIER__ int all(int predicate) const { return ballot(!predicate) == 0; }

template <class T>
__CG_QUALIFIER__ unsigned long long match_any(T value) const {
  unsigned long long same = 0;
  for (unsigned int lane = 0; lane < numThreads; ++lane)
    same |= static_cast<unsigned long long>(shfl(value, lane) == value) << lane;
  return same & ballot(1);
}

template <class T>
__CG_QUALIFIER__ unsigned long long match_all(T value, int& predicate) const {
  const unsigned long long lanes = ballot(1);
  predicate = all(shfl(value, __ffsll(lanes) - 1) == value);
  return predicate ? lanes : 0;
}
