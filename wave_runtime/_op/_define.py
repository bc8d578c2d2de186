"""define_op, which makes an operator of a decorated function, or of a kernel and expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

from typing_extensions import Unpack

from wave_runtime import _C
from wave_runtime._kernel import Attributes, Dims
from wave_runtime._op._declared import Declaration, DeclaredOperator
from wave_runtime._op._operator import Operator

Expression = Callable[..., Any]


@overload
def define_op(
    name: str, /, *, mutates: Sequence[str] = (), inline: bool = False, kernels: Sequence[_C.Kernel] = ()
) -> Callable[[Callable[..., Any]], Operator]: ...


@overload
def define_op(
    name: str,
    kernel: _C.Kernel,
    /,
    *,
    grid: Dims | Expression,
    outputs: Mapping[str, Expression] = ...,
    arguments: Mapping[str, int | float | Expression] = ...,
    defaults: Mapping[str, int | float] = ...,
    block: Dims | Expression | None = None,
    shared_memory: int | Expression = 0,
    inline: bool = False,
    **attributes: Unpack[Attributes],
) -> Operator: ...


def define_op(name: str, kernel: _C.Kernel | None = None, /, **options: Any) -> Any:
    """Make a PyTorch operator of a function that launches kernels, or of one kernel.

    **Of a function**, as a decorator.

    The schema comes from the type hints. The function makes its results and calls kernels on plain tensors, and runs on
    tensors without data, too, for compilers: there a launch does nothing, so it may not look at values.

        @wave_runtime.define_op("mylib::add")
        def add(a: Tensor, b: Tensor) -> Tensor:
            c = torch.empty_like(a)
            vector_add(a, b, c, a.numel(), grid=wave_runtime.cdiv(a.numel(), 256), block=256)
            return c

    Args:
        name: ``"namespace::name"``. Defining it again replaces the operator.
        mutates: the parameters that the function writes. It returns new tensors, or nothing, never its arguments.
        inline: whether ``torch.compile`` traces the function, so that it sees the launches, instead of one operator.
        kernels: kernels that the function uses and that the names in its code do not lead to; for the fingerprint.

    **Of a kernel**: the operator is declared, and its calls run no Python. The kernel's parameters, by their names in
    the signature, are results, computed arguments, or the operator's inputs. Expressions are functions of inputs, which
    they name.

        add = wave_runtime.define_op(
            "mylib::add",
            vector_add,
            outputs={"c": lambda a: a.new_empty(a.shape)},
            arguments={"n": lambda a: a.numel()},
            grid=lambda a: wave_runtime.cdiv(a.numel(), 256),
            block=256,
        )

    They are run once for each combination of ranks and dtypes, with stand-ins that note what they do; C++ evaluates
    that. So they may use shape, stride, numel, rank and dtype of tensors, scalars, arithmetic, ``torch.sym_min``,
    ``torch.sym_max`` and ``cdiv``, and branch on rank and dtype, but not on sizes and scalars. Where an extent of the
    grid is 0, as it is for empty tensors, nothing is launched.

    Args:
        kernel: what it writes must be known.
        outputs: pointers that the operator returns, in the kernel's order, each with the tensor to allocate:
            ``a.new_empty(sizes, dtype=...)`` of an input ``a``, or ``a.new_zeros(...)``.
        arguments: numbers, or expressions for them, that are no inputs.
        defaults: of scalars, which must be the last inputs.
        grid, block, shared_memory: as for a call of the kernel, or expressions for them.
        attributes: the other options of a call.

    Returns:
        The :class:`Operator` of a kernel; without a kernel, a decorator that makes an :class:`Operator` of a function.

    Raises:
        ValueError: no schema can be made of the name or the type hints, or the declaration does not fit the kernel.
        TypeError: block= is missing.
    """
    if kernel is None:
        return lambda body: Operator(name, body, **options)
    inline = options.pop("inline", False)
    return DeclaredOperator(Declaration(name, kernel, **options), inline=inline)


def cdiv(a: int, b: int) -> int:
    """Ceiling division: how many blocks of ``b`` cover ``a``. It takes symbolic sizes, too."""
    return -(-a // b)
