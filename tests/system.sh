#!/usr/bin/env bash
# What the tests need from Debian: a browser with fonts. Says what it does; does nothing where it is there already.
# The package 'chromium' serves, too, and takes half as much processor time again.
set -euo pipefail
if command -v chromium-headless-shell >/dev/null; then exit 0; fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  if command -v chromium >/dev/null; then exit 0; fi
  echo "system: no Chromium here, and no right to install it: the browser tests will be skipped. Install the package 'chromium-headless-shell'." >&2
  exit 0
fi
echo "system: installing chromium-headless-shell and fonts (once)"
install() { DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" fonts-dejavu-core >/dev/null; }
apt-get update -qq || command -v chromium >/dev/null
install chromium-headless-shell || install chromium
