"""What 250 mixed calls of the library leave behind in a process: nothing."""

import importlib
import os
import random
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import poscount
from poscount import PAT, RCQ, InputError, SubclassRCQ, compiling

CALLS = 250

pytestmark = pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")


def memory():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1e3 for line in lines if line.startswith("VmRSS"))


def call(chance, folder):
    """Something that a user may do, or try to do."""
    rng = np.random.default_rng(chance.randrange(50))
    positives, sample = rng.normal(size=(80, 3)), rng.normal(size=(200, 3)) + 1
    match chance.randrange(6):
        case 0:
            RCQ(random_state=0).fit(positives, unlabeled=sample).quantify(sample).summary()
        case 1:
            PAT(random_state=0).fit(positives).save(folder / "a.poscount")
            poscount.load(folder / "a.poscount").quantify(sample)
        case 2:
            model = SubclassRCQ(2, random_state=0).fit(positives)
            model.estimate(model.count(sample[:100]) + model.count(sample[100:]))
        case 3:
            frame = pd.DataFrame(sample, columns=["a", "b", "c"]).assign(night=rng.choice(5, 200))
            known = pd.DataFrame(positives, columns=["a", "b", "c"])
            PAT(random_state=0).fit(known).quantify_by(frame, by="night")
        case 4:
            (folder / "b.poscount").write_bytes(rng.bytes(1000))
            with pytest.raises(InputError):
                poscount.load(folder / "b.poscount")
        case 5:
            positives[0, 0] = np.inf
            with pytest.raises(ValueError, match="infinity"):
                RCQ(random_state=0).fit(positives)


def test_calls_leave_neither_memory_nor_open_files(tmp_path):
    if compiling.can_compile():
        importlib.import_module("numba")  # else it comes once enough work is done
    chance = random.Random(0)
    for _ in range(CALLS // 5):
        call(chance, tmp_path)
    before = memory(), len(os.listdir("/proc/self/fd"))
    for _ in range(CALLS):
        call(chance, tmp_path)
    assert len(os.listdir("/proc/self/fd")) == before[1]
    assert memory() < before[0] + 10
