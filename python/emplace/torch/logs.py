"""What other packages log while emplace calls them."""
import contextlib
import logging


@contextlib.contextmanager
def quiet(name: str, least: int = logging.CRITICAL):
    """Meanwhile the logger of this name, and those below it that have no level of their own, log nothing under the level `least`."""
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(least)
    try:
        yield
    finally:
        logger.setLevel(level)
