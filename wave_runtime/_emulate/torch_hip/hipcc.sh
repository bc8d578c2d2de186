# In the place of ROCm's hipcc. Before it stand CLANG, the compiler, ROCM, where HIP is, and RELEASE, HIP's.
# HIP's headers are looked for last, so that those that stand in for them come first.
# From clang 22 on no macro tells the wave size, which HIP's headers ask for up to ROCm 6.
for word; do
  shift
  case $word in
    --version) echo "HIP version: $RELEASE" ;;
    --offload-arch=native) word=--offload-arch=${WAVE_RUNTIME_EMULATOR_PROCESSOR:-native} ;;
  esac
  set -- "$@" "$word"
  case $word in
    --offload-arch=gfx9*) set -- "$@" "-Xarch_${word#*=}" -D__AMDGCN_WAVEFRONT_SIZE=64 ;;
    --offload-arch=gfx*) set -- "$@" "-Xarch_${word#*=}" -D__AMDGCN_WAVEFRONT_SIZE=32 ;;
  esac
done
exec "$CLANG" -x hip -O3 -gline-tables-only --rocm-path="$ROCM" -include wave_half_reciprocals.h \
  -Xarch_host -D__AMDGCN_WAVEFRONT_SIZE=64 "$@" -isystem "$ROCM/include" -Wno-macro-redefined
