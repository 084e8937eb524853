"""Results files as Markdown: a module for each kind of benchmark, and what they share."""
