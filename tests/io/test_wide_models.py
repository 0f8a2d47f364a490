"""Models of many columns are saved, loaded and printed without d × d numbers."""

import json

import numpy as np
import pytest

import suffice as sf
from suffice.errors import ModelFileError
from suffice.numerics.low_rank import LowRank

D = 1100  # more parameters than a print computes standard errors of
ROWS = np.random.default_rng(0).normal(size=(40, D)) + np.repeat([0.0, 3.0], 20)[:, None]


@pytest.fixture
def no_matrices(monkeypatch):
    """Refuse to make the d × d numbers of a wide matrix."""
    made = LowRank._made

    def refuse(self):
        assert self.shape[-1] < D, "a d × d matrix was made"
        return made(self)

    monkeypatch.setattr(LowRank, "_made", refuse)


def low_rank():
    rng = np.random.default_rng(1)
    return sf.MultivariateNormal(np.zeros(D), LowRank(np.ones(D), [rng.normal(size=(3, D))]))


def fits():
    yield sf.fit(sf.MultivariateNormal(structure="diag"), ROWS)
    yield sf.fit(sf.Mixture(sf.MultivariateNormal(structure="diag"), 2), ROWS, random_state=0, max_iter=3)
    yield sf.fit(sf.Mixture(sf.MultivariateNormal(structure="EEI"), 2), ROWS, random_state=0, max_iter=3)


@pytest.mark.usefixtures("no_matrices")
def test_a_wide_fit_is_written_in_as_many_numbers_as_it_has():
    for fit in fits():
        data = sf.io.dumps(fit)
        assert len(data) < 25 * 40 * D  # a matrix alone has 2 * D * D letters
        back = sf.io.loads(data)
        np.testing.assert_array_equal(back.distribution.log_prob(ROWS), fit.distribution.log_prob(ROWS))
        assert back.statistics == fit.statistics
        assert sf.io.dumps(back) == data


@pytest.mark.usefixtures("no_matrices")
def test_a_low_rank_covariance_comes_back():
    before = low_rank()
    after = sf.io.loads(sf.io.dumps(before))
    np.testing.assert_array_equal(after.log_prob(ROWS), before.log_prob(ROWS))
    np.testing.assert_array_equal(after.matrices.factors[0], before.matrices.factors[0])


@pytest.mark.usefixtures("no_matrices")
def test_a_wide_model_is_printed_without_its_matrix():
    for fit in fits():
        assert "MultivariateNormal(mean=[" in repr(fit.distribution)
        assert f"and {D - 16} more columns" in str(fit)
    assert "..." in repr(low_rank())


def test_the_print_of_a_wide_covariance_is_that_of_its_corners():
    wide = low_rank()
    dense = np.array2string(np.asarray(wide.cov), precision=4, separator=", ", threshold=12, edgeitems=2)
    assert dense.replace("\n", "") in repr(wide)


def test_the_strongest_correlations_are_those_of_the_matrix():
    from suffice.display.fit_summary import strongest

    wide = low_rank()
    cov = np.asarray(wide.cov)
    r = np.triu(np.abs(cov) / np.sqrt(np.outer(np.diag(cov), np.diag(cov))), 1)
    places = [tuple(divmod(int(one), D)) for one in np.argsort(-r, axis=None)[:3]]
    assert [pair[:2] for pair in strongest(wide, tuple(range(D)))] == places


def test_whole_matrices_are_still_read():
    model = sf.MultivariateNormal(np.zeros(70), structure="diag")
    tree = json.loads(sf.io.dumps(model))
    assert set(tree["cov"]) == {"diagonal", "factors", "components"}
    tree["cov"] = {"array": np.eye(70).ravel().tolist(), "dtype": "float64", "shape": [70, 70]}
    assert sf.io.loads(json.dumps(tree)) == model


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"components": 3}, "components"),
        ({"factors": [{"array": [1.0], "dtype": "float64", "shape": [1, 1]}]}, "factors are rows of 70"),
        ({"diagonal": {"array": [-1.0] * 70, "dtype": "float64", "shape": [70]}}, "below 0"),
        ({"diagonal": {"array": [0.0] * 70, "dtype": "float64", "shape": [70]}}, "not a covariance"),
        ({"diagonal": {"array": ["nan"] * 70, "dtype": "float64", "shape": [70]}}, "finite"),
        ({"diagonal": {"array": [1.0] * 69, "dtype": "float64", "shape": [69]}}, "70"),
    ],
)
def test_damaged_parts_are_refused(change, told):
    tree = json.loads(sf.io.dumps(sf.MultivariateNormal(np.zeros(70), structure="diag")))
    tree["cov"] |= change
    with pytest.raises(ModelFileError, match=told):
        sf.io.loads(json.dumps(tree))


def test_parts_of_a_matrix_are_refused_where_none_belongs():
    tree = json.loads(sf.io.dumps(sf.MultivariateNormal(np.zeros(70), structure="diag")))
    tree["mean"] = tree["cov"]
    with pytest.raises(ModelFileError, match="not a matrix of many columns"):
        sf.io.loads(json.dumps(tree))
