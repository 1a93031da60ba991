# shellcheck shell=bash
# What ./dev needs on a machine: Debian packages and the Python environment .venv. Sourced, from the checkout's root.

say() { printf '\n== %s\n' "$*"; }
die() {
  printf 'dev: %s\n' "$*" >&2
  exit 2
}

# need_packages [VERB]: installs the Debian packages of tools/packages-debian.txt that are missing for VERB. Prints them
# first; asks on a terminal.
need_packages() {
  local wanted missing package
  mapfile -t wanted < <(awk -v verb="${1:-}" '!/^#/ && NF && (NF == 1 || $2 == verb) { print $1 }' tools/packages-debian.txt)
  if ! command -v dpkg-query apt-get >/dev/null; then
    echo "dev: no Debian package tools here; this needs what Debian calls: ${wanted[*]}"
    return
  fi
  missing=()
  for package in "${wanted[@]}"; do
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
  done
  ((${#missing[@]})) || return 0

  local as_root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null || die "as root, run: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  say "Debian packages to install${as_root[0]:+ (with sudo)}"
  printf '  %s\n' "${missing[@]}"
  if [[ -t 0 && -t 1 ]]; then
    local answer
    read -r -p "Install them now? [y/N] " answer
    [[ $answer == [yY]* ]] || die "stopped; nothing was installed"
  fi
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq -o Dpkg::Use-Pty=0 \
    --no-install-recommends "${missing[@]}" >/dev/null
}

# The first Python that is new enough and can make an environment.
find_python() {
  local python
  for python in python3 /usr/bin/python3; do
    if "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
      echo "$python"
      return
    fi
  done
  die "no Python 3.10 or newer with its venv module"
}

# need_python [lint]: the environment .venv with what python/requirements-dev.txt names (and requirements-lint.txt).
# Installs again only when one of these files has changed.
need_python() {
  local name digest python
  if ! .venv/bin/python -c '' 2>/dev/null; then
    python=$(find_python)
    say "Python environment .venv ($("$python" --version))"
    "$python" -m venv --clear .venv
  fi
  for name in dev "$@"; do
    digest=$(sha256sum <"python/requirements-$name.txt")
    [[ $(cat ".venv/installed-$name" 2>/dev/null) != "$digest" ]] || continue
    say "Python packages of python/requirements-$name.txt"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -r "python/requirements-$name.txt"
    echo "$digest" >".venv/installed-$name"
  done
}

# build PRESET [TARGET...]
build() {
  local preset=$1
  shift
  local log=build/configure-$preset.log quiet=()
  say "Build ($preset)"
  mkdir -p build
  cmake --preset "$preset" >"$log" 2>&1 || {
    cat "$log" >&2
    die "cmake --preset $preset failed"
  }
  [[ -t 1 ]] || quiet=(--quiet)
  ninja -C "build/$preset" "${quiet[@]}" "$@"
}

# The Python package, built from this checkout and installed into .venv. Its build folder stays, so that only what
# changed is compiled.
install_package() {
  say "Python package"
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps \
    -Cbuild-dir=build/python -Ccmake.define.CMAKE_COMPILE_WARNING_AS_ERROR=ON .
}
