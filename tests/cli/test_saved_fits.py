"""Fits that are saved after an interruption, and checkpoints of labels."""

import pytest

import suffice as sf


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_an_interrupted_fit_can_be_saved(tmp_path, number):
    def stop(seen):
        if seen.number == number:
            raise KeyboardInterrupt

    x = [1.0, 1.2, 0.8, 5.0, 5.3, 4.9, 3.0, 2.9]
    path = tmp_path / "m.json"
    try:
        fit = sf.fit(sf.Mixture(sf.Normal(), 2), x, random_state=0, tol=0.0, callback=stop)
    except KeyboardInterrupt:
        assert number == 1  # before the first pass there is nothing to keep
        return
    assert len(fit.trace.change) == len(fit.trace.log_likelihood)
    sf.save(fit, path)
    assert sf.load(path).distribution == fit.distribution


def test_checkpoints_hold_fits_of_labels(tmp_path):
    rows = {"kind": ["a", "b", "a", "c"] * 5, "size": [1.0, 5.0, 1.2, 4.8] * 5}
    model = sf.Mixture(sf.Product({"kind": sf.Categorical(), "size": sf.Normal()}), 2)
    kept = sf.fit(model, rows, random_state=0, checkpoint=tmp_path / "c.json")
    assert kept.distribution == sf.fit(model, rows, random_state=0).distribution
