"""Options that take many values, as in ``--datasets A C L``."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand


class ManyValues(TyperCommand):
    """A command whose list options take many values: ``--datasets A C`` for two ``--datasets``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Write ``--datasets A C`` as ``--datasets A --datasets C``, then read as always."""
        many = {name for option in self.params if option.multiple for name in option.opts}
        written: list[str] = []
        current = None
        for argument in args:
            if argument.startswith("-") and argument != "-":
                current = argument if argument in many else None
                if current is None:
                    written.append(argument)
            elif current is not None:
                written += [current, argument]
            else:
                written.append(argument)
        return super().parse_args(ctx, written)
