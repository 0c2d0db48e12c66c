"""``python -m poscount`` is the same as ``poscount``."""

from poscount.cli import main

if __name__ == "__main__":
    main()
