"""What all loops may call: exp, log and softmax."""

import numpy as np
import pytest
from scipy.special import entr, logsumexp

from suffice.kernels import native

EPS = np.finfo(float).eps


_exp_log = native.kernel("exp_log", "f64 n f64 f64")
_softmax = native.kernel("softmax_block", "f64 n n f64 f64")


def _exp(x):
    exps, logs = np.empty_like(x), np.empty_like(x)
    _exp_log(x, len(x), exps, logs)
    return exps


def _log(x):
    exps, logs = np.empty_like(x), np.empty_like(x)
    _exp_log(x, len(x), exps, logs)
    return logs


def softmax(logits, scale, *, even):
    out = np.empty(2)
    _softmax(logits, *logits.shape, None if even else scale, out)
    return out


@pytest.mark.parametrize("span", [1e-8, 1.0, 30.0, 707.0])
def test_exp_is_right_to_the_last_bits(span):
    x = np.random.default_rng(0).uniform(-span, min(span, 700), 20_000)
    exact = np.exp(x.astype(np.longdouble))
    assert (np.abs(_exp(x) - exact) <= 2 * EPS * exact).all()


@pytest.mark.parametrize("span", [1e-8, 0.3, 30.0, 700.0])
def test_log_is_right_to_the_last_bits(span):
    x = np.exp(np.random.default_rng(1).uniform(-span, span, 20_000))
    exact = np.log(x.astype(np.longdouble))
    assert (np.abs(_log(x) - exact) <= 2 * EPS * np.abs(exact)).all()


def test_the_edges():
    found = _exp(np.array([-np.inf, -1e308, -709.0, -0.0, np.nan]))
    np.testing.assert_array_equal(found, [0.0, 0.0, 0.0, 1.0, np.nan])
    np.testing.assert_array_equal(_log(np.array([1.0, np.nan])), [0.0, np.nan])


@pytest.mark.parametrize("even", [False, True])
@pytest.mark.parametrize("spread", [0.0, 1.0, 300.0])
@pytest.mark.parametrize(("k", "b"), [(1, 8), (3, 192), (33, 7), (5, 1)])
def test_softmax(k, b, spread, even):
    rng = np.random.default_rng(2)
    logits = rng.normal(size=(k, b)) * spread - 1e3
    logits[rng.random((k, b)) < 0.2] = -np.inf
    logits[0] = -1e3
    scale = np.ones(b) if even else rng.gamma(0.5, size=b)
    top = logits.max(axis=0)
    log_sum = top + logsumexp(logits - top, axis=0)
    shares = np.exp((logits - top) - logsumexp(logits - top, axis=0))
    value, entropy = softmax(logits, scale, even=even)
    assert value == pytest.approx(scale @ log_sum, rel=1e-14)
    assert entropy == pytest.approx(scale @ entr(shares).sum(axis=0), rel=1e-12, abs=1e-13)
    np.testing.assert_allclose(logits, scale * shares, rtol=1e-12, atol=1e-200)


def test_softmax_of_nothing_possible_and_of_nan():
    logits = np.zeros((3, 16))
    logits[:, 5] = -np.inf
    assert softmax(logits, np.ones(16), even=True)[0] == -np.inf
    np.testing.assert_allclose(logits.sum(axis=0), np.arange(16) != 5, rtol=1e-15)
    for component in range(3):
        logits = np.zeros((3, 16))
        logits[component, 5] = np.nan
        assert np.isnan(softmax(logits, np.ones(16), even=True)).all()


def test_small_entropies_keep_their_digits():
    """Σ r log r of a share of 1e-30 is all there is: nothing of the size of 1 may be subtracted from it."""
    logits = np.array([[0.0] * 8, [-70.0] * 8])
    entropy = softmax(logits, np.ones(8), even=False)[1]
    assert entropy == pytest.approx(8 * 71 * np.exp(-70.0), rel=0.02)
