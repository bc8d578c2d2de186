"""The extension module. Kernel, KernelFault and the documented functions are re-exported by the package."""

from collections.abc import Callable, Sequence
from typing import Any, final

from torch import Tensor

from wave_runtime._kernel import Accesses

class KernelFault(RuntimeError):
    """What a kernel did that it must not, found by the emulator.

    Attributes:
        kernel: its name.
        workgroup: x, y and z.
        wave: its number within the workgroup.
        lane: 0 to 63, or None where the fault is not about one lane.
        pc: bytes from the kernel's entry.
        instruction: its text.
        address: that it accessed or jumped to, or None.
    """

    kernel: str
    workgroup: tuple[int, int, int]
    wave: int
    lane: int | None
    pc: int
    instruction: str
    address: int | None

@final
class Kernel:
    """A kernel of a code object. Made by :func:`wave_runtime.load`; copied and pickled with its code."""

    @property
    def name(self) -> str:
        """The kernel's name."""

    @property
    def handle(self) -> str:
        """The key of this kernel in operators and graphs, the same in every process."""

    @property
    def signature(self) -> str:
        """The parameters' types: ``"a: *f32 const, c: *f32, n: i32"``."""

    @property
    def writes(self) -> tuple[int, ...] | None:
        """Indices of the arguments that the kernel writes, or None where that is unknown."""

    @property
    def block(self) -> tuple[int, int, int] | None:
        """The required workgroup size, or None where the binary fixes none."""

    @property
    def strides(self) -> str:
        """``"contiguous"`` or ``"any"``."""

    @property
    def info(self) -> dict[str, Any]:
        """What the binary says: the kernel's part of ``python -m wave_runtime info --json``."""

    @property
    def strict(self) -> bool:
        """Whether the emulator checks each launch against the signature; see ``wave_runtime.load``."""

    @property
    def _plan(self) -> tuple[str, ...]: ...
    def __call__(
        self,
        *args: Any,
        grid: int | Sequence[int],
        block: int | Sequence[int] | None = None,
        shared_memory: int = 0,
    ) -> None:
        """Launch on the device of the tensors: on the CPU, in the emulator.

        Args:
            args: one for each parameter of the signature: tensors for pointers, which the kernel sees as they are;
                ints, floats, bools, or bytes of the right length.
            grid: workgroups, in one to three dimensions.
            block: work-items of a workgroup; by default what the binary requires.
            shared_memory: bytes of dynamic LDS.

        Raises:
            TypeError, ValueError: an argument does not fit, before anything runs.
            RuntimeError: a tensor requires grad, or the kernel's mutability must be known here and is not.
            KernelFault: the kernel did what it must not.
        """

    def infer_writes(
        self,
        *args: Any,
        grid: int | Sequence[int],
        block: int | Sequence[int] | None = None,
        shared_memory: int = 0,
    ) -> Accesses:
        """Run a launch on the emulator, on copies of the tensors, and say which pointer arguments it wrote and read.

        What the signature says of const does not matter. A launch shows what it did with these arguments, no more:
        choose some that take every path. Arguments and errors are those of a call.

        Returns:
            ``Accesses(writes=("c",), reads=("a", "b"))``; ``writes`` is what ``wave_runtime.load(..., writes=)`` takes.
        """

    @property
    def _names(self) -> tuple[str, ...]: ...
    def _trace(
        self,
        *args: Any,
        grid: int | Sequence[int],
        block: int | Sequence[int] | None = None,
        shared_memory: int = 0,
    ) -> dict[int, tuple[bool, bool]]: ...
    def launch_raw(
        self,
        arguments: bytes,
        *,
        grid: int | Sequence[int],
        block: int | Sequence[int] | None = None,
        shared_memory: int = 0,
        memory: Sequence[Tensor] = (),
    ) -> None:
        """Launch with arguments that the caller has packed: the kernarg segment up to the hidden arguments.

        The kernel may read and write the storages of the tensors in ``memory``, and nothing else.
        """

@final
class CodeObject:
    """A parsed code object, cubin or PTX."""

    def __init__(self, data: bytes) -> None: ...
    @property
    def format(self) -> str: ...
    @property
    def target(self) -> str: ...
    @property
    def kernels(self) -> tuple[str, ...]: ...

def make_kernel(
    code: CodeObject, name: str, signature: str | None, writes: list[int | str] | None, strides: str, strict: bool
) -> Kernel: ...
def define_call(function: Callable[..., None]) -> None: ...
def emulator_statistics() -> dict[str, int]: ...
def implemented_instructions() -> list[str]: ...
def unsupported(processor: str, data: bytes) -> str | None: ...
def read_code_object(data: bytes, target: str | None = None) -> dict[str, Any]: ...
def image(data: bytes, target: str | None = None) -> bytes: ...
def images(data: bytes, target: str | None = None) -> list[bytes]: ...
def image_for(data: bytes, device: str) -> bytes | None: ...
def occupancy(data: bytes, target: str | None, kernel: str, workgroup_size: int, lds_bytes: int) -> dict[str, Any]: ...
def normal_target(id: str) -> str: ...
def target_runs_on(code: str, device: str) -> bool: ...
def isa_rows(processor: str) -> list[dict[str, Any]]: ...
def isa_fields() -> dict[str, dict[str, tuple[int, int]]]: ...
def decode(processor: str, data: bytes) -> dict[str, Any] | None: ...
def disassemble(processor: str, data: bytes, address: int = 0) -> list[tuple[int, bytes, str]]: ...
