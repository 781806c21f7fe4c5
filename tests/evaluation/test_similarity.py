"""The limit on BLAS threads ends with the last one inside, in whatever order they leave."""

import numpy as np
from threadpoolctl import ThreadpoolController

from diptych.evaluation.similarity import one_thread_each


def threads():
    return [library["num_threads"] for library in ThreadpoolController().select(user_api="blas").info()]


def test_limits_across_threads_restore_the_first_state():
    assert np.eye(2).any()
    before = threads()
    first, second = one_thread_each(), one_thread_each()
    first.__enter__()
    second.__enter__()
    assert set(threads()) == {1}
    first.__exit__(None, None, None)
    assert set(threads()) == {1}
    second.__exit__(None, None, None)
    assert threads() == before
