# SPDX-License-Identifier: Apache-2.0
# Sourced by the other scripts. Lists the distribution packages that Tartan needs, and installs
# those that are missing (Debian 12, Ubuntu 24.04).

build_packages=(
  cmake ninja-build g++ pkg-config flex libfl-dev bison
  protobuf-compiler libprotobuf-dev libabsl-dev libonnx-dev
  libcli11-dev libpng-dev libjpeg-dev zlib1g-dev libxxhash-dev libre2-dev
  ocl-icd-opencl-dev opencl-headers pocl-opencl-icd
  liblept5
)
test_packages=(libgtest-dev libgmock-dev libonnx-testdata clang clang-format-14 openmpi-bin libopenmpi-dev)
# The packages for Python, and the requirements of its tests from PyPI.
python_packages=(python3-dev python3-venv)
# array-api-strict is the array API standard as its authors implement it on NumPy: the reference of
# the tests.
python_requirements=(nanobind numpy ml_dtypes pytest onnx "keras>=3.15,<3.16" array-api-strict einops)
# Libraries to compare with are optional; missing ones are left out.
bench_packages=(libbenchmark-dev libdnnl-dev libopenblas-dev libclblast-dev)

# A unity build takes a third of the time for a complete build. An incremental unity build takes
# longer, so it is not the default.
build_from_nothing=(-DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=8)

fail() {
  echo "$(basename "$0"): $*" >&2
  exit 1
}

# is_installed PACKAGE: true if dpkg has it as installed, for any architecture.
is_installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | head -n 1)" = installed ]
}

# make_python_environment FOLDER: creates a virtual environment with the requirements of the
# package's tests.
make_python_environment() {
  [ -x "$1/bin/python" ] || python3 -m venv "$1" || fail "python3 -m venv failed"
  "$1/bin/python" -m pip install --quiet --disable-pip-version-check "${python_requirements[@]}" ||
    fail "pip could not install: ${python_requirements[*]}"
}

# install_packages PACKAGE...: installs the missing ones, and prints their names.
install_packages() {
  local missing=() package
  command -v dpkg-query >/dev/null ||
    fail "this is no Debian or Ubuntu system; install by hand the equivalents of: $*"
  for package in "$@"; do
    is_installed "$package" || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0

  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null ||
      fail "needs root to run: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  echo "Installing from the distribution: ${missing[*]}" >&2
  "${as_root[@]}" apt-get update -qq >&2 || fail "apt-get update failed"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2 ||
    fail "could not install: ${missing[*]}"
}

# When run directly, installs all that a build with the Python package needs.
if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  install_packages "${build_packages[@]}" "${python_packages[@]}"
fi
