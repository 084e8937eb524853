"""The engine of row-wise operations; NumPy has bf16 once `ml_dtypes` is imported."""

import ml_dtypes as ml_dtypes
