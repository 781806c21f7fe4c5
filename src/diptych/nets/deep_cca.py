"""Deep canonical correlation analysis: a net for each view, trained so that their outputs correlate."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import torch
from torch import Tensor, nn

from diptych._core.errors import FitError
from diptych.nets.dense import DenseStack
from diptych.nets.rows import RowSource, same_length


def canonical_correlations(first: Tensor, second: Tensor, regularisation: float = 1e-4) -> Tensor:
    """Return the regularised canonical correlations of two views, largest first, in double precision.

    They are the singular values of T = Σ₁₁^(−½) Σ₁₂ Σ₂₂^(−½) with Σ_mm = X_mᵀX_m/(n − 1) + r·I (Andrew et al. 2013).
    With Σ_mm = L_m L_mᵀ the matrix L₁⁻¹ Σ₁₂ L₂⁻ᵀ differs from T by rotations only, so that it has the same ones; its
    derivative, unlike that of an inverse root by eigenvectors, stays finite when eigenvalues coincide.

    Args:
        first: rows of one view.
        second: rows of the other, paired by position.
        regularisation: r, added to the diagonal of both covariances.
    """
    return whitened_correlations(batch_covariances(first.double(), second.double()), regularisation)


def batch_covariances(first: Tensor, second: Tensor) -> list[Tensor]:
    """Return Σ₁₁, Σ₂₂ and Σ₁₂ of paired rows."""
    first, second = first - first.mean(0), second - second.mean(0)
    scale = 1.0 / (len(first) - 1)
    return [scale * first.mT @ first, scale * second.mT @ second, scale * first.mT @ second]


def whitened_correlations(covariances: Sequence[Tensor], regularisation: float) -> Tensor:
    """Return the canonical correlations that covariances Σ₁₁, Σ₂₂ and Σ₁₂ amount to, with a ridge on the first two."""
    first, second, cross = covariances
    inner = torch.linalg.solve_triangular(_factor(first, regularisation), cross, upper=False)
    whitened = torch.linalg.solve_triangular(_factor(second, regularisation), inner.mT, upper=False)
    correlations: Tensor = torch.linalg.svdvals(whitened)
    return correlations


def view_covariances(views: Sequence[Tensor], present: Sequence[Tensor]) -> list[Tensor]:
    """Return Σ_mm of every view, and then Σ_ml of every two, over the rows that have them.

    An item that has k of the M views counts (M − 1)/(k − 1) times in every Σ_ml, so that each view is compared with the
    mean of the item's other views; where all have all, these are plain covariances.

    Args:
        views: the rows of each view, for the items that have it.
        present: for each view which items of the batch have it.
    """
    count = len(views)
    centred = [view - view.mean(0) if len(view) else view for view in views]
    scales = [max(len(view) - 1, 1) ** -0.5 for view in views]
    scaled = [scale * view for scale, view in zip(scales, centred, strict=True)]
    had = torch.stack(list(present)).sum(0)
    shares = (count - 1) / (had - 1).clamp_min(1)
    covariances = [view.mT @ view for view in scaled]
    for first, second in combinations(range(count), 2):
        both = present[first] & present[second]
        one, other = scaled[first][both[present[first]]], scaled[second][both[present[second]]]
        covariances.append((one * shares[both].to(one.dtype).unsqueeze(1)).mT @ other)
    return covariances


def generalised_correlations(covariances: Sequence[Tensor], views: int, regularisation: float) -> Tensor:
    """Return the generalised canonical correlations of several views, largest first, as many as a view has columns.

    With Σ_mm + r·I = L_m L_mᵀ, the blocks L_m⁻¹ Σ_ml L_l⁻ᵀ off the diagonal and identities on it make a matrix whose
    eigenvalues λ are those of MAXVAR generalised CCA (Kettenring 1971); returned are (λ − 1)/(M − 1). Without r, the
    sum of the leading λ is what deep generalised CCA maximises: the eigenvalues of the sum of the views' projectors
    (Benton et al. 2017). Of two views they are the canonical correlations.

    Args:
        covariances: of `view_covariances`.
        views: M.
        regularisation: r.
    """
    factors = [_factor(covariance, regularisation) for covariance in covariances[:views]]
    width = len(factors[0])
    rows = [[torch.eye(width).to(factors[0]) for _ in range(views)] for _ in range(views)]
    for (first, second), cross in zip(combinations(range(views), 2), covariances[views:], strict=True):
        inner = torch.linalg.solve_triangular(factors[first], cross, upper=False)
        whitened = torch.linalg.solve_triangular(factors[second], inner.mT, upper=False)
        rows[first][second], rows[second][first] = whitened.mT, whitened
    values = torch.linalg.eigvalsh(torch.cat([torch.cat(row, dim=1) for row in rows]))
    leading: Tensor = (values.flip(0)[:width] - 1.0) / (views - 1)
    return leading


def _factor(covariance: Tensor, regularisation: float) -> Tensor:
    ridge = regularisation * torch.eye(len(covariance), dtype=covariance.dtype, device=covariance.device)
    factor: Tensor
    factor, failed = torch.linalg.cholesky_ex(covariance + ridge)
    if int(failed) != 0:
        raise FitError(
            f"the covariance of {len(covariance)} columns is not positive definite; "
            f"raise the regularisation (now {regularisation}), enlarge the batch or narrow the output."
        )
    return factor


class DeepCCA(nn.Module):
    """A dense net of ReLU layers for each of two or more views, with a linear output (Andrew et al. 2013).

    Args:
        sizes: for each view, the width of its rows and of its layers; the last widths must be equal.
        random: the source of the weights.
        running: keep running averages of the covariances, for training with small batches.
    """

    covariances: Tensor | None

    def __init__(
        self,
        sizes: Mapping[str, Sequence[int]],
        random: torch.Generator,
        *,
        running: bool = False,
    ) -> None:
        super().__init__()
        self.modalities = tuple(sizes)
        self.nets = nn.ModuleDict(
            {name: DenseStack(widths, random, last="linear", scheme="xavier") for name, widths in sizes.items()}
        )
        width = next(iter(sizes.values()))[-1]
        # Σ₁₁, Σ₂₂ and Σ₁₂; a part of the state, so that a resumed training goes on with the same averages.
        blocks = len(sizes) * (len(sizes) + 1) // 2
        averages = torch.zeros(blocks, width, width, dtype=torch.float64) if running else None
        self.register_buffer("covariances", averages)

    def embed(self, modality: str, x: Tensor) -> Tensor:
        """Return the output of one view's net, before any canonical rotation."""
        output: Tensor = self.nets[modality](x)
        return output


