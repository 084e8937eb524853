"""How a wrong program is written down: a function, the class of its error and the message.

In a message `here` stands for the file and line of the wrong program.
"""

import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from pyptx import PtxError

_LINE = re.compile(r"[^\s:]+\.py:\d+")


@dataclass(frozen=True)
class Wrong:
    """A wrong program; `options` are those of the kernel whose body it is."""

    program: Callable[..., object]
    error: type[PtxError]
    message: str
    options: dict[str, object] = field(default_factory=dict)

    def check(self, run: Callable[[], object]) -> None:
        """Run it and compare class and message; the line must be one of the program's file."""
        with pytest.raises(self.error) as caught:
            run()
        assert type(caught.value) is self.error
        found = str(caught.value)
        if caught.value.location is not None:
            assert caught.value.location.file == self.program.__code__.co_filename
        assert _LINE.sub("here", found) == self.message


@dataclass
class Collection:
    """The wrong programs of one test module."""

    cases: list[Wrong] = field(default_factory=list)

    def __call__(self, error: type[PtxError], message: str, **options: object):
        """Decorate a wrong program with what it must say."""
        text = textwrap.dedent(message).strip("\n")

        def add(program: Callable[..., object]) -> Callable[..., object]:
            self.cases.append(Wrong(program, error, text, options))
            return program

        return add

    def parametrize(self):
        """For the test function that takes `wrong`."""
        return pytest.mark.parametrize("wrong", self.cases, ids=lambda w: w.program.__name__)
