"""Words of earlier versions: an error for one of them names the word that has taken its place."""

from __future__ import annotations

from typing import Any

from . import _zipfold

#: The new word by place and old word.
WORDS = {(place, old): new for place, old, new in _zipfold.renamed()}


def no_attribute(owner: str, name: str, place: str) -> AttributeError:
    """The error for an attribute that ``owner`` lacks."""
    new = WORDS.get((place, name))
    remedy = f"\n  try: {new}" if new else ""
    return AttributeError(f"{owner}: expected one of its attributes, got '{name}'{remedy}")


def no_argument(function: str, name: str) -> str:
    """The text for an argument that ``function`` lacks."""
    new = WORDS.get(("argument", name))
    return f"{name}: {function} takes no argument '{name}'" + (f"\n  try: {new}=…" if new else "")


class Methods(type):
    """The type of a class whose methods have had other names."""

    def __getattr__(cls, name: str) -> Any:
        raise no_attribute(cls.__name__, name, "method")
