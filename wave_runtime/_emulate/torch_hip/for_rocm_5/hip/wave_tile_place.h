// Members of thread_block_tile_type that newer HIPs have: which of the block's tiles it is, and how many there are.
__CG_STATIC_QUALIFIER__ unsigned int meta_group_rank() { return internal::workgroup::thread_rank() / tileSize; }

__CG_STATIC_QUALIFIER__ unsigned int meta_group_size() {
  return (internal::workgroup::size() + tileSize - 1) / tileSize;
}
