// Operators, and a small model of some, whose results on IREE's HIP driver are those on its CPU.

func.func @add(%a: tensor<1000xf32>, %b: tensor<1000xf32>) -> tensor<1000xf32> {
  %0 = arith.addf %a, %b : tensor<1000xf32>
  return %0 : tensor<1000xf32>
}

func.func @exp(%a: tensor<1000xf32>) -> tensor<1000xf32> {
  %0 = math.exp %a : tensor<1000xf32>
  return %0 : tensor<1000xf32>
}

func.func @tanh(%a: tensor<1000xf32>) -> tensor<1000xf32> {
  %0 = math.tanh %a : tensor<1000xf32>
  return %0 : tensor<1000xf32>
}

func.func @rsqrt(%a: tensor<1000xf32>) -> tensor<1000xf32> {
  %0 = math.rsqrt %a : tensor<1000xf32>
  return %0 : tensor<1000xf32>
}

func.func @erf(%a: tensor<1000xf32>) -> tensor<1000xf32> {
  %0 = math.erf %a : tensor<1000xf32>
  return %0 : tensor<1000xf32>
}

func.func @sine(%a: tensor<1000xf32>) -> tensor<1000xf32> {
  %0 = math.sin %a : tensor<1000xf32>
  return %0 : tensor<1000xf32>
}

func.func @power(%a: tensor<1000xf32>, %b: tensor<1000xf32>) -> tensor<1000xf32> {
  %0 = math.powf %a, %b : tensor<1000xf32>
  return %0 : tensor<1000xf32>
}

func.func @select(%a: tensor<1000xf32>, %b: tensor<1000xf32>) -> tensor<1000xf32> {
  %0 = arith.cmpf olt, %a, %b : tensor<1000xf32>
  %1 = arith.select %0, %a, %b : tensor<1000xi1>, tensor<1000xf32>
  return %1 : tensor<1000xf32>
}

func.func @shift(%a: tensor<1000xi32>, %b: tensor<1000xi32>) -> tensor<1000xi32> {
  %0 = arith.shli %a, %b : tensor<1000xi32>
  return %0 : tensor<1000xi32>
}

func.func @widen(%a: tensor<1000xf16>) -> tensor<1000xf32> {
  %0 = arith.extf %a : tensor<1000xf16> to tensor<1000xf32>
  return %0 : tensor<1000xf32>
}

func.func @matmul(%a: tensor<50x32xf32>, %b: tensor<32x70xf32>) -> tensor<50x70xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<50x70xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<50x70xf32>) -> tensor<50x70xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<50x32xf32>, tensor<32x70xf32>) outs(%init : tensor<50x70xf32>) -> tensor<50x70xf32>
  return %0 : tensor<50x70xf32>
}

func.func @matmul_f16(%a: tensor<64x128xf16>, %b: tensor<128x64xf16>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x64xf32>) -> tensor<64x64xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<64x128xf16>, tensor<128x64xf16>) outs(%init : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}

func.func @matmul_i8(%a: tensor<64x64xi8>, %b: tensor<64x64xi8>) -> tensor<64x64xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<64x64xi32>
  %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<64x64xi32>) -> tensor<64x64xi32>
  %0 = linalg.matmul ins(%a, %b : tensor<64x64xi8>, tensor<64x64xi8>) outs(%init : tensor<64x64xi32>) -> tensor<64x64xi32>
  return %0 : tensor<64x64xi32>
}

func.func @batch_matmul(%a: tensor<3x16x32xf32>, %b: tensor<3x32x16xf32>) -> tensor<3x16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<3x16x16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<3x16x16xf32>) -> tensor<3x16x16xf32>
  %0 = linalg.batch_matmul ins(%a, %b : tensor<3x16x32xf32>, tensor<3x32x16xf32>) outs(%init : tensor<3x16x16xf32>) -> tensor<3x16x16xf32>
  return %0 : tensor<3x16x16xf32>
}

func.func @matvec(%a: tensor<64x512xf32>, %b: tensor<512xf32>) -> tensor<64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<64xf32>) -> tensor<64xf32>
  %0 = linalg.matvec ins(%a, %b : tensor<64x512xf32>, tensor<512xf32>) outs(%init : tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

func.func @convolution(%a: tensor<1x10x10x4xf32>, %b: tensor<3x3x4x8xf32>) -> tensor<1x8x8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x8x8x8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %0 = linalg.conv_2d_nhwc_hwcf ins(%a, %b : tensor<1x10x10x4xf32>, tensor<3x3x4x8xf32>) outs(%init : tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  return %0 : tensor<1x8x8x8xf32>
}

func.func @pooling(%a: tensor<1x10x10x4xf32>, %window: tensor<3x3xf32>) -> tensor<1x8x8x4xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x8x8x4xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x8x8x4xf32>) -> tensor<1x8x8x4xf32>
  %0 = linalg.pooling_nhwc_max ins(%a, %window : tensor<1x10x10x4xf32>, tensor<3x3xf32>) outs(%init : tensor<1x8x8x4xf32>) -> tensor<1x8x8x4xf32>
  return %0 : tensor<1x8x8x4xf32>
}

