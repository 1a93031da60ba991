# shellcheck shell=bash
# ./dev lint [--fix]: every check runs, also after one that failed. Sourced by dev.

lint() {
  local fix=0 bin=.venv/bin failed=() cpp shell ruff_format=(--check) ruff_check=()
  case "$*" in
    "") ;;
    --fix) fix=1 ruff_format=() ruff_check=(--fix) ;;
    *) die "lint takes nothing or --fix" ;;
  esac
  check() {
    say "$1"
    "${@:2}" || failed+=("$1")
  }
  # Tracked files and new ones that git does not ignore.
  mapfile -t cpp < <(git ls-files --cached --others --exclude-standard '*.cc' '*.h')
  shell=(dev .ci/run tools/dev/*.sh)

  if ((fix)); then
    check "clang-format" "$bin/clang-format" -i "${cpp[@]}"
    check "docs/errors.md" "$bin/python" tools/error_docs.py
    check "docs/operators.md" "$bin/python" tools/operator_docs.py
    check "grid_tables.cc" "$bin/python" tools/grid_tables.py
    check "tables of the catalogue" "$bin/python" tools/catalog_tables.py
  else
    check "clang-format" "$bin/clang-format" --dry-run --Werror "${cpp[@]}"
    check "docs/errors.md" "$bin/python" tools/error_docs.py --check
    check "docs/operators.md" "$bin/python" tools/operator_docs.py --check
    check "grid_tables.cc" "$bin/python" tools/grid_tables.py --check
    check "tables of the catalogue" "$bin/python" tools/catalog_tables.py --check
  fi
  check "ruff" "$bin/ruff" check --quiet "${ruff_check[@]}" .
  check "ruff format" "$bin/ruff" format --quiet "${ruff_format[@]}" .
  check "shellcheck" "$bin/shellcheck" "${shell[@]}"
  check "layers" "$bin/python" tools/check_layers.py
  build release
  check "docs/schemes.md, docs/deviations.md, docs/formats.md" env TESSERA_WRITE_DOCS="$fix" \
    build/release/tessera_formats_test --gtest_brief=1 --gtest_filter='SchemeDocs.*:FormatDocs.*'
  check "clang-tidy" "$bin/run-clang-tidy.py" -quiet -hide-progress -p build/release \
    -clang-tidy-binary "$bin/clang-tidy" "$PWD/(src|cli|bench|fuzz)/.*\.cc$"

  if ((${#failed[@]})); then
    printf '\nlint: failed: %s\n' "$(IFS=,; echo "${failed[*]}")"
    return 1
  fi
  printf '\nlint: all in order\n'
}
