"""PTX of whole kernels, kept as files that are read and assembled."""
