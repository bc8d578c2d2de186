// As much of SYCL as a launch needs, on the host and one work-item after the other: no Intel GPU was at hand.
#pragma once

#include <cstddef>
#include <stdexcept>

namespace sycl {

template <int>
struct range {
  std::size_t extents[3];
  range(std::size_t z, std::size_t y, std::size_t x) : extents{z, y, x} {}
};

template <int n>
struct nd_range {
  range<n> global, local;
  nd_range(range<n> global, range<n> local) : global(global), local(local) {}
};

template <int>
struct nd_item {
  std::size_t group[3], local[3], size[3];
  std::size_t get_group(int dim) const { return group[dim]; }
  std::size_t get_local_id(int dim) const { return local[dim]; }
  std::size_t get_local_range(int dim) const { return size[dim]; }
  std::size_t get_global_id(int dim) const { return group[dim] * size[dim] + local[dim]; }
};

struct queue {
  template <class Body>
  void parallel_for(const nd_range<3>& shape, const Body& body) {
    const auto& [global, local] = shape;
    const std::size_t size = local.extents[0] * local.extents[1] * local.extents[2];
    if (size > 1024) throw std::runtime_error("a work-group of more than 1024 work-items");
    std::size_t id[3];
    for (id[0] = 0; id[0] < global.extents[0]; ++id[0])
      for (id[1] = 0; id[1] < global.extents[1]; ++id[1])
        for (id[2] = 0; id[2] < global.extents[2]; ++id[2]) {
          nd_item<3> item{};
          for (int dim = 0; dim < 3; ++dim) {
            item.size[dim] = local.extents[dim];
            item.group[dim] = id[dim] / local.extents[dim];
            item.local[dim] = id[dim] % local.extents[dim];
          }
          body(item);
        }
  }
};

}  // namespace sycl
