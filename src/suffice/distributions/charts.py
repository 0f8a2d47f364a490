"""Families that know their own derivatives, or have none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from suffice.distributions.categorical import Categorical
from suffice.distributions.gaussian_chart import GaussianChart
from suffice.distributions.laplace import Laplace
from suffice.distributions.multinomial import Multinomial
from suffice.distributions.multivariate_normal import MultivariateNormal
from suffice.distributions.student_t import HIGHEST, StudentT
from suffice.distributions.uniform import Uniform
from suffice.types import Array
from suffice.uncertainty.information import CellChart, Chart, ShareChart, Slot, chart


class LevelChart(ShareChart):
    """Labels: u_j = 1[x = j]."""

    def indicators(self, rows: Any) -> Array:
        width = self.stack.probs.shape[-1]
        places = np.stack(
            [cells.among(cells.places(levels)) for cells, levels in zip(rows.columns, self.stack.named, strict=True)],
            axis=1,
        )
        return np.asarray(places[:, :, None] == np.arange(width), dtype=float)


class CountChart(ShareChart):
    """Counts of outcomes: u = x."""

    def indicators(self, rows: Any) -> Array:
        return np.where(np.isnan(rows), 0.0, rows)


class KinkedChart(CellChart):
    """A density with a kink in its parameters: it has scores, and no second derivatives."""

    smoothness = 1


class JumpChart(CellChart):
    """A density that jumps as its parameters move: nothing is known of them by derivatives."""

    smoothness = 0


class TailChart(CellChart):
    """StudentT: degrees of freedom that are as good as infinite do not move."""

    def find_slots(self) -> list[Slot]:
        held = (np.asarray(self.stack.df) > 0.9 * HIGHEST)[..., None]
        found = super().find_slots()
        return [replace(slot, scale=np.where(held, 0.0, slot.scale)) if slot.name == "df" else slot for slot in found]


CHARTS: dict[type, type[Chart]] = {
    Categorical: LevelChart,
    Laplace: KinkedChart,
    Multinomial: CountChart,
    MultivariateNormal: GaussianChart,
    StudentT: TailChart,
    Uniform: JumpChart,
}
for _family, _chart in CHARTS.items():
    chart.register(_family, _chart)
