"""DTensor: rules that say how an operator's tensors may be spread over devices."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch

from wave_runtime import _torch

# Placements of the results and of the inputs.
Placements = tuple[Sequence[Any], Sequence[Any]]
Rule = Callable[..., Sequence[Placements]]


def register(name: str, overload: _torch.OpOverload, rule: Rule) -> None:
    """Give DTensor an operator's rule, which does not see the fingerprint.

    Three things are more than torch's register_sharding does. What a rule returns is checked. What was decided for some
    values of arguments that are not tensors is not taken for others: torch tells integers apart, and nothing else. And
    a tensor that the operator writes, or that is keyword-only, stays as it is placed: of the former torch would have a
    copy written, and the latter it would pass as it is, whatever the rule says.
    """
    from torch.distributed.tensor.experimental import register_sharding

    types = _torch.sharding_types()
    arguments = _torch.schema(overload).arguments
    _check_supported(name, overload)
    register_sharding(overload)(_checked(name, overload, rule))
    propagator = _torch.sharding_propagator()
    find_strategies: Any = propagator.op_strategy_funcs[overload]

    def strategies(op_schema: Any) -> Any:
        positional = zip(arguments, op_schema.args_schema, strict=False)
        stays = [_torch.is_written(argument) for argument, value in positional if isinstance(value, types.OpStrategy)]
        tensors = (*op_schema.args_strategy, *op_schema.kwargs_strategy)
        places = [tensor.strategies[0].output_spec.placements for tensor in tensors]
        stays += [True] * (len(places) - len(stays))
        fixed = {i: places[i] for i, stay in enumerate(stays) if stay}
        found = find_strategies(op_schema).strategies
        kept = [s for s in found if all(s.input_specs[i].placements == place for i, place in fixed.items())]
        if not kept:
            raise ValueError(
                f"operator '{name}': its sharding rule has nothing for tensors placed {', '.join(map(str, places))}; "
                "those that it writes cannot be moved: redistribute() them before the call, or add to the rule"
            )
        return types.OpStrategy(kept)

    others = [i for i, argument in enumerate(arguments) if "Tensor" not in str(argument.type)]
    keywords = [arguments[i].name for i in others if arguments[i].kwarg_only]  # the fingerprint, at least
    info = types.RuntimeSchemaInfo(static_argnum=others[0], static_kwargkey=keywords, needs_pytree=True)
    propagator.register_op_strategy(overload, strategies, info)


def _check_supported(name: str, overload: _torch.OpOverload) -> None:
    schema = _torch.schema(overload)
    if any("Tensor" in str(item.type) and "List" in str(item.type) for item in schema.arguments):
        raise ValueError(f"operator '{name}': register_sharding() is for operators without lists of tensors")
    if not schema.returns and torch.__version__ < torch.torch_version.TorchVersion("2.11"):
        raise NotImplementedError(
            f"operator '{name}' has no results, on which DTensor fails in torch {torch.__version__}: use torch 2.11 or "
            "later, or let the operator return its result"
        )


def _checked(name: str, overload: _torch.OpOverload, rule: Rule) -> Callable[..., list[tuple[list[Any], list[Any]]]]:
    """The rule as torch calls it, without the fingerprint and the arguments that equal their defaults."""
    schema = _torch.schema(overload)
    parameters = [argument for argument in schema.arguments if argument.name != "fingerprint"]
    results = len(schema.returns)

    def placements(*args: Any, fingerprint: str = "", **kwargs: Any) -> list[tuple[list[Any], list[Any]]]:
        missing = [argument for argument in parameters[len(args) :] if argument.name not in kwargs]
        args += tuple(argument.default_value for argument in missing if not argument.kwarg_only)
        kwargs.update({argument.name: argument.default_value for argument in missing if argument.kwarg_only})
        tensors = sum(hasattr(value, "placements") for value in (*args, *kwargs.values()))
        pairs = [(list(outputs), list(inputs)) for outputs, inputs in rule(*args, **kwargs)]
        for outputs, inputs in pairs:
            given = (len(outputs), sum(placement is not None for placement in inputs))
            if given != (results, tensors):
                raise ValueError(
                    f"operator '{name}': its sharding rule returned placements of {given[0]} results and {given[1]} "
                    f"tensors among the inputs, but there are {results} and {tensors}; what is not a tensor "
                    f"has None: {outputs}, {inputs}"
                )
        return pairs

    return placements


def with_places(gradients: Sequence[Any], places: Sequence[Any]) -> list[Any]:
    """The gradients of results, those of DTensors as DTensors.

    Of a result that nobody has used autograd makes zeros, which are plain tensors.

    Args:
        gradients: as autograd gives them.
        places: of the results, each as :func:`place_of` gives it.
    """
    return [
        gradient if place is None or type(gradient) is not torch.Tensor else place(gradient)
        for gradient, place in zip(gradients, places, strict=True)
    ]


def place_of(result: Any) -> Callable[[torch.Tensor], Any] | None:
    """What makes a DTensor of zeros, spread as a result is; None for a result that is no DTensor."""
    module: Any = sys.modules.get("torch.distributed.tensor")
    if module is None or not isinstance(result, module.DTensor):
        return None
    shape, mesh, placements = result.to_local().shape, result.device_mesh, result.placements

    def spread(zeros: torch.Tensor) -> Any:
        part = zeros.new_zeros(shape)
        return module.DTensor.from_local(
            part, mesh, placements, run_check=False, shape=zeros.shape, stride=zeros.stride()
        )

    return spread


def check_has_rule(name: str, arguments: Sequence[Any]) -> None:
    """Raise NotImplementedError for DTensors that meet an operator without a rule."""
    module: Any = sys.modules.get("torch.distributed.tensor")  # where nobody imported it, there is no DTensor
    for tensor in arguments if module is not None else ():
        if isinstance(tensor, module.DTensor):
            raise NotImplementedError(
                f"operator '{name}': a tensor is a DTensor, placed {tensor.placements}, but the operator has no "
                "sharding rule. Give it one with register_sharding(), or call it on to_local() tensors"
            )
