"""Bytes that are no UTF-8, far behind the first rows, are named as such, whatever the reader says."""

from __future__ import annotations

import pytest

import suffice as sf


@pytest.mark.parametrize("last", [b"caf\xe9,1\n", b"caf\xe9,1,2\n"])
def test_a_late_row_that_is_not_in_utf8(tmp_path, last):
    file = tmp_path / "rows.csv"
    file.write_bytes(b"name,x\n" + b"tea,1\n" * 500_000 + last)
    with pytest.raises(sf.DataError, match=r"not in UTF-8.*iconv"):
        sf.fit(sf.Product({"x": sf.Normal()}), sf.scan(file))
