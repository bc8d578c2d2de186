"""The extension module. Kernel, KernelFault and the documented functions are re-exported by the package."""

from collections.abc import Callable, Iterable
from collections.abc import Sequence as _Sequence
from typing import Any, SupportsIndex, TypeVar, final

import torch
from torch import Tensor
from typing_extensions import Self, Unpack, disjoint_base

from wave_runtime._kernel import Accesses, CallOptions, Dims, LaunchOptions, Options
from wave_runtime._torch import OpOverload
from wave_runtime.hooks import Hook

_Device = torch.device | str | int | None
_Class = TypeVar("_Class", bound=type[OperatorBase])

class KernelFault(RuntimeError):
    """A kernel did something that it must not do, and the emulator stopped the launch.

    Attributes:
        kernel: the kernel's name.
        workgroup: the workgroup's x, y and z.
        wave: the wave's number within the workgroup.
        lane: 0 to 63, or None if the fault is not about one lane.
        pc: where the instruction is, in bytes from the kernel's entry; less than 0 in a function that lies before it.
        instruction: the instruction as text.
        address: the address that was accessed or jumped to, or None.
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
    """A kernel of a code object, made by :func:`wave_runtime.load`. Copies and pickles of it carry the code."""

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
        """Indices of the arguments that the kernel writes, or None if that is not known."""

    @property
    def block(self) -> tuple[int, int, int] | None:
        """The workgroup size that the binary requires, or None if it requires none."""

    @property
    def strides(self) -> str:
        """Which tensors are taken: ``"contiguous"`` ones only, or ``"any"``."""

    @property
    def info(self) -> dict[str, Any]:
        """What the binary says: the kernel's part of ``python -m wave_runtime info --json``."""

    @property
    def asm(self) -> dict[str, str]:
        """The code as text, by target: ``kernel.asm["gfx942"]``.

        AMD's instructions are written as ``python -m wave_runtime disasm`` writes them. For PTX it is the text of the
        whole file; cubins are left out. Raises ValueError if a build is for a processor whose instructions are not
        known.
        """

    def coverage(self) -> dict[str, dict[str, Any]]:
        """Say which instructions of the AMD builds the emulator does not run.

        Returns:
            A dict for each target. Its ``"instructions"`` is how many instructions there are, its ``"unsupported"`` a
            dict from reasons to counts, which is empty if all of them run.
        """

    @property
    def strict(self) -> bool:
        """Whether the emulator checks each launch against the signature; see ``wave_runtime.load``."""

    @property
    def _codes(self) -> list[CodeObject]: ...
    @property
    def _plan(self) -> tuple[str, ...]: ...
    @property
    def _text(self) -> str: ...
    def _check_number(self, value: object) -> None: ...
    @property
    def _has_operator(self) -> bool: ...
    @property
    def _overridden(self) -> bool: ...
    def __call__(
        self,
        *args: Any,
        grid: Dims,
        block: Dims | None = None,
        shared_memory: int = 0,
        cluster: Dims | None = None,
        cooperative: bool = False,
        programmatic: bool = False,
        priority: int | None = None,
        device: _Device = None,
        stream: Any = None,
    ) -> None:
        """Launch the kernel on the tensors' device, on that device's current stream. On CPU tensors it is emulated.

        The call returns when the launch is enqueued; with CPU tensors, when it is done.

        Args:
            args: one for each parameter of the signature. For a pointer pass a tensor, or an array of NumPy's or one
                that has ``__dlpack__`` or ``__cuda_array_interface__``; the kernel sees its memory, nothing is copied.
                For a number pass an int, float or bool. For a struct pass bytes, a record of NumPy or a structure of
                ctypes, of the right length.
            grid: how many workgroups, in one to three dimensions.
            block: how many work-items a workgroup has; may be left out if the binary requires a size.
            shared_memory: bytes of dynamic shared memory (LDS).
            cluster: how many workgroups a cluster has; must divide the grid.
            cooperative: whether all workgroups must be resident at once, so that they may wait for each other.
            programmatic: whether the launch may begin before the one ahead of it in its stream has ended.
            priority: the launch's priority, as the device numbers them; a lower number is sooner.
            device: where to launch a kernel that takes no tensor. Beside tensors it must be their device. Compiled code
                and modes have launches with tensors only.
            stream: a stream to launch on instead of the device's current one: a ``torch.cuda.Stream``, an object with
                ``__cuda_stream__()``, or the driver's handle as an int. Torch's allocator does not know that the
                tensors are used there: see ``torch.Tensor.record_stream``.

        Raises:
            TypeError, ValueError: an argument or an option does not fit, or the kernel has no build for the device.
                Nothing has run then.
            RuntimeError: a tensor requires grad; or it must be known what the kernel writes, and is not; or the driver
                fails, whose name of the error is in the message.
            KernelFault: on the emulator, the kernel did something that it must not do.
        """

    def bind(self, *args: Any, **options: Unpack[CallOptions]) -> BoundLaunch:
        """Check and pack the arguments of a launch, so that it can be repeated and changed. Nothing is launched yet.

        Arguments, options and errors are those of a call.
        """

    def as_operator(self, name: str, **options: Unpack[Options]) -> OpOverload:
        """Define an operator of this kernel alone, for the rest of the process.

        It takes one argument for each parameter, then ``grid_x``, ``grid_y=1`` and ``grid_z=1``. There are no lists, so
        that it costs less than ``torch.ops.wave.launch``.

        Args:
            name: ``"namespace::name"``.
            options: those of a call except the grid; they hold for all launches of the operator.

        Raises:
            ValueError: the name does not have that form or is taken, or a parameter is a struct.
            RuntimeError: it is not known what the kernel writes.
        """

    def preload(self, device: _Device = None) -> None:
        """Load the kernel on a device now, rather than at the first launch.

        By default that is the current GPU, if its driver takes the kernel's kind of code, else the CPU.
        """

    def resources(self, device: _Device = None) -> dict[str, int]:
        """Ask the device's driver which resources the kernel takes. The kernel is loaded there if it is not yet.

        By default that is the current GPU, if its driver takes the kernel's kind of code, else the CPU.

        Returns:
            ``registers`` of a work-item (0 if the driver does not say); ``shared_memory`` (static), ``local_memory`` of
            a work-item and ``constant_memory``, in bytes; ``max_block_size``, in work-items; and
            ``max_shared_memory``, how many bytes of static and dynamic shared memory a workgroup may have there.
        """

    def occupancy(self, device: _Device = None, **options: Unpack[Options]) -> int:
        """How many workgroups with this block and shared memory a multiprocessor (compute unit) holds at once.

        By default on the current GPU, if its driver takes the kernel's kind of code, else on the CPU.
        """

    def infer_writes(self, *args: Any, **options: Unpack[LaunchOptions]) -> Accesses:
        """Run a launch on the emulator, on copies of the tensors, and say which pointer arguments it wrote and read.

        It does not matter what the signature says of const. One launch is looked at: choose arguments for which the
        kernel takes every path. Arguments and errors are those of a call.

        Returns:
            ``Accesses(writes=("c",), reads=("a", "b"))``; ``writes`` is what ``wave_runtime.load(..., writes=)`` takes.
        """

    def launch_raw(
        self,
        arguments: bytes,
        *,
        memory: _Sequence[Tensor] = (),
        reads: _Sequence[Tensor] = (),
        device: _Device = None,
        process_memory: bool = False,
        **options: Unpack[LaunchOptions],
    ) -> None:
        """Launch with arguments that the caller has packed: the kernarg segment up to the hidden arguments.

        Args:
            arguments: the bytes; if they are shorter than the segment, the rest is zero.
            memory: tensors that the kernel may read and write. Autograd is told that they change.
            reads: tensors that the kernel only reads. Autograd is told nothing of them. The emulator lets the kernel
                touch ``memory`` and ``reads`` and nothing else, and a store into ``reads`` is a KernelFault.
            device: where to launch; by default where the tensors are or, if there are none, on the CPU.
            process_memory: let the emulated kernel touch whatever else the process has mapped, too, for arguments that
                are addresses of unknown size. An address that is not mapped still is a KernelFault.
            options: those of a call.
        """

    @property
    def _names(self) -> tuple[str, ...]: ...
    def _trace(self, *args: Any, **options: Unpack[LaunchOptions]) -> dict[int, tuple[bool, bool]]: ...
    def _device_of(self, *args: Any) -> torch.device: ...
    def _launch_addresses(
        self, *args: Any, process_memory: bool = False, raw: bool = False, **options: Unpack[LaunchOptions]
    ) -> None: ...
    def _define_operator(self, name: str, **options: Unpack[Options]) -> str: ...

