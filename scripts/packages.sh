# SPDX-License-Identifier: Apache-2.0
# Sourced by the other scripts: which distribution packages Tartan needs, and how to install those
# that are missing (Debian 12, Ubuntu 24.04).

build_packages=(
  cmake ninja-build g++ pkg-config flex libfl-dev bison
  protobuf-compiler libprotobuf-dev libabsl-dev libonnx-dev
  libcli11-dev libpng-dev zlib1g-dev libxxhash-dev libre2-dev
  ocl-icd-opencl-dev opencl-headers pocl-opencl-icd
  liblept5
)
test_packages=(libgtest-dev libgmock-dev libonnx-testdata clang clang-format-14)
# The package of Python, and what its tests take from PyPI.
python_packages=(python3-dev python3-venv)
# array-api-strict is the array API standard as its authors implement it on NumPy: what tests compare with.
python_requirements=(nanobind numpy ml_dtypes pytest onnx "keras>=3.15,<3.16" array-api-strict einops)
# What is measured beside is optional: what is not there is left out.
bench_packages=(libbenchmark-dev libdnnl-dev libopenblas-dev libclblast-dev)

# A build of everything takes a third of the time where several sources are compiled as one; one that
# goes on from the last takes longer, so that it is no default.
build_from_nothing=(-DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=8)

fail() {
  echo "$(basename "$0"): $*" >&2
  exit 1
}

# is_installed PACKAGE: known to dpkg as installed, under whatever architecture.
is_installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | head -n 1)" = installed ]
}

# make_python_environment FOLDER: a virtual environment with what the package's tests need.
make_python_environment() {
  [ -x "$1/bin/python" ] || python3 -m venv "$1" || fail "python3 -m venv failed"
  "$1/bin/python" -m pip install --quiet --disable-pip-version-check "${python_requirements[@]}" ||
    fail "pip could not install: ${python_requirements[*]}"
}

# install_packages PACKAGE...: installs those that are missing, and says which.
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

# As a program of its own: all that a build with the package of Python needs.
if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  install_packages "${build_packages[@]}" "${python_packages[@]}"
fi
