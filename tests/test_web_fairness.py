"""Nobody gets more of the server by asking more often: turns, lanes, sessions, disk, requests."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("fastapi")
pytest.importorskip("httpx")

from poscount.web.clients import client_of
from poscount.web.cost import expected_seconds
from poscount.web.fair_queue import FairQueue, Owner
from poscount.web.tasks import AVAILABLE_METHODS
from web_server import served

LONG = {"method": "extice", "bootstrap": 1000, "by": ["night"]}

owners = st.builds(Owner, st.sampled_from("abc"), st.sampled_from("123"))


def slow_order(added):
    """The same by its definition: always one of whoever was served least recently."""
    waiting, order = list(enumerate(added)), []
    served_clients, served_sessions = [], []
    joined_clients = [client for _, (client, _) in waiting]
    joined_sessions = [owner for _, owner in waiting]
    while waiting:
        clients = {owner.client for _, owner in waiting}
        client = min(clients, key=lambda c: (last(served_clients, c), joined_clients.index(c)))
        sessions = {owner for _, owner in waiting if owner.client == client}
        owner = min(sessions, key=lambda o: (last(served_sessions, o), joined_sessions.index(o)))
        item = next(item for item in waiting if item[1] == owner)
        waiting.remove(item)
        served_clients.append(client)
        served_sessions.append(owner)
        order.append(item[0])
    return order


def last(served, who):
    """When somebody was served; before everybody who was, if never."""
    return max((i for i, one in enumerate(served) if one == who), default=-1)


@given(st.lists(owners, max_size=30))
def test_turns_are_those_of_the_definition(added):
    queue = FairQueue()
    for i, owner in enumerate(added):
        queue.add(i, owner)
    foreseen = list(queue)
    assert foreseen == slow_order(added)
    assert len(queue) == len(added)
    assert [queue.take() for _ in added] == foreseen


@given(st.lists(st.tuples(owners, st.integers(0, 3)), max_size=40))
def test_nothing_is_lost_and_nobody_is_overtaken_twice(steps):
    """Adding, taking and removing at random: everything comes out once, sessions in order."""
    queue, inside, out = FairQueue(), {}, []
    for i, (owner, what) in enumerate(steps):
        if what < 2:
            queue.add(i, owner)
            inside[i] = owner
        elif what == 2 and inside:
            item = queue.take()
            # Nobody of the same session was there before it.
            assert item == min(j for j, o in inside.items() if o == inside[item])
            out.append(inside.pop(item))
        elif inside:
            item = next(iter(inside))
            assert queue.remove(item, inside.pop(item))
            assert not queue.remove(item, owner)
        assert len(queue) == len(inside)
        assert sorted(queue) == sorted(inside)
        assert {c: queue.count(c) for c in "abc"} == {
            c: sum(o.client == c for o in inside.values()) for c in "abc"
        }


@given(st.integers(1, 60), st.integers(0, 30))
def test_a_modest_client_waits_for_one_turn_of_a_greedy_one(n_greedy, n_taken):
    queue = FairQueue()
    for i in range(n_greedy):
        queue.add(("greedy", i), Owner("greedy", str(i)))
    for _ in range(min(n_taken, n_greedy - 1)):
        queue.take()
    queue.add("modest", Owner("modest", "x"))
    assert list(queue).index("modest") == 1


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("10.0.0.1", "10.0.0.2", False),
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:10.0.0.1", "10.0.0.1", True),
        ("fe80::1%eth0", "fe80::2", True),
        ("", "no address", True),
    ],
)
def test_an_address_is_a_client_and_an_ipv6_network_is_one(one, other, same):
    assert (client_of(one) == client_of(other)) == same


@pytest.mark.parametrize("method", AVAILABLE_METHODS)
def test_more_rows_and_replicates_are_expected_to_take_longer(method):
    costs = [expected_seconds(method, n, b) for b in (None, 10, 100) for n in (10, 10**6, 10**8)]
    assert costs == sorted(costs) or costs[:3] < costs[3:6] < costs[6:]
    assert expected_seconds(method, 10**6, None) < 20 < expected_seconds(method, 10**6, 100)


def test_many_sessions_of_replicates_keep_nobody_waiting():
    with served() as web:
        greedy = [web.visit("127.0.0.9") for _ in range(10)]
        modest = web.visit("127.0.0.8")
        for visit in (*greedy, modest):
            visit.example()
        started = [visit.start(**LONG) for visit in greedy]
        greedy[0].wait(started[0], until=("running",))
        # A quick estimate waits for none of them, and neither does a file.
        assert modest.wait(modest.start(method="pat"))["state"] == "done"
        assert modest.send("unlabeled", "u.csv", b"a,b\n1,2\n").status_code == 201
        # A long one waits for one turn of theirs, not for all.
        modest.example()
        own = modest.start(**LONG)
        told = modest.http.get(f"{modest.base}/estimates/{own}").json()
        assert told["position"] in (None, 0, 1)
        # They wait for each other.
        states = [
            visit.http.get(f"{visit.base}/estimates/{estimate}").json()["state"]
            for visit, estimate in zip(greedy, started, strict=True)
        ]
        assert states.count("running") <= 1


def test_replicates_that_would_take_too_long_are_refused_soon():
    # They would take minutes; a few take seconds, also on a busy machine.
    with served(seconds=60) as web:
        visit = web.visit()
        visit.example()
        told = visit.wait(visit.start(method="dedpul", bootstrap=1000, by=["night"]))
        assert told["state"] == "failed"
        message = told["error"]["message"]
        assert "1000 replicates would take about" in message
        assert "longer than the 60 s that the server allows" in message
        assert "setting Replicates" in message
        assert told["error"]["field"] == "bootstrap"


def test_the_sessions_of_one_client_have_an_end():
    with served(sessions=10, sessions_per_client=3) as web:
        visits = [web.visit("127.0.0.9") for _ in range(3)]
        refused = visits[0].http.post("/api/sessions")
        assert refused.status_code == 429
        assert "3 sessions" in refused.json()["message"]
        assert web.visit("127.0.0.8").see().status_code == 200
        visits[0].http.delete(visits[0].base)
        assert visits[1].http.post("/api/sessions").status_code == 201


def test_work_of_one_client_that_waits_has_an_end():
    with served(workers=1) as web:
        web.service.long_estimates.waiting_per_client = 2
        visits = [web.visit("127.0.0.9") for _ in range(4)]
        for visit in visits:
            visit.example()
        visits[0].wait(visits[0].start(**LONG), until=("running",))
        for visit in visits[1:3]:
            visit.start(**LONG)
        refused = visits[3].http.post(f"{visits[3].base}/estimates", json=LONG)
        assert refused.status_code == 429
        assert "your own work" in refused.json()["message"]


def test_one_client_gets_half_of_the_disk():
    with served(disk_bytes=2_000_000, upload_bytes=900_000) as web:
        greedy, modest = web.visit("127.0.0.9"), web.visit("127.0.0.8")
        rows = b"a,b\n" + b"1.5,2.5\n" * 80_000
        assert greedy.send("unlabeled", "1.csv", rows).status_code == 201
        refused = greedy.send("unlabeled", "2.csv", rows)
        assert refused.status_code == 507
        assert "1 MB together" in refused.json()["message"]
        assert modest.send("unlabeled", "3.csv", rows).status_code == 201
        for visit in (greedy, modest):
            visit.http.delete(visit.base)
        assert web.service.sessions.disk == {}


def test_whoever_asks_too_often_waits_and_nobody_else():
    with served(requests_per_second=20) as web:
        greedy, modest = web.visit("127.0.0.9"), web.visit("127.0.0.8")
        began = time.monotonic()
        for _ in range(60):
            assert greedy.see().status_code == 200
        assert time.monotonic() - began > 0.8 * (61 - 2 * 20) / 20
        began = time.monotonic()
        assert modest.see().status_code == 200
        assert time.monotonic() - began < 0.5
