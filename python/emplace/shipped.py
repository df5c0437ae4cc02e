"""Files that come with the package."""
import os
import pathlib

_PACKAGE = pathlib.Path(__file__).resolve().parent


def program() -> pathlib.Path:
    """The program `emplace`, which is C++."""
    return _PACKAGE / "bin" / "emplace"


def device_kinds_folder() -> pathlib.Path:
    """Device kinds of the generated workloads; the environment variable EMPLACE_CONFIG_DIR names another `configs` folder."""
    return pathlib.Path(os.environ.get("EMPLACE_CONFIG_DIR") or _PACKAGE / "configs") / "devices"


def device_kinds_folders() -> list[pathlib.Path]:
    """Folders of all device kinds that come with the package: also those that people have at home."""
    return [device_kinds_folder(), *(path for path in [device_kinds_folder() / "consumer"] if path.is_dir())]