func.func @transpose(%a: tensor<37x50xf32>) -> tensor<50x37xf32> {
  %empty = tensor.empty() : tensor<50x37xf32>
  %0 = linalg.transpose ins(%a : tensor<37x50xf32>) outs(%empty : tensor<50x37xf32>) permutation = [1, 0]
  return %0 : tensor<50x37xf32>
}

func.func @broadcast(%a: tensor<37xf32>) -> tensor<50x37xf32> {
  %empty = tensor.empty() : tensor<50x37xf32>
  %0 = linalg.broadcast ins(%a : tensor<37xf32>) outs(%empty : tensor<50x37xf32>) dimensions = [0]
  return %0 : tensor<50x37xf32>
}

func.func @sum(%a: tensor<20x300xf32>) -> tensor<20xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<20xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<20xf32>) -> tensor<20xf32>
  %0 = linalg.reduce { arith.addf } ins(%a : tensor<20x300xf32>) outs(%init : tensor<20xf32>) dimensions = [1]
  return %0 : tensor<20xf32>
}

func.func @maximum(%a: tensor<20x300xi32>) -> tensor<20xi32> {
  %least = arith.constant -100 : i32
  %empty = tensor.empty() : tensor<20xi32>
  %init = linalg.fill ins(%least : i32) outs(%empty : tensor<20xi32>) -> tensor<20xi32>
  %0 = linalg.reduce { arith.maxsi } ins(%a : tensor<20x300xi32>) outs(%init : tensor<20xi32>) dimensions = [1]
  return %0 : tensor<20xi32>
}

func.func @softmax(%a: tensor<8x100xf32>) -> tensor<8x100xf32> {
  %empty = tensor.empty() : tensor<8x100xf32>
  %0 = linalg.softmax dimension(1) ins(%a : tensor<8x100xf32>) outs(%empty : tensor<8x100xf32>) -> tensor<8x100xf32>
  return %0 : tensor<8x100xf32>
}

func.func @pad(%a: tensor<20x30xf32>) -> tensor<22x34xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.pad %a low[1, 3] high[1, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<20x30xf32> to tensor<22x34xf32>
  return %0 : tensor<22x34xf32>
}

func.func @gather(%table: tensor<8x64xf32>, %rows: tensor<20xi32>) -> tensor<20x64xf32> {
  %empty = tensor.empty() : tensor<20x64xf32>
  %0 = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]
  } ins(%rows : tensor<20xi32>) outs(%empty : tensor<20x64xf32>) {
  ^bb0(%row: i32, %out: f32):
    %i = arith.index_cast %row : i32 to index
    %j = linalg.index 1 : index
    %value = tensor.extract %table[%i, %j] : tensor<8x64xf32>
    linalg.yield %value : f32
  } -> tensor<20x64xf32>
  return %0 : tensor<20x64xf32>
}

// Two layers and a softmax.
func.func @model(%x: tensor<16x64xf32>, %w1: tensor<64x96xf32>, %w2: tensor<96x10xf32>) -> tensor<16x10xf32> {
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant dense<0.015625> : tensor<16x96xf32>
  %empty1 = tensor.empty() : tensor<16x96xf32>
  %init1 = linalg.fill ins(%zero : f32) outs(%empty1 : tensor<16x96xf32>) -> tensor<16x96xf32>
  %h = linalg.matmul ins(%x, %w1 : tensor<16x64xf32>, tensor<64x96xf32>) outs(%init1 : tensor<16x96xf32>) -> tensor<16x96xf32>
  %scaled = arith.mulf %h, %scale : tensor<16x96xf32>
  %active = math.tanh %scaled : tensor<16x96xf32>
  %empty2 = tensor.empty() : tensor<16x10xf32>
  %init2 = linalg.fill ins(%zero : f32) outs(%empty2 : tensor<16x10xf32>) -> tensor<16x10xf32>
  %y = linalg.matmul ins(%active, %w2 : tensor<16x96xf32>, tensor<96x10xf32>) outs(%init2 : tensor<16x10xf32>) -> tensor<16x10xf32>
  %p = linalg.softmax dimension(1) ins(%y : tensor<16x10xf32>) outs(%empty2 : tensor<16x10xf32>) -> tensor<16x10xf32>
  return %p : tensor<16x10xf32>
}
