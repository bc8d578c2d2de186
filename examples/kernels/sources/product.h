// The matrix product that kernels share: any element types, any strides, sums in f32.
#pragma once

#include "gpu.h"

constexpr int kTile = 64;             // rows and columns of the result that a workgroup computes
constexpr int kStep = 16;             // of the sum at a time
constexpr int kSide = 16;             // threads along each axis of the workgroup
constexpr int kPart = kTile / kSide;  // rows and columns of a thread
constexpr int kThreads = kSide * kSide;

// A matrix somewhere in memory. Elements outside of it count as zero.
template <typename T>
struct Matrix {
  const T* data;
  int rows, columns;
  long long row_stride, column_stride;

  __device__ float at(int row, int column) const {
    return row < rows && column < columns ? float(data[row * row_stride + column * column_stride]) : 0.0f;
  }
};

// write(row, column, sum) for each element of A @ B in the tile of this workgroup: blockIdx.x along rows, y along
// columns.
template <typename T, typename Write>
__device__ void multiply(const Matrix<T>& a, const Matrix<T>& b, Write write) {
  // Four more than a tile: what is contiguous in memory then goes to different banks, and stays aligned.
  __shared__ float a_tile[kStep][kTile + 4], b_tile[kStep][kTile + 4];
  const int x = threadIdx.x, y = threadIdx.y, thread = y * kSide + x;
  const int first_row = blockIdx.x * kTile, first_column = blockIdx.y * kTile;
  float sums[kPart][kPart] = {};

  for (int start = 0; start < a.columns; start += kStep) {
    for (int i = thread; i < kTile * kStep; i += kThreads) {
      const int k = i % kStep, place = i / kStep;
      a_tile[k][place] = a.at(first_row + place, start + k);
      b_tile[k][place] = b.at(start + k, first_column + place);
    }
    __syncthreads();
    for (int k = 0; k < kStep; ++k) {
      for (int i = 0; i < kPart; ++i) {
        for (int j = 0; j < kPart; ++j) sums[i][j] += a_tile[k][y * kPart + i] * b_tile[k][x * kPart + j];
      }
    }
    __syncthreads();
  }

  for (int i = 0; i < kPart; ++i) {
    for (int j = 0; j < kPart; ++j) {
      const int row = first_row + y * kPart + i, column = first_column + x * kPart + j;
      if (row < a.rows && column < b.columns) write(row, column, sums[i][j]);
    }
  }
}
