"""Attributes of other modules and classes, and items of their dictionaries, replaced for a time."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from functools import partial
from typing import Any

_ABSENT = object()


class Patches:
    """Replaces attributes and items, and puts back what was there."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], Any]] = []

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Set an attribute of a module, class or object. What a class has inherited is hidden, not changed."""
        before = vars(owner).get(name, _ABSENT)
        put_back = partial(delattr, owner, name) if before is _ABSENT else partial(setattr, owner, name, before)
        self._undo.append(put_back)
        setattr(owner, name, value)

    def set_item(self, mapping: MutableMapping[Any, Any], key: Any, value: Any) -> None:
        """Set an item of a dictionary."""
        before = mapping.get(key, _ABSENT)
        put_back = partial(mapping.pop, key) if before is _ABSENT else partial(mapping.__setitem__, key, before)
        self._undo.append(put_back)
        mapping[key] = value

    def call_at_the_end(self, function: Callable[[], Any]) -> None:
        """Have undo() call a function."""
        self._undo.append(function)

    def __bool__(self) -> bool:
        """Whether something is replaced."""
        return bool(self._undo)

    def undo(self) -> None:
        """Put back everything, the last first."""
        while self._undo:
            self._undo.pop()()
