"""A queue in which nobody gets ahead by asking more often."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Owner(NamedTuple):
    """For whom something is done: the address of a client, and one of its sessions."""

    client: str
    session: str


class FairQueue(Generic[T]):
    """Takes one item of each client in turn, and within a client one of each session.

    A client with many sessions therefore waits as long as one with a single session, and within a
    session the first to come is the first to go.

    Examples
    --------
    >>> queue = FairQueue()
    >>> for session in range(3):
    ...     queue.add(f"greedy {session}", Owner("10.0.0.1", str(session)))
    >>> queue.add("modest", Owner("10.0.0.2", "x"))
    >>> list(queue)
    ['greedy 0', 'modest', 'greedy 1', 'greedy 2']
    """

    def __init__(self) -> None:
        # The first client is the next to be served, and its first session. Whoever was served goes
        # to the end.
        self._clients: dict[str, dict[str, deque[T]]] = {}

    def __len__(self) -> int:
        return sum(len(items) for sessions in self._clients.values() for items in sessions.values())

    def __iter__(self) -> Iterator[T]:
        """Give all items in the order in which they would be taken."""
        clients = deque(
            deque(deque(items) for items in sessions.values())
            for sessions in self._clients.values()
        )
        while clients:
            sessions = clients.popleft()
            items = sessions.popleft()
            yield items.popleft()
            if items:
                sessions.append(items)
            if sessions:
                clients.append(sessions)

    def count(self, client: str) -> int:
        """Count the items of a client."""
        return sum(map(len, self._clients.get(client, {}).values()))

    def add(self, item: T, owner: Owner) -> None:
        """Add an item, behind the others of its session."""
        sessions = self._clients.setdefault(owner.client, {})
        sessions.setdefault(owner.session, deque()).append(item)

    def take(self) -> T:
        """Take the next item."""
        client = next(iter(self._clients))
        sessions = self._clients.pop(client)
        session = next(iter(sessions))
        items = sessions.pop(session)
        item = items.popleft()
        if items:
            sessions[session] = items
        if sessions:
            self._clients[client] = sessions
        return item

    def remove(self, item: T, owner: Owner) -> bool:
        """Remove an item, and tell whether it was there; the turns of the others do not change."""
        sessions = self._clients.get(owner.client, {})
        items = sessions.get(owner.session, deque())
        if item not in items:
            return False
        items.remove(item)
        if not items:
            del sessions[owner.session]
        if not sessions:
            del self._clients[owner.client]
        return True