@final
class BoundLaunch:
    """A launch with its arguments, made by ``kernel.bind(...)``. Several threads may use it."""

    def __call__(self) -> None:
        """Launch on the current stream of the tensors' device. Errors are those of a call."""

    def __getitem__(self, argument: int | str, /) -> Any:
        """An argument, by index or name."""

    def __setitem__(self, argument: int | str, value: Any, /) -> None:
        """Change an argument for the launches that follow. It is checked as in a call; on an error nothing changes."""

    def update(self, **options: Any) -> None:
        """Change options of a call (``grid``, ``block``, ...) for the launches that follow."""

@final
class Sequence:
    """Several bound launches as one call, made by :func:`wave_runtime.sequence`."""

    def __new__(cls, launches: list[BoundLaunch], /) -> Sequence: ...
    def __call__(self) -> None:
        """Make the launches in order, each as it is bound at this moment. The first one that fails ends the call."""

    def __len__(self) -> int: ...

@final
class RecordedLaunch:
    """A launch on CPU tensors that was recorded."""

    def __call__(self) -> None:
        """Make it, on what its tensors hold now."""

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """Those that it was given."""

    @property
    def kernel(self) -> str:
        """The kernel's name."""

@disjoint_base
class OperatorBase:
    """A call that runs ``eager`` where PyTorch has nothing to see, else ``dispatched`` with itself as the first."""

    def __init__(self, eager: Callable[..., Any], dispatched: Callable[..., Any]) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    @property
    def fingerprint(self) -> str:
        """A hash of the kernels and code that make the operator."""

    @fingerprint.deleter
    def fingerprint(self) -> None: ...
    _has_autocast: bool
    _returns_new: bool
    def _check_aliases(self, *arguments_and_result: Any) -> None:
        """Raise ValueError where the result, given last, shares memory with an argument."""

    def _watch_body(self, parameters: tuple[str, ...], mutates: frozenset[str], results: int) -> None:
        """Have launches of the body raise ValueError where they write an input that is not among ``mutates``.

        Args:
            parameters: the names of the inputs that are given by place.
            mutates: the names of the inputs that the body writes.
        """

    def _run_body(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Call ``self.body``, and look at what its launches write."""

@final
class KernelLaunchInfo:
    """Says how :func:`launch` launches a kernel, as upstream's type of this name does. The fields can be changed.

    Attributes:
        gpu_stream: the driver's handle of a stream; 0 is the default stream, None torch's current one.
        gpu_func: a kernel that ``wave_runtime.load_binary`` returned.
        sharedMemoryBytes: bytes of shared memory (LDS) that a workgroup needs, including what the binary declares.
        gridX, gridY, gridZ: how many workgroups.
        blockX, blockY, blockZ: how many work-items a workgroup has.
        clusterDimX, clusterDimY, clusterDimZ: how many workgroups a cluster has; 1 or 0 for no clusters.
    """

    gpu_stream: int | None
    gpu_func: int
    sharedMemoryBytes: int
    gridX: int
    gridY: int
    gridZ: int
    blockX: int
    blockY: int
    blockZ: int
    clusterDimX: int
    clusterDimY: int
    clusterDimZ: int
    def __init__(
        self,
        gpu_stream: int | None = None,
        gpu_func: int = ...,
        sharedMemoryBytes: int = 0,
        gridX: int = 1,
        gridY: int = 1,
        gridZ: int = 1,
        blockX: int = 1,
        blockY: int = 1,
        blockZ: int = 1,
        clusterDimX: int = 1,
        clusterDimY: int = 1,
        clusterDimZ: int = 1,
    ) -> None: ...

@final
class Int64Vector(list[int]):
    """A list of 64-bit integers, as upstream's type of this name. Negative ones count as two's complement."""

@final
class Int32Vector(list[int]):
    """A list of 32-bit integers, as upstream's type of this name."""

def launch(
    info: KernelLaunchInfo,
    tensors: Iterable[Tensor | SupportsIndex],
    dynamic_dims: Iterable[SupportsIndex],
    scalar_args: Iterable[Any],
    strides: Iterable[SupportsIndex] = [],
    /,
) -> None:
    """Launch a kernel as upstream's function of this name does, with the arguments laid out as Wave kernels take them.

    The arguments are packed without padding: 8 bytes for each tensor, 4 for each scalar, and then each dynamic
    dimension and each stride as two words of 4 bytes, the low one first.

    Args:
        info: the kernel, and how to launch it.
        tensors: tensors, which are checked as in any other call, or addresses. On the CPU an address may point to
            whatever the process has mapped. The launch runs on the tensors' device. If there are only addresses, it
            runs on the current GPU or, if torch has none, on the CPU.
        dynamic_dims, strides: 64-bit integers, negative ones as two's complement. If strides are given, tensors need
            not be contiguous; a kernel that takes no strides ignores them.
        scalar_args: 32-bit ints, bools, and floats, which are rounded to f32; those of numpy and torch, too.

    Raises:
        TypeError, ValueError: an argument does not fit; the message has its list and index, and nothing has run.
        RuntimeError: the driver fails: ``Error 1(hipErrorInvalidValue) ...``.
        KernelFault: on the emulator, the kernel did what it must not.
    """

@final
class CodeObject:
    """A parsed code object, cubin or PTX: of a container the one for ``target``.

    ``data`` is its image, which is what a driver loads.
    """

    def __new__(cls, data: bytes, target: str | None = None) -> Self: ...
    def describe(self) -> dict[str, Any]:
        """Everything that it says of its code."""

    @property
    def format(self) -> str: ...
    @property
    def target(self) -> str: ...
    @property
    def kernels(self) -> tuple[str, ...]: ...
    @property
    def data(self) -> bytes: ...

def make_kernel(
    variants: list[CodeObject],
    name: str,
    signature: str | None,
    writes: list[int | str] | None,
    strides: str,
    strict: bool,
) -> Kernel: ...
def embedded_code(handle: str) -> Tensor: ...
def raw_codes(function: int) -> list[CodeObject]: ...
def load_raw(variants: list[CodeObject], name: str) -> tuple[Any, int]: ...

@final
class DeclaredCall:
    """What a declared operator's call does where PyTorch has nothing to see."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def implement(self, autograd: str) -> None:
        """Give the dispatcher what it runs for the operator; ``autograd``: the operator for what autograd must see."""

    def withdraw(self) -> None:
        """Take that back."""

def declare(
    name: str,
    kernel: Kernel,
    inputs: list[int],
    results: list[int],
    computed: list[int],
    names: list[str],
    defaults: dict[str, int | float],
    options: dict[str, Any],
    specialize: Callable[..., Any],
    fallback: Callable[..., Any],
) -> DeclaredCall:
    """Declare an operator. Inputs, results and computed arguments are given as indices of the kernel's parameters.

    ``specialize`` takes ``[(rank, dtype)]`` of the inputs that are tensors and returns a program's instructions, see
    ``csrc/op/expression.h``, and ``[(rank, dtype, zeroed)]`` of the results. ``fallback`` takes calls that are unusual.
    """

def define_traced_operator(handle: str) -> str:
    """Define the operator of torch.ops.wave_kernel that a kernel's call is in compiled code, and return its name."""

@final
class KernelInductorCall:
    """What a kernel's call is in the code that Inductor writes for Python. See :func:`kernel_inductor_call`."""

    def __call__(self, *args: Any) -> None: ...

def kernel_inductor_call(
    handle: str, overload: Callable[..., None], has_block: bool, **options: Unpack[Options]
) -> KernelInductorCall:
    """A call that launches where PyTorch has nothing to see, else calls the kernel's operator.

    Args:
        handle: the kernel's.
        overload: an operator of the kernel alone, whose arguments the call has.
        has_block: whether the block and the shared memory are among them.
        options: what all launches have.
    """

@final
class OperatorInductorCall:
    """What an operator's call is in the code that Inductor writes for Python. See :func:`operator_inductor_call`."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

def operator_inductor_call(
    operator: OperatorBase, overload: Callable[..., Any], from_start: Callable[[Any], Any]
) -> OperatorInductorCall:
    """A call that runs the operator's ``eager`` where PyTorch has nothing to see, else ``overload``.

    ``from_start`` gets a result of which a tensor does not begin at the start of its storage, and returns one that
    does.
    """

def doc(name: str) -> str:
    """The docstring that this stub has of "Kernel.bind" and the like, for what of a type is written in Python."""

def make_kernel_type(call: Callable[..., None]) -> type[Kernel]:
    """Make the type Kernel, whose __call__ compilers find and trace; other calls go straight to the launch."""

def called_by_slot(base: _Class) -> _Class:
    """A type over ``base``, which derives from OperatorBase: its calls go straight to that, and not to __call__."""

def record_launches(recorder: Callable[[RecordedLaunch], object] | None) -> None:
    """Have this thread's launches on CPU tensors be given to a function in place of being made; None ends it."""

def add_hook(enter: Hook | None, exit: Hook | None) -> int: ...
def remove_hook(id: int) -> None: ...
def describe_driver(name: str) -> dict[str, Any]:
    """What a driver is and has: "hip", "cuda" or "emulator". Opens its library.

    Returns:
        ``library`` (file and version; absent where there is none), ``error`` (why it cannot be used, or None), and
        ``devices``, each with ``name``, ``target``, ``multiprocessors``, ``max_block_size``, ``shared_memory`` in
        bytes.
    """

def drivers() -> tuple[str, str]:
    """The drivers of CPU and of GPU tensors."""

def set_host_driver(name: str) -> None:
    """Send CPU tensors to "emulator" or "hip": for tests that go through several drivers in one process."""

def set_gpu_driver(name: str) -> None:
    """Send GPU tensors to "cuda" or "hip"."""

def loaded() -> list[dict[str, Any]]: ...
def unload(codes: list[CodeObject]) -> int: ...
def symbol(codes: list[CodeObject], name: str, device: _Device) -> Tensor: ...
def emulator_statistics() -> dict[str, Any]: ...

@final
class ProfileSession:
    """A session of the profiler."""

    def kernels(self) -> list[dict[str, Any]]:
        """What was counted, by kernel: see ``_profile._counts.described``."""

    def end(self) -> None: ...

def begin_profile() -> ProfileSession:
    """Begin a session."""

@final
class Sanitizer:
    """A session of the sanitizer."""

    def take(self) -> list[str]:
        """What was found since this was asked last, in JSON."""

    def end(self) -> None: ...

def sanitizer_tools() -> list[str]:
    """The names of the tools."""

def begin_sanitizer(tools: str, over_reads: bool, denormals: bool, dead_registers: bool) -> Sanitizer:
    """Begin a session with these tools, with commas between them. Raises ValueError."""

def set_findings_hook(hook: Callable[[], None]) -> None:
    """Have it called behind each launch that has found something."""

def emulator_processors(generic: bool = False) -> dict[str, dict[str, Any]]:
    """The processors that the emulated device may have, by name; or also generic ones, whose code runs beside it.

    Returns:
        For each ``code`` (the processor whose code it runs), ``instructions`` (the one whose table of instructions it
        has), ``elf_machine`` (EF_AMDGPU_MACH of its code), ``target`` (with the device's features), ``lanes`` of a
        wave, ``multiprocessors``, ``waves`` of one of them, ``shared_memory`` of a workgroup in bytes, ``clock`` in
        kHz, ``is_integrated`` where it shares the host's memory.
    """

def emulator_processor() -> str:
    """The one that it has now."""

def choose_emulator_processor(name: str) -> None:
    """Have it be another from now on. Raises KeyError. Kernels that are loaded keep the limits that they have."""

def sum_matrices_exactly() -> None:
    """Have WAVE_RUNTIME_MFMA be exact, which is read when the library is loaded, where no launch has asked yet."""

def emulator_bodies() -> list[tuple[str, str]]:
    """The name and the variant of every body."""

def bound_bodies(processor: str, lanes: int = 0) -> list[tuple[list[tuple[str, str]], list[tuple[str, str]]]]:
    """For each of isa_rows the bodies that may carry it out, and those of the second half of VOPD."""

def binding_entries(processor: str) -> list[tuple[str, str]]:
    """What the lists of a processor's family bind: instructions, and the names of their bodies."""

def implemented_instructions(processor: str = ...) -> set[str]: ...
def emulated_processor(target: str) -> str | None: ...
def unsupported(processor: str, data: bytes, lanes: int = 0) -> str | None: ...
def code_objects(data: bytes, target: str | None = None) -> list[CodeObject]:
    """Those in a file: of each translation unit the one for ``target``, or all without a target."""

def parse_signature(text: str) -> list[tuple[str, str, str, bool, bool]]:
    """The parameters of a signature.

    Returns:
        For each its name, its type as in the text, the type of the value or of what the pointer points to, whether it
        is a pointer, and whether it is const.
    """

def demangle(name: str) -> str | None:
    """A C++ symbol as in the source, with its parameters' types; or None."""

def kernel_text(symbol: str) -> str:
    """How messages name a kernel: ``kernel 'axpy(float*, int)'``."""

def line_table(data: bytes) -> tuple[list[str], list[tuple[int, int, int]]]:
    """The source lines of an ELF image's instructions: the paths, and ``(address, line, index of its path)``."""

def image_for(data: bytes, device: str) -> CodeObject | None:
    """Of all code in a file the code object that runs best on a device with this target, or None."""

def occupancy(data: bytes, target: str | None, kernel: str, workgroup_size: int, lds_bytes: int) -> dict[str, Any]:
    """Waves and workgroups of a kernel that fit on a compute unit, and what limits them."""

def processor_facts(processor: str) -> dict[str, Any] | None:
    """What is known of an AMD processor ("gfx942"), None where there is none of the name.

    Returns:
        The ``lanes`` of a wave, where a kernel asks for no others; ``lds_granularity``, the bytes in which LDS is given
        out, None where they are not known.
    """

def normal_target(id: str) -> str:
    """A target id in its normal form. Raises ValueError."""

def target_runs_on(code: str, device: str) -> bool:
    """Whether code built for the first target id runs on a device with the second."""

def isa_rows(processor: str) -> list[dict[str, Any]]:
    """The rows of a processor's instruction table."""

def isa_fields(processor: str = ...) -> dict[str, dict[str, tuple[int, int]]]:
    """``{format: {field: (lowest bit, width)}}``."""

def decode(processor: str, data: bytes) -> dict[str, Any] | None:
    """The instruction at the start of ``data``, or None."""

def disassemble(processor: str, data: bytes, address: int = 0, lanes: int = 32) -> list[tuple[int, bytes, str]]:
    """``(address, bytes, text)`` of each instruction in ``data``, in waves of so many lanes."""
