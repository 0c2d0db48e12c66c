"""Follow a stream: the prevalence in the last 2,000 insects, anew after every 500."""

from poscount import PAT
from poscount.engines import windows
from poscount.example import load_example


def main() -> None:
    positives, trap, _ = load_example("pandas")
    model = PAT(random_state=0).fit(positives)
    # Any iterable of frames, arrays or Arrow record batches: a consumer of messages, a socket.
    stream = (trap[i : i + 64] for i in range(0, len(trap), 64))
    for window in windows(model, stream, size=2000, step=500):
        p = window.prevalence
        rest = "" if window.complete else "  (the stream ended here)"
        print(
            f"rows {window.start:5} to {window.end:5}: {p:.3f} +- {p.interval.width / 2:.3f}{rest}"
        )


if __name__ == "__main__":
    main()
