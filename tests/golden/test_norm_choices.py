"""Which kernels an RMS normalization is made of: three targets, lengths of models and others.

The choices were measured on an H200, so none of them changes by accident. The plan of row-wise
operations chooses for the same formulas too; a second table has the lengths for which it chooses
otherwise. `make goldens` writes both anew.
"""

from __future__ import annotations

from .norm_choices import differing, of_norm, of_plan, table
from .test_rms_norm import Lines


def test_choices_of_the_norm(snapshot):
    assert "\n".join(table(of_norm)) + "\n" == snapshot(extension_class=Lines)


def test_where_the_plan_chooses_otherwise(snapshot):
    assert "\n".join(differing(of_norm, of_plan)) + "\n" == snapshot(extension_class=Lines)
