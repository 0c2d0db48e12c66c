"""Tables in Markdown, as every measurement prints them."""

from __future__ import annotations


def print_rows(rows: list[list[str]], head: list[str]) -> None:
    """Print a table."""
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for cells in rows:
        print("| " + " | ".join(cells) + " |")
    print(flush=True)
