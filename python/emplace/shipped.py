"""Files that come with the package."""
import os
import pathlib

_PACKAGE = pathlib.Path(__file__).resolve().parent


def program() -> pathlib.Path:
    """The program `emplace`, which is C++."""
    return _PACKAGE / "bin" / "emplace"


def device_kinds_folder() -> pathlib.Path:
    """Device kinds, one a YAML file; the environment variable EMPLACE_CONFIG_DIR names another `configs` folder."""
    return pathlib.Path(os.environ.get("EMPLACE_CONFIG_DIR") or _PACKAGE / "configs") / "devices"
