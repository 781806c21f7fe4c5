"""Dense SIFT against a loop over pixels, against OpenCV's own SIFT, and on edges whose answer is known."""

import tarfile
from pathlib import Path

import cv2
import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from diptych._core.arrays import ImageArray
from diptych._core.errors import ConfigError
from diptych._core.seeding import generator
from diptych.features.image.visual_words import dense_sift

cv2.setNumThreads(1)
ARCHIVE = Path(__file__).parents[3].parent / "shared" / "data" / "rsicd" / "images.tar"


def noise(height: int, width: int, seed: int = 0) -> ImageArray:
    return generator(seed, "image").integers(0, 256, (height, width, 3), dtype=np.uint8)


def naive(image: ImageArray, row: float, column: float, size: int) -> np.ndarray:
    """One descriptor, pixel by pixel and bin by bin."""
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY) / 255.0
    grey = gaussian_filter(grey, size / 6, mode="nearest", truncate=4)
    padded = np.pad(grey, 1, mode="edge")
    histogram = np.zeros((4, 4, 8))
    for y in range(grey.shape[0]):
        for x in range(grey.shape[1]):
            right = (padded[y + 1, x + 2] - padded[y + 1, x]) / 2
            down = (padded[y + 2, x + 1] - padded[y, x + 1]) / 2
            window = np.exp(-((y - row) ** 2 + (x - column) ** 2) / (2 * (2 * size) ** 2))
            turn = np.arctan2(down, right) / (np.pi / 4)
            for i in range(4):
                for j in range(4):
                    in_row = max(0, 1 - abs(y - row - (i - 1.5) * size) / size)
                    in_column = max(0, 1 - abs(x - column - (j - 1.5) * size) / size)
                    for k in range(8):
                        distance = abs((turn - k + 4) % 8 - 4)
                        share = max(0, 1 - distance) * np.hypot(right, down)
                        histogram[i, j, k] += in_row * in_column * window * share
    unit = histogram.ravel() / np.linalg.norm(histogram)
    clipped = np.minimum(unit, 0.2)
    return clipped / np.linalg.norm(clipped)


def test_every_patch_is_what_a_loop_over_pixels_gives() -> None:
    image = noise(21, 26)
    descriptors, positions = dense_sift(image, step=5, sizes=(4, 6))
    assert len(descriptors) > 2
    order = [4] * (len(descriptors) // 2) + [6] * (len(descriptors) // 2)
    expected = [naive(image, *centre, size) for centre, size in zip(positions, order, strict=True)]
    np.testing.assert_allclose(descriptors, expected, atol=2e-3)


def step_edge() -> ImageArray:
    """Dark left of the middle, bright right of it."""
    image = np.zeros((64, 64, 3), dtype=np.uint8)
    image[:, 32:] = 200
    return image


@pytest.mark.parametrize(
    ("image", "orientation"),
    [
        (step_edge(), 0),
        (np.ascontiguousarray(np.rot90(step_edge(), -1)), 2),
        (np.ascontiguousarray(step_edge()[:, ::-1]), 4),
        (np.ascontiguousarray(np.rot90(step_edge())), 6),
    ],
)
def test_a_step_edge_puts_all_its_mass_where_it_brightens(image: ImageArray, orientation: int) -> None:
    descriptors, _ = dense_sift(image, step=8, sizes=(6,))
    seen = descriptors[descriptors.any(axis=1)].reshape(-1, 16, 8)
    assert len(seen)
    mass = seen.sum(axis=(0, 1))
    assert mass[orientation] > 0.999 * mass.sum()


def test_turning_an_image_turns_its_patches() -> None:
    image = noise(40, 40)
    upright, _ = dense_sift(image, step=4, sizes=(5,))
    turned, _ = dense_sift(np.ascontiguousarray(np.rot90(image, -1)), step=4, sizes=(5,))
    side = int(np.sqrt(len(upright)))
    patches = upright.reshape(side, side, 4, 4, 8)
    expected = np.roll(np.rot90(np.rot90(patches, -1, axes=(0, 1)), -1, axes=(2, 3)), 2, axis=4)
    np.testing.assert_allclose(turned.reshape(expected.shape), expected, atol=2e-3)


def test_descriptors_have_unit_norm_or_are_zero_where_nothing_is() -> None:
    image = noise(60, 60)
    image[:, 30:] = 128
    descriptors, _ = dense_sift(image, step=4, sizes=(4,))
    norms = np.linalg.norm(descriptors, axis=1)
    assert np.all(np.isclose(norms, 1, atol=1e-5) | (norms == 0))
    assert (norms == 0).any() and (norms > 0).any()


def test_contrast_and_brightness_do_not_matter() -> None:
    image = noise(50, 50) // 3
    plain, brighter = (dense_sift(shown, contrast=0)[0] for shown in (image, image * 2 + 60))
    np.testing.assert_allclose(brighter, plain, atol=0.03)


@pytest.mark.parametrize("shape", [(1, 1), (1, 500), (300, 2), (5, 5)])
def test_odd_shapes_have_finite_patches_in_bounds(shape: tuple[int, int]) -> None:
    descriptors, positions = dense_sift(noise(*shape))
    assert descriptors.dtype == np.float32
    assert len(descriptors) == len(positions) >= 4
    assert np.isfinite(descriptors).all()
    assert np.all((positions >= 0) & (positions <= np.array(shape) - 1))


def test_every_size_stands_on_the_same_grid_a_step_apart() -> None:
    _, positions = dense_sift(noise(80, 100), step=7, sizes=(4, 8))
    first, second = np.split(positions, 2)
    np.testing.assert_array_equal(first, second)
    assert set(np.diff(np.unique(first[:, 1]))) == {7}
    assert first[:, 0].min() >= 12 and first[:, 0].max() <= 79 - 12


def test_bad_settings_are_refused() -> None:
    with pytest.raises(ConfigError, match="step is 0"):
        dense_sift(noise(5, 5), step=0)
    with pytest.raises(ConfigError, match=r"sizes are \(\)"):
        dense_sift(noise(5, 5), sizes=())


@pytest.mark.real_data
@pytest.mark.skipif(not ARCHIVE.exists(), reason="the RSICD images are not beside the checkout")
def test_descriptors_agree_with_opencv_on_real_images() -> None:
    size, agreement = 10, []
    with tarfile.open(ARCHIVE) as archive:
        members = [member for _, member in zip(range(3), archive, strict=False)]
        for member in members:
            encoded = np.frombuffer(archive.extractfile(member).read(), dtype=np.uint8)
            image = cv2.cvtColor(cv2.imdecode(encoded, cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)
            ours, positions = dense_sift(image, step=24, sizes=(size,))
            inner = np.all((positions > 30) & (positions < 160), axis=1)
            points = [cv2.KeyPoint(float(x), float(y), size / 1.5, 0) for y, x in positions[inner]]
            _, theirs = cv2.SIFT_create().compute(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), points)
            # OpenCV measures angles against the clock.
            theirs = theirs.reshape(-1, 16, 8)[:, :, -np.arange(8) % 8].reshape(-1, 128)
            agreement += [np.corrcoef(a, b)[0, 1] for a, b in zip(ours[inner], theirs, strict=True) if a.any()]
    assert len(agreement) > 30
    assert np.median(agreement) > 0.95
