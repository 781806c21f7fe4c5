"""Deep canonical correlation analysis: a net for each view, trained so that their outputs correlate."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from diptych._core.errors import ConfigError, FitError
from diptych.nets.dense import Activation, DenseStack, Scheme
from diptych.nets.rows import RowSource, same_length


def canonical_correlations(first: Tensor, second: Tensor, regularisation: float = 1e-4) -> Tensor:
    """Return the regularised canonical correlations of two views, largest first, in double precision.

    They are the singular values of T = Σ₁₁^(−½) Σ₁₂ Σ₂₂^(−½) with Σ_mm = X_mᵀX_m/(n − 1) + r·I (Andrew et al. 2013).
    With Σ_mm = L_m L_mᵀ the matrix L₁⁻¹ Σ₁₂ L₂⁻ᵀ differs from T by rotations only, so its singular values are the
    same; unlike an inverse root by eigenvectors, its derivative has no 1/(λ_i − λ_j) and stays finite when
    eigenvalues coincide.

    Args:
        first: rows of one view.
        second: rows of the other, paired by position.
        regularisation: r, added to the diagonal of both covariances.
    """
    first, second = first.double(), second.double()
    return whitened_correlations(batch_covariances(first, second), regularisation)


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
    """A dense net for each of two views, with a linear output (Andrew et al. 2013).

    Args:
        sizes: for each view, the width of its rows and of its layers; the last widths must be equal.
        random: the source of the weights.
        activation: of the hidden layers.
        scheme: how weights start, see `dense`.
        running: keep running averages of the covariances, for training with small batches.
    """

    covariances: Tensor | None

    def __init__(
        self,
        sizes: Mapping[str, Sequence[int]],
        random: torch.Generator,
        *,
        activation: Activation = "relu",
        scheme: Scheme = "xavier",
        running: bool = False,
    ) -> None:
        super().__init__()
        if len(sizes) != 2 or len({widths[-1] for widths in sizes.values()}) != 1:
            raise ConfigError(f"deep CCA got {dict(sizes)}; give exactly two views with equally wide outputs.")
        self.modalities = tuple(sizes)
        self.nets = nn.ModuleDict(
            {
                name: DenseStack(widths, random, activation=activation, last="linear", scheme=scheme)
                for name, widths in sizes.items()
            }
        )

        width = next(iter(sizes.values()))[-1]
        # Σ₁₁, Σ₂₂ and Σ₁₂; a part of the state, so that a resumed training goes on with the same averages.
        averages = torch.zeros(3, width, width, dtype=torch.float64) if running else None
        self.register_buffer("covariances", averages)

    def embed(self, modality: str, x: Tensor) -> Tensor:
        """Return the output of one view's net, before any canonical rotation."""
        if modality not in self.modalities:
            raise ConfigError(f"the modality '{modality}' is unknown; this net has {', '.join(self.modalities)}.")
        output: Tensor = self.nets[modality](x)
        return output


class DeepCCAObjective:
    """Minus the sum of the leading canonical correlations of the batch.

    A batch should hold several times more rows than the output has columns, as the covariances are those of the batch;
    unless the net keeps running averages Σ ← m Σ + (1 − m) Σ_batch of them. Those have seen many batches, so that they
    can be whitened although the batch alone could not; only the batch's share has a gradient.

    Args:
        net: the nets to train.
        data: rows of each view, paired by position.
        components: how many correlations are summed; None means all.
        regularisation: added to the diagonal of both covariances.
        momentum: m, where the net keeps running averages.
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
    ) -> None:
        self.net = net
        self.module = net
        self.data = {name: data[name] for name in net.modalities}
        self.pairs = same_length(self.data.values())
        self.components = components
        self.regularisation = regularisation
        self.momentum = momentum

    def __len__(self) -> int:
        """Return the number of training pairs."""
        return self.pairs

    def gradients(self, rows: Tensor, step: int, random: torch.Generator) -> dict[str, Tensor]:
        """Back-propagate the loss; also report the mean of the summed correlations."""
        first, second = (self.net.embed(name, source[rows]) for name, source in self.data.items())
        covariances = self._averaged(batch_covariances(first.double(), second.double()), step)
        correlations = whitened_correlations(covariances, self.regularisation)[: self.components]
        loss = -correlations.sum()
        loss.backward()  # type: ignore[no-untyped-call]
        return {"loss": loss.detach(), "mean_correlation": correlations.detach().mean()}

    def _averaged(self, batch: list[Tensor], step: int) -> list[Tensor]:
        """Return the covariances to whiten with, and keep their averages for the next step."""
        if self.net.covariances is None:
            return batch
        share = max(1.0 - self.momentum, 1.0 / (step + 1))  # the first steps average all that was seen
        averaged = (1.0 - share) * self.net.covariances + share * torch.stack(batch)
        self.net.covariances.copy_(averaged.detach())
        return list(averaged)
