#!/usr/bin/env bash
# Builds the Python package's wheel from the objects of build/, checks it (auditwheel, and abi3audit where it applies), installs it into an empty environment, and
# runs the tests of this folder there. Arguments go to pytest. Exit code 77 where what tools/setup.sh --tests installs is missing.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools=${EMPLACE_PYTHON_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/emplace/python-tests}
if [[ ! -f $tools/requirements.txt ]]; then
  echo "there is no $tools: run tools/setup.sh --tests"
  exit 77
fi
export PATH=$tools/bin:$PATH CMAKE_BUILD_PARALLEL_LEVEL=${EMPLACE_JOBS:-$(nproc)}
work=build/python-wheel
rm -rf "$work" && mkdir -p "$work"

# The folder for the environment is new each time: nothing of an earlier wheel stays.
"$tools/bin/pip" wheel . --quiet --disable-pip-version-check --no-build-isolation --no-deps --no-index \
  --config-settings build-dir=build --wheel-dir "$work/plain"
auditwheel repair --wheel-dir "$work/portable" "$work"/plain/*.whl >"$work/auditwheel.log" 2>&1 || { cat "$work/auditwheel.log"; exit 1; }
# From CPython 3.12 on, one wheel is for every later version, and may use the stable part of the interpreter's interface alone.
if compgen -G "$work/portable/*-abi3-*.whl" >/dev/null; then abi3audit --strict "$work"/portable/*-abi3-*.whl; fi
if "$tools/bin/python" -m zipfile -l "$work"/portable/*.whl | grep -i 'torch.*\.so'; then
  echo "the wheel holds a library of torch"
  exit 1
fi
"$tools/bin/python" -m venv "$work/venv"
site=$(echo "$work"/venv/lib/python3*/site-packages)
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --no-index "$work"/portable/*.whl
# numpy and what the tests need are found there; the wheel alone is in this environment.
printf "%s\n" "$tools"/lib/python3*/site-packages >"$site/tests.pth"
cat "$tools"/lib/python3*/site-packages/torch.pth >>"$site/tests.pth"
cd tests/python
exec "../../$work/venv/bin/python" -m pytest -c ../../pyproject.toml --rootdir . "$@"
