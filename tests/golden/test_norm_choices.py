"""Which kernels row-wise operations are made of: lengths of models and others.

The choices were measured on an H200, so none of them changes by accident. `make goldens` writes
them anew.
"""

from __future__ import annotations

from .norm_choices import of_plan, others, table
from .test_rms_norm import Lines


def test_choices_of_the_norm(snapshot):
    assert "\n".join(table(of_plan)) + "\n" == snapshot(extension_class=Lines)


def test_choices_of_other_operations(snapshot):
    assert "\n".join(others()) + "\n" == snapshot(extension_class=Lines)
