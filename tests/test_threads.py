"""Threads: BLAS keeps to one while they work, and gets its own number back afterwards."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import threadpoolctl

from poscount.threads import one_blas_thread, run_in_threads


def blas_threads():
    np.ones((2, 2)) @ np.ones((2, 2))
    return {
        pool["num_threads"]
        for pool in threadpoolctl.threadpool_info()
        if pool["user_api"] == "blas"
    }


@pytest.fixture(autouse=True)
def two_blas_threads():
    """Whatever this machine has, so that a limit of one can be told from it."""
    with threadpoolctl.threadpool_limits(limits=2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("this BLAS cannot have two threads")
        yield


def test_blas_has_one_thread_inside_and_what_it_had_afterwards():
    with one_blas_thread():
        assert blas_threads() == {1}
    assert blas_threads() == {2}


def test_nested_users_lift_the_limit_when_the_last_one_leaves():
    with one_blas_thread():
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == {2}


def test_the_limit_is_lifted_after_an_error():
    with pytest.raises(ZeroDivisionError), one_blas_thread():
        raise ZeroDivisionError
    assert blas_threads() == {2}


def test_a_user_in_another_thread_keeps_the_limit():
    entered, leave = threading.Event(), threading.Event()

    def other():
        with one_blas_thread():
            entered.set()
            leave.wait(60)

    thread = threading.Thread(target=other)
    with one_blas_thread():
        thread.start()
        assert entered.wait(60)
    assert blas_threads() == {1}
    leave.set()
    thread.join()
    assert blas_threads() == {2}
    # And the next user, in whichever thread, has the limit again.
    assert run_in_new_thread(blas_threads_of_a_user) == {1}
    assert blas_threads_of_a_user() == {1}
    assert blas_threads() == {2}


def blas_threads_of_a_user():
    with one_blas_thread():
        return blas_threads()


def run_in_new_thread(function):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


@pytest.mark.parametrize("n_workers", [1, 3])
def test_workers_run_at_the_same_time_and_answer_in_order(n_workers):
    barrier = threading.Barrier(n_workers, timeout=60)
    seen = {}

    def task(i):
        # Nobody passes before all have come.
        barrier.wait()
        seen[i] = threading.current_thread()
        assert blas_threads() == {1}
        return i * i

    assert run_in_threads(task, n_workers) == [i * i for i in range(n_workers)]
    assert seen[0] is threading.current_thread()
    assert len(set(seen.values())) == n_workers
    assert blas_threads() == {2}


def test_an_error_of_any_worker_is_raised():
    def task(i):
        if i == 2:
            raise KeyError(i)

    with pytest.raises(KeyError):
        run_in_threads(task, 3)
