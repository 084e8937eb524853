"""The message of a refused call, without the line that it shows."""

import pytest

import pyptx


def refusal(call, *args, **options):
    """The message after this file's name and the line of the call below."""
    with pytest.raises(pyptx.CallError) as caught:
        call(*args, **options)
    head, _, rest = str(caught.value).partition(": ")
    assert head.startswith(__file__), str(caught.value)
    return "\n".join(line for line in rest.splitlines() if not line.startswith("    "))