def _seen(present: Sequence[Tensor]) -> Tensor:
    """Which of `view_covariances` a batch has rows for."""
    own = [has.sum() > 1 for has in present]
    both = [(first & second).any() for first, second in combinations(present, 2)]
    return torch.stack([*own, *both]).double()[:, None, None]


class DeepCCAObjective:
    """Minus the sum of the leading canonical correlations of the batch; of more than two views, generalised ones.

    A batch should hold several times more rows than the output has columns, as the covariances are those of the batch;
    unless the net keeps running averages Σ ← m Σ + (1 − m) Σ_batch of them. Those have seen many batches, so that they
    can be whitened although the batch alone could not; only the batch's share has a gradient.

    Args:
        net: the nets to train.
        data: rows of each view, paired by position.
        components: how many correlations are summed; None means all.
        regularisation: added to the diagonal of both covariances.
        momentum: m, where the net keeps running averages.
        rows_of: for views that some items lack, for every item its row, -1 where it has none.
    """

    module: nn.Module

    def __init__(
        self,
        net: DeepCCA,
        data: Mapping[str, RowSource],
        *,
        components: int | None = None,
        regularisation: float = 1e-4,
        momentum: float = 0.9,
        rows_of: Mapping[str, Tensor] | None = None,
    ) -> None:
        self.net = net
        self.module = net
        self.data = {name: data[name] for name in net.modalities}
        self.rows_of = dict(rows_of or {})
        self.pairs = same_length(self.rows_of.get(name, source) for name, source in self.data.items())
        self.components = components
        self.regularisation = regularisation
        self.momentum = momentum

    def __len__(self) -> int:
        """Return the number of training pairs."""
        return self.pairs

    def gradients(self, rows: Tensor, step: int, random: torch.Generator) -> dict[str, Tensor]:
        """Back-propagate the loss; also report the mean of the summed correlations."""
        if len(self.data) == 2:
            first, second = (self.net.embed(name, source[rows]) for name, source in self.data.items())
            covariances = self._averaged(batch_covariances(first.double(), second.double()), step)
            correlations = whitened_correlations(covariances, self.regularisation)[: self.components]
        else:
            views, present = self._views(rows)
            covariances = self._averaged(view_covariances(views, present), step, _seen(present))
            correlations = generalised_correlations(covariances, len(self.data), self.regularisation)[: self.components]
        loss = -correlations.sum()
        loss.backward()  # type: ignore[no-untyped-call]
        return {"loss": loss.detach(), "mean_correlation": correlations.detach().mean()}

    def _views(self, rows: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """What every net gives for the items of a batch that have its view, and which have it."""
        views, present = [], []
        for name, source in self.data.items():
            numbers = self.rows_of[name][rows] if name in self.rows_of else rows
            present.append(numbers >= 0)
            views.append(self.net.embed(name, source[numbers[numbers >= 0]]).double())
        return views, present

    def _averaged(self, batch: list[Tensor], step: int, seen: Tensor | float = 1.0) -> list[Tensor]:
        """Return the covariances to whiten with, and keep their averages for the next step.

        Args:
            batch: those of the batch.
            step: which one.
            seen: 0 for those of which the batch has no rows, whose averages stay as they are.
        """
        if self.net.covariances is None:
            return batch
        share = seen * max(1.0 - self.momentum, 1.0 / (step + 1))  # the first steps average all that was seen
        averaged = (1.0 - share) * self.net.covariances + share * torch.stack(batch)
        self.net.covariances.copy_(averaged.detach())
        return list(averaged)
