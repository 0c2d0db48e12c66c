"""Scorers of other libraries in model files: skops archives, looked into before they are built."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from poscount.errors import FileError, InputError
from poscount.storage.container import claimed_bytes, open_archive, stored
from poscount.storage.schema import check_estimator, fields_of, require

# A forest of a thousand trees has a few thousand arrays.
MOST_MEMBERS = 20_000
# Of skops' description of the object, in characters.
LARGEST_SCHEMA = 2**25
# A sparse matrix is a compressed archive of its own. It may unpack to so much, and to so many times
# its own size: zeros can be packed a thousand times smaller.
UNPACKED, MOST_TIMES = 2**25, 50
_HEADER = 10_000
# Of estimators within estimators, and of their attributes.
_DEPTH = 20
# Of the powers of a column, which multiply those of others, and of threads.
LARGEST = {"degree": 20, "n_jobs": 1024}
# Places in the state of scikit-learn's trees of neighbours.
_STATISTICS = slice(7, 11)


def dump_foreign(scorer: BaseEstimator) -> np.ndarray:
    """Write a scorer as bytes; skops does it without compression."""
    skops = _skops()
    content = skops.dumps(scorer)
    try:
        again = load_foreign(content, skops.get_untrusted_types(data=content))
        name = type(scorer).__name__
        same = content_of(again) == content_of(scorer)
        require(same, f"skops writes another {name} than the one that was fitted.")
    except ValueError as error:
        raise InputError(f"This model cannot be saved: {error}") from error
    return np.frombuffer(content, dtype=np.uint8)


def content_of(scorer: BaseEstimator) -> str:
    """SHA-256 of everything that a scorer holds, whatever that is."""
    digest = hashlib.sha256()
    _add(scorer, digest.update, ())
    return digest.hexdigest()


def _add(value: Any, add: Callable[[bytes], None], inside: tuple[int, ...]) -> None:
    """Add a value to a digest, with its type and size, so that no two values are added alike."""
    if isinstance(value, np.generic) and not value.dtype.fields:
        value = value.item()
    add(f"{type(value).__name__}:".encode())
    if id(value) in inside:
        add(b"within itself;")
        return
    inside = (*inside, id(value))
    parts: Sequence[Any]
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        parts = ()
        add(repr(value).encode())
    elif isinstance(value, np.ndarray) and value.dtype.names:
        # Between fields there may be bytes with anything in them.
        parts = [(name, value[name]) for name in value.dtype.names]
    elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
        parts = ()
        add(f"{value.dtype.str}{value.shape}".encode() + value.tobytes())
    elif isinstance(value, np.ndarray | list | tuple):
        parts = list(value)
    elif isinstance(value, dict):
        parts = sorted(value.items(), key=repr)
    elif isinstance(value, set | frozenset):
        parts = sorted(value, key=repr)
    elif hasattr(value, "__qualname__") or isinstance(value, np.ufunc):
        parts = [getattr(value, "__module__", None), value.__name__]
    elif isinstance(value, BaseEstimator):
        # Without the version of its library, which is no content.
        parts = sorted(vars(value).items())
    elif hasattr(value, "get_tree_stats"):
        # Neighbours: without the numbers that say how often they were asked for.
        state = value.__getstate__()
        parts = [*state[: _STATISTICS.start], *state[_STATISTICS.stop :]]
    else:
        parts = [list(part) if i > 2 and part else part for i, part in enumerate(_reduced(value))]
    add(f";{len(parts)};".encode())
    for part in parts:
        _add(part, add, inside)


def _reduced(value: Any) -> Sequence[Any]:
    """What pickle would keep of an object."""
    reduced = value.__reduce_ex__(2)
    return [reduced] if isinstance(reduced, str) else reduced


def load_foreign(content: bytes, trusted: Sequence[str]) -> BaseEstimator:
    """Build a scorer that skops has written, from types that are known to be safe.

    Parameters
    ----------
    content : bytes
    trusted : sequence of str
        Types that may be built besides those that skops knows to be safe.
    """
    skops = _skops()
    _look_into(content)
    # Our own scorer inside a pipeline of another library is as safe as by itself.
    known = [*trusted, "poscount.scorers.mahalanobis.Mahalanobis"]
    unknown = set(skops.get_untrusted_types(data=content)) - set(known)
    if unknown:
        raise FileError(
            f"its scorer uses types that are not known to be safe ({', '.join(sorted(unknown))}); "
            "allow them only if you trust the author of the file.",
            option="trusted",
            value=sorted({*trusted, *unknown}),
        )
    scorer = skops.loads(content, trusted=known)
    for part in _estimators(scorer):
        _check_parameters(part)
        if fields_of(type(part)):
            check_estimator(part)
        for value in vars(part).values():
            if sparse.issparse(value) and hasattr(value, "check_format"):
                # In full: indices beyond the end would be read by compiled code.
                value.check_format(full_check=True)
        _check_support_vectors(part)
    return scorer


def _look_into(content: bytes) -> None:
    """Refuse an archive that would take much more memory than its own size."""
    with open_archive(content, MOST_MEMBERS) as archive:
        for entry in archive.infolist():
            member = stored(archive, entry)
            if entry.filename == "schema.json" and len(member) > LARGEST_SCHEMA:
                raise ValueError("the description of its scorer is too long")
            if entry.filename.endswith(".npy"):
                # Of all arrays, skops itself lets only those of plain numbers and text pass.
                if claimed_bytes(member[:_HEADER]) > len(member):
                    raise ValueError("an array in it does not have the size it claims")
            elif entry.filename.endswith(".npz"):
                _look_into_sparse(member)


def _look_into_sparse(content: bytes) -> None:
    allowed = UNPACKED + MOST_TIMES * len(content)
    with open_archive(content, most_members=16) as archive:
        for entry in archive.infolist():
            allowed -= entry.file_size
            if allowed < 0:
                raise ValueError("a sparse matrix in it unpacks to too much")
            with archive.open(entry) as member:
                if claimed_bytes(member.read(_HEADER)) > entry.file_size:
                    raise ValueError("an array in it does not have the size it claims")


def _estimators(value: Any, depth: int = 0) -> Iterator[BaseEstimator]:
    """All estimators in an object, such as the steps of a pipeline."""
    if depth > _DEPTH:
        raise ValueError("its scorer is nested too deeply")
    if isinstance(value, BaseEstimator):
        yield value
        value = list(vars(value).values())
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            yield from _estimators(item, depth + 1)


def _check_parameters(part: BaseEstimator) -> None:
    """Refuse parameters that nobody could have fitted with, or that take all time or memory."""
    if hasattr(part, "_parameter_constraints"):
        part._validate_params()
    for name, value in part.get_params(deep=False).items():
        if name in LARGEST and isinstance(value, int) and abs(value) > LARGEST[name]:
            raise ValueError(f"{name} of its {type(part).__name__} is larger than {LARGEST[name]}.")


def _check_support_vectors(machine: BaseEstimator) -> None:
    """Refuse a support vector machine whose arrays disagree: libsvm would read beyond memory."""
    if not hasattr(machine, "support_vectors_"):
        return
    n, n_features = machine.support_vectors_.shape
    fits = (
        machine.kernel != "precomputed"
        and n_features == machine.n_features_in_ == machine.shape_fit_[1]
        and np.shape(machine.support_) == (n,)
        and ((machine.support_ >= 0) & (machine.support_ < machine.shape_fit_[0])).all()
        # Of its two classes, one of which is not there.
        and np.shape(machine._n_support) == (2,)
        and machine._n_support[0] == n
        and machine.dual_coef_.shape == machine._dual_coef_.shape == (1, n)
        and np.shape(machine.intercept_) == np.shape(machine._intercept_) == (1,)
    )
    if not fits:
        raise ValueError(f"the arrays of its {type(machine).__name__} disagree.")


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(
            "A model file with a scorer from another library needs skops: "
            'pip install "poscount[skops]".'
        ) from error
    return skops.io
