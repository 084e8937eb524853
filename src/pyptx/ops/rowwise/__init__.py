"""Row-wise operations: an operation is formulas, and this package moves the rows."""
