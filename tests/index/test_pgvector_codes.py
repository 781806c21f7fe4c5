"""Binary codes in PostgreSQL: what they leave out, what they cost, and what is told when they are not as written."""

import numpy as np
import pytest

from diptych._core.errors import ConfigError, DataError
from diptych.index import EmbedderId, Identity, create_index, open_index
from diptych.methods.binary_codes import learn_codes
from index.brute_force import BruteForce
from index.local.test_binary import clustered, ids_of
from index.servers.postgresql import running_postgresql

COUNT, DIMENSION = 1_500, 24
IDENTITY = Identity(EmbedderId("model"), DIMENSION)


@pytest.fixture(scope="module")
def url():
    with running_postgresql() as address:
        yield address


@pytest.fixture(scope="module")
def filled(url):
    """Vectors with codes of 128 bits under a graph of codes, and what brute force says of them."""
    vectors, model = clustered(COUNT), BruteForce()
    options = {"engine": "pgvector", "url": url, "bits": 128, "shortlist": 100}
    with create_index("coded", IDENTITY, codes=learn_codes(vectors, 128), **options) as index:
        metadata = [{"half": n % 2, "rare": n % 300 == 0} for n in range(COUNT)]
        index.add(ids_of(COUNT), vectors, modality="image", metadata=metadata)
        index.optimise()
        model.put(ids_of(COUNT), vectors, "image", metadata)
        yield index, model


def test_codes_are_searched_and_results_are_scored_by_vectors(filled) -> None:
    index, model = filled
    right = 0
    for query in clustered(20, seed=1):
        (found,) = index.search(query, 10)
        exact = model.scores(query)
        right += len(set(found.ids) & set(sorted(exact, key=exact.__getitem__)[-10:]))
        np.testing.assert_allclose(found.scores, [exact[id] for id in found.ids], atol=1e-6)
        assert found.scores.tolist() == sorted(found.scores.tolist(), reverse=True)
    assert right >= 0.9 * 200
    with index._connections.borrowed() as connection:
        plan = connection.execute(
            "EXPLAIN SELECT id FROM diptych_coded ORDER BY code <~> %s::bit(128) LIMIT 100", ["01" * 64]
        ).fetchall()
        kept = connection.execute("SELECT indexdef FROM pg_indexes WHERE indexname = 'diptych_coded_vector'").fetchall()
    assert "diptych_coded_vector" in str(plan) and "bit_hamming_ops" in str(kept)


def test_a_rare_condition_still_gets_all_there_are(filled) -> None:
    index, model = filled
    for query in clustered(5, seed=2):
        (found,) = index.search(query, 10, where="rare = true")
        assert set(found.ids) == set(model.fitting("rare = true"))
        (found,) = index.search(query, 600, where="half = 1", offset=50)
        assert len(found) == 600
        (exact,) = index.search(query, 10, exact=True)
        scores = model.scores(query)
        assert list(exact.ids) == sorted(scores, key=scores.__getitem__, reverse=True)[:10]


def test_new_items_get_codes_and_a_snapshot_keeps_them(filled, url) -> None:
    index, _ = filled
    index.snapshot("coded-copy")
    new = clustered(1, seed=3)
    with open_index("coded-copy", engine="pgvector", url=url) as copy:
        copy.add(["new"], new, modality="text")
        copy.update(["00000"], -new, modality="image")
        assert copy.search(new[0], 1)[0].ids == ("new",) and copy.search(-new[0], 1)[0].ids == ("00000",)
        stored = copy._rows("SELECT code::text FROM {} WHERE id = 'new'", [])[0][0]
    bits = np.unpackbits(index._codes.encode(new), axis=1)[0]
    assert stored == "".join(map(str, bits))


@pytest.mark.parametrize(
    ("bits", "coded", "message"),
    [
        (128, None, "must be told how vectors become codes"),
        (64, 128, "128 bits of 24 columns, and the index has 64 bits of 24"),
        (0, 128, "and the index has 0 bits"),
        (12, None, "multiple of 8"),
    ],
)
def test_codes_that_do_not_fit_are_refused(url, bits, coded, message) -> None:
    codes = None if coded is None else learn_codes(clustered(100), coded)
    with pytest.raises(ConfigError, match=message):
        create_index("refused", IDENTITY, engine="pgvector", url=url, bits=bits, codes=codes)


def test_damaged_codes_are_told(filled, url) -> None:
    filled[0].snapshot("damaged")
    with open_index("damaged", engine="pgvector", url=url) as index, index._connections.borrowed() as connection:
        connection.execute("UPDATE \"diptych_damaged.codes\" SET numbers = '\\x00'::bytea || substr(numbers, 2)")
    with pytest.raises(DataError, match="become codes is not as it was written; run `diptych index"):
        open_index("damaged", engine="pgvector", url=url)
