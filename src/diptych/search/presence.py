"""Whether anything in an index answers typed words: told by how near its texts come, against texts of other things.

The nearness of a query is the mean of the best text's cosine and that of the best five, plus half of the best BM25
(between 0 and 1). A query whose words all stand in one text is always answered. The limit lies between what phrases
about unrelated things reach and what all but a few queries made of the index's own texts reach.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diptych.search.fusion import TEXT, WORDS, sigmoid
from diptych.search.listing import Listed

_BEST = 5
_BM25_WEIGHT = 0.5
_UNRELATED_QUANTILE = 0.6
"""Some unrelated phrases are not unrelated to this index, so not all of them must stay below the limit."""
_OWN_QUANTILE = 0.02
_OWN_MARGIN = 0.93
_OWN_WEIGHT = 0.65
_WIDTH = 0.03


@dataclass(frozen=True)
class Presence:
    """How nearness tells whether anything answers a query.

    Attributes:
        limit: of the nearness, below which nothing is close enough.
    """

    limit: float

    def __call__(self, lists: Sequence[tuple[int, Listed]]) -> float:
        """How credible it is that a query with these lists is answered: between 0 and 1, below ½ nothing is close."""
        if any(listed.holds_all for kind, listed in lists if kind == WORDS):
            return 1.0
        return float(sigmoid(np.array((nearness(lists) - self.limit) / _WIDTH)))

    def to_json(self) -> dict[str, Any]:
        """The limit."""
        return {"limit": self.limit}

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> "Presence":
        """What `to_json` wrote."""
        return cls(float(written["limit"]))


def nearness(lists: Sequence[tuple[int, Listed]]) -> float:
    """How near the texts of an index come to a query."""
    texts = [listed.scores[:_BEST] for kind, listed in lists if kind == TEXT and len(listed)]
    words = [float(listed.scores[0]) for kind, listed in lists if kind == WORDS and len(listed)]
    near = max((0.5 * float(scores[0]) + 0.5 * float(np.mean(scores)) for scores in texts), default=0.0)
    return near + _BM25_WEIGHT * max(words, default=0.0)


def fit_presence(own: Sequence[float], unrelated: Sequence[float]) -> Presence | None:
    """Learn the limit.

    Args:
        own: the nearness of queries made of the index's texts, each without the document it was made of.
        unrelated: that of phrases about things that few indexes hold.
    """
    if not len(own) or not len(unrelated):
        return None
    answered = _OWN_MARGIN * float(np.quantile(own, _OWN_QUANTILE))
    limit = _OWN_WEIGHT * answered + (1 - _OWN_WEIGHT) * float(np.quantile(unrelated, _UNRELATED_QUANTILE))
    return Presence(limit)


UNRELATED_PHRASES: tuple[str, ...] = tuple(
    phrase.strip()
    for phrase in """
    mortgage interest rate; stock market crash; quantum physics; tax return form; gall bladder surgery;
    insurance liability clause; transistor datasheet; carburettor gasket; upholstery fabric; medieval charter;
    court ruling on appeal; quarterly earnings report; constitutional amendment; kidney transplant; linear regression;
    shareholder meeting; hydraulic pump seal; wedding vows; grammar of verbs; baroque organ music; labour union strike;
    glacier core sample; protein folding; software licence agreement; violin concerto; beef stew recipe;
    leather handbag; bedtime story; hair conditioner; opera libretto; chess opening; philosophy of mind;
    dental implant; knitting pattern; blood pressure tablet; jazz saxophone solo; divorce lawyer;
    football transfer rumour; ancient greek tragedy; ballroom dance lesson; wine tasting notes; diesel engine overhaul;
    nail polish remover; parliamentary debate; asthma inhaler; circuit breaker panel; goat cheese salad;
    silk evening gown; penguin colony; volcanic eruption; submarine torpedo; rap lyrics; tooth whitening;
    inflation forecast; tropical fish tank; horse saddle; monastery choir; vaccination certificate;
    laser printer toner; sewing machine needle; bank robbery; comic book villain; rainforest frog; steam locomotive;
    marathon training plan; mushroom risotto; newborn baby blanket; diamond engagement ring; electron microscope;
    corporate tax evasion; haunted castle; sushi knife; acoustic guitar strings; prison sentence; desert cactus;
    airport security queue; swimming medal; snow leopard; kitchen sink plumbing; university entrance exam;
    bicycle repair kit; chocolate birthday cake; spy thriller novel; nuclear power plant; cat grooming brush;
    vintage postage stamp; yoga breathing exercise; lottery jackpot; whale migration; pregnancy test; wool carpet;
    surgical gloves; election campaign; garden lawn mower; astronomy telescope; coffee plantation; rugby tackle;
    crime scene photograph; cheese fondue; neural network training; bridal hairstyle; arctic expedition;
    car insurance claim; pottery kiln; pirate treasure map; political asylum; honey bee hive; skateboard trick;
    cancer screening
    """.replace("\n", " ").split(";")
)
"""Phrases about many things, of which an index holds a few at most."""
