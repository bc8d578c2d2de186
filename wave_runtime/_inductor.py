"""What Inductor is told of operators that write arguments."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, cast

import torch

from wave_runtime import _torch


def keep_order(overload: _torch.OpOverload) -> None:
    """Have Inductor read a tensor before an operator writes it, where the program does.

    Inductor is told when the operator is functionalized: if it is used at all, it is loaded by then, and loading it
    takes seconds. Nothing is done for operators that write nothing.
    """
    if any(map(_torch.is_written, _torch.schema(overload).arguments)):

        def run(mode: Any, *args: Any, **keywords: Any) -> Any:
            return functionalize(mode, overload, args, keywords)

        _torch.set_rule(overload, _torch.FunctionalTensorMode, run)


def functionalize(mode: Any, overload: _torch.OpOverload, args: Any, keywords: Any) -> Any:
    """What a compiler runs for an operator that writes arguments, to make it one that returns what it would write."""
    _torch.count_slices_from_their_base()
    _torch.copy_from_where_tensors_begin()
    lower_in_order(overload)
    return _torch.run_in_mode(mode, overload, args, keywords)


def lower_call(overload: _torch.OpOverload) -> None:
    """Give Inductor, if it is loaded, a lowering of an operator that writes nothing, whose call its code makes."""
    lowering = _torch.inductor_lowerings()
    if lowering is not None and overload not in lowering.lowerings:
        lowering.register_lowering(overload, type_promotion_kind=None)(_fallback(lowering, overload))


def _fallback(lowering: Any, overload: _torch.OpOverload) -> Callable[..., Any]:
    """What has Inductor's code call the operator: in Python past the dispatcher, if it can be called so."""
    fallback = lowering.fallback_handler(overload)
    if not _torch.has_inductor_call(overload):
        return cast("Callable[..., Any]", fallback)
    arguments = _torch.schema(overload).arguments

    def lower(*args: Any, **keywords: Any) -> Any:
        if not _torch.inductor_writes_python():
            return fallback(*args, **keywords)
        for argument in arguments[len(args) :]:  # the compiler passes those that have a default by name
            if argument.kwarg_only or argument.name not in keywords:
                break
            args = (*args, keywords.pop(argument.name))
        keywords.pop("fingerprint", None)  # which is for caches of graphs alone
        operations = _torch.inductor_graph().operations
        before = len(operations)
        result = fallback(*args, **keywords)
        _torch.emit_inductor_call(operations[before:], overload)
        return result

    return lower


def lower_in_order(overload: _torch.OpOverload, *, load: bool = False) -> None:
    """Give Inductor, if it is loaded or is to be, a lowering of an operator that writes arguments.

    Torch (2.13) emits the operator, and then what reads the old values of what it writes and is not computed yet:
    `p = w * 3; k(p, w); return p + w` gives k a copy of p, since p must have strides, and computes p after k. Here all
    such values are computed first.

    Torch also takes `w.clone()` for w where neither changes, before it knows what is written in place. What is written
    in place is then decided by what follows `k(w.clone(), w)`, so that k gets w twice. Here k gets a copy, and another
    stand-in where it runs on stand-ins before that: a launch refuses to write what it reads.
    """
    lowering = _torch.inductor_lowerings(load=load)
    if lowering is None or overload in lowering.lowerings:
        return
    _lower_storage_offsets(lowering)
    _lower_views_of_inputs(lowering)
    _torch.leave_out_unused_sizes()
    _torch.write_inputs_in_place_last()
    fallback = _fallback(lowering, overload)

    def lower(*args: Any, **keywords: Any) -> Any:
        written = []
        for argument, value in _torch.with_arguments(overload, args, keywords):
            for tensor in _items(value) if _torch.is_written(argument) else []:
                if tensor is not None:
                    written.append(tensor)
                    _torch.inductor_graph().mark_buffer_mutated(tensor.realize())

        def apart(value: Any) -> Any:
            return _copy(lowering, value) if any(_may_overlap(lowering, value, other) for other in written) else value

        args, keywords = _replace_read(overload, args, keywords, apart)
        with torch.no_grad():  # the fallback runs the operator on stand-ins, but on a program's own parameters
            return fallback(*args, **keywords)

    def run_fake(mode: Any, *args: Any, **keywords: Any) -> Any:
        if _torch.is_in_inductor():
            given = _torch.with_arguments(overload, args, keywords)
            written = {
                _storage(item) for argument, value in given if _torch.is_written(argument) for item in _items(value)
            }

            def apart(value: Any) -> Any:
                return _stand_in(mode, value) if _storage(value) in written - {None} else value

            args, keywords = _replace_read(overload, args, keywords, apart)
        return _torch.run_in_mode(mode, overload, args, keywords)

    lowering.register_lowering(overload, type_promotion_kind=None)(lower)
    _torch.set_rule(overload, _torch.FakeTensorMode, run_fake)


