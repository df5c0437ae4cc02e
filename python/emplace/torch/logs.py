"""What other packages log while emplace calls them."""
import contextlib
import logging


@contextlib.contextmanager
def quiet(name: str):
    """Meanwhile the logger of this name, and those below it that have no level of their own, log nothing short of critical."""
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)
