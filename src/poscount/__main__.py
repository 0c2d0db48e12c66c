"""``python -m poscount`` is the same as ``poscount``."""

try:
    from poscount.cli import main
except KeyboardInterrupt:  # Ctrl-C, before anything was begun
    raise SystemExit(130) from None

if __name__ == "__main__":
    main()
