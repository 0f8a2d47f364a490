"""Frames and files as rows: `frame` knows DataFrames, `scan` files; labels, column names, and sketches of rows."""
