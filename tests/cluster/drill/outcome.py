"""How a fault ends when it does not simply end."""


class Missed(Exception):
    """A promise that does not hold."""

    def __init__(self, expected: str, seen: str):
        super().__init__(f"expected {expected}; saw: {seen}")


class Skipped(Exception):
    """This machine lacks what the fault takes."""