def _lower_storage_offsets(lowering: Any) -> None:
    """Give Inductor the lowering of sym_storage_offset, as it has those of sym_size and sym_stride.

    Torch 2.10 to 2.13 lack it: they run the operator on a stand-in for the view, which begins at 0. A launch that
    writes to a view with a symbolic offset then wrote to the wrong place.
    """
    offset = torch.ops.aten.sym_storage_offset.default
    if offset in lowering.lowerings:
        return

    def lower(tensor: Any) -> Any:
        value = _torch.inductor_graph().current_node.meta["val"]
        return value.node.expr if isinstance(value, torch.SymInt) else value

    lowering.register_lowering(offset, type_promotion_kind=None)(lower)


@functools.cache
def _lower_views_of_inputs(lowering: Any) -> None:
    """Have Inductor count the offset of as_strided from where the storage of an input begins.

    Torch before 2.13 counts it from the input's first element. A launch that writes to a view of an input that begins
    behind the start of its storage then wrote to the wrong place.
    """
    if "storage_offset_relative_to_input_storage" in inspect.signature(lowering.as_strided).parameters:
        return
    overload = torch.ops.aten.as_strided.default
    lower = lowering.lowerings[overload]

    def lower_from_start(tensor: Any, size: Any, stride: Any, storage_offset: Any = None) -> Any:
        graph = _torch.inductor_graph()
        name = tensor.get_name()
        if storage_offset is not None and name in graph.graph_inputs:
            node = next(node for node in graph.graph.nodes if node.op == "placeholder" and node.target == name)
            begin = node.meta["val"].storage_offset()
            storage_offset -= begin.node.expr if isinstance(begin, torch.SymInt) else begin
        return lower(tensor, size, stride, storage_offset)

    lowering.register_lowering(overload, type_promotion_kind=None)(lower_from_start)


def _replace_read(overload: _torch.OpOverload, args: Any, keywords: Any, function: Callable[[Any], Any]) -> Any:
    """A call's arguments, of which those that are not written, and the items of lists, are what the function says."""
    arguments = _torch.schema(overload).arguments
    by_name = {argument.name: argument for argument in arguments}

    def replace(argument: Any, value: Any) -> Any:
        if _torch.is_written(argument):
            return value
        return type(value)(map(function, value)) if isinstance(value, (list, tuple)) else function(value)

    replaced = {name: replace(by_name[name], value) for name, value in keywords.items()}
    return tuple(map(replace, arguments, args)), replaced


def _items(value: Any) -> Any:
    return value if isinstance(value, (list, tuple)) else [value]


def _storage(value: Any) -> int | None:
    has_one = isinstance(value, torch.Tensor) and value.layout is torch.strided
    return _torch.identity_of(value.untyped_storage()) if has_one else None


def _stand_in(mode: Any, like: torch.Tensor) -> torch.Tensor:
    with mode:
        return torch.empty_strided(like.shape, like.stride(), dtype=like.dtype, device=like.device)


def _may_overlap(lowering: Any, value: Any, written: Any) -> bool:
    """Whether an argument may share memory with one that is written."""
    if not isinstance(value, lowering.ir.TensorBox) or value.realize() != written.realize():
        return False
    (first, end), (other_first, other_end) = _bytes(lowering, value), _bytes(lowering, written)
    known = _torch.inductor_graph().sizevars.statically_known_leq
    return not (known(end, other_first) or known(other_end, first))


def _layout(lowering: Any, tensor: Any) -> Any:
    """Where in its buffer a tensor will be. Views have to be told first what they are of."""
    return lowering.ir.ExternKernel.realize_input(tensor).get_layout()


def _bytes(lowering: Any, tensor: Any) -> tuple[Any, Any]:
    """The first byte of a tensor in its buffer, and the one behind its last; they may be symbolic."""
    layout = _layout(lowering, tensor)
    last = sum((size - 1) * stride for size, stride in zip(layout.size, layout.stride, strict=True))
    return layout.offset * layout.dtype.itemsize, (layout.offset + last + 1) * layout.dtype.itemsize


def _copy(lowering: Any, tensor: Any) -> Any:
    """A copy with the same strides."""
    strides = _layout(lowering, tensor).stride
    return lowering.ir.ExternKernel.require_exact_strides(lowering.clone(tensor), strides)
