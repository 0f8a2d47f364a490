"""What tables say of Student's t: its scale is no standard deviation."""

import numpy as np
import pytest

import suffice as sf


@pytest.mark.parametrize(("df", "std"), [(1.5, None), (2.0, None), (4.0, 3.0 * np.sqrt(2.0))])
def test_the_scale_has_its_name_and_the_deviation_is_shown_where_there_is_one(df, std):
    ((one,),) = sf.StudentT(df, 10.0, 3.0).column_summaries()
    text = ", ".join(one.pieces)
    assert "scale 3.0" in text
    assert "±" not in text
    assert one.numbers.get("std") == (None if std is None else pytest.approx(std))
    assert ("std 4.24" in text) == (std is not None)


def test_a_table_of_components_does_not_call_the_scale_a_deviation():
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.standard_t(1.2, 100), 30 + rng.normal(size=80)])
    page = str(sf.fit(sf.Mixture(sf.StudentT(), 2), rows, random_state=0, max_iter=30))
    assert "scale" in page
    assert "standard deviation" not in page
