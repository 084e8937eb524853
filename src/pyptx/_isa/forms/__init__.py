"""The rows, by chapter of the PTX manual. Nothing but rows lives in the chapter files."""
