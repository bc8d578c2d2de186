"""define_op, which makes an operator of a decorated function, or of a kernel and expressions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
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

    The schema comes from the type hints. The function makes its results and launches kernels. Compilers also call it
    with tensors that have no data, where a launch does nothing; so it may not look at the values of tensors.

        @wave_runtime.define_op("mylib::add")
        def add(a: Tensor, b: Tensor) -> Tensor:
            c = torch.empty_like(a)
            blocks = torch.sym_max(wave_runtime.cdiv(a.numel(), 256), 1)  # a grid has at least one
            vector_add(a, b, c, a.numel(), grid=blocks, block=256)
            return c

    Args:
        name: ``"namespace::name"``. Defining a name again replaces the operator.
        mutates: the names of the parameters that the function writes. It may return new tensors, or nothing, but never
            its arguments. A launch that writes another parameter raises ValueError.
        inline: whether ``torch.compile`` traces the function and sees its launches. By default it sees one operator.
        kernels: kernels that the function uses, but to which no name in its code leads. The fingerprint needs them.

    **Of a kernel**: the operator is declared, and its calls run no Python. Each parameter of the kernel's signature is
    a result (``outputs``), a computed argument (``arguments``), or otherwise an input of the operator. What is computed
    is given as a function, whose parameters have the names of inputs.

        add = wave_runtime.define_op(
            "mylib::add",
            vector_add,
            outputs={"c": lambda a: a.new_empty(a.shape)},
            arguments={"n": lambda a: a.numel()},
            grid=lambda a: wave_runtime.cdiv(a.numel(), 256),
            block=256,
        )

    These functions are run once for each combination of ranks and dtypes, with stand-ins that record what they do; C++
    evaluates the record. So they may use the shape, strides, numel, rank and dtype of tensors, scalars, arithmetic,
    ``torch.sym_min``, ``torch.sym_max`` and ``cdiv``. They may branch on ranks and dtypes, but not on sizes and
    scalars. If an extent of the grid is 0, as it is for empty tensors, nothing is launched.

    Args:
        kernel: the kernel. It must be known what it writes.
        outputs: the pointers that the operator returns, in the kernel's order. Each has a function that allocates the
            tensor: ``a.new_empty(sizes, dtype=...)`` of an input ``a``, or ``a.new_zeros(...)``.
        arguments: the parameters that are not inputs, each with a number or a function that computes it.
        defaults: default values of scalar inputs, which must be the last inputs.
        grid, block, shared_memory: as in a call of the kernel, or functions that compute them.
        attributes: the other options of a call.

    Returns:
        With a kernel the :class:`Operator`; without one a decorator, which makes an :class:`Operator` of a function.

    Raises:
        ValueError: the name or the type hints do not make a schema, or the declaration does not fit the kernel.
        TypeError: there is no name, an option is of another type or unknown, or ``grid=`` or ``block=`` is missing.
    """
    if not isinstance(name, str):
        raise TypeError(
            f'define_op: expected a name "namespace::name", given {type(name).__name__}: '
            '@define_op("namespace::name"), or define_op("namespace::name", kernel, ...)'
        )
    if kernel is None:
        _check_options(name, options)
        return lambda body: Operator(name, body, **options)
    if not isinstance(kernel, _C.Kernel):
        raise TypeError(
            f"operator '{name}': expected a kernel, as load()[...] gives one, given {type(kernel).__name__}"
        )
    inline = options.pop("inline", False)
    return DeclaredOperator(Declaration(name, kernel, **options), inline=inline)


def _check_options(name: str, options: Mapping[str, Any]) -> None:
    """Of the operator of a function. Raises TypeError."""
    for option, value in options.items():
        if option not in ("mutates", "inline", "kernels"):
            raise TypeError(
                f"operator '{name}' got an unexpected keyword '{option}'; that of a function takes mutates=, inline= "
                "and kernels="
            )
        if option != "inline" and (isinstance(value, str) or not isinstance(value, Collection)):
            raise TypeError(f"operator '{name}': {option}= must be a list, given {type(value).__name__}")
    for option, kind, what in (("mutates", str, "names of parameters"), ("kernels", _C.Kernel, "kernels")):
        for item in options.get(option, ()):
            if not isinstance(item, kind):
                raise TypeError(
                    f"operator '{name}': {option}= must be a list of {what}, given one of {type(item).__name__}"
                )


def cdiv(a: int, b: int) -> int:
    """Ceiling division: how many blocks of ``b`` cover ``a``. It takes symbolic sizes, too."""
    return -(-a // b)
