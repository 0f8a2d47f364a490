"""Tables: only `table` knows what a DataFrame is; `schema` and `rules` choose a family for each of its columns."""
