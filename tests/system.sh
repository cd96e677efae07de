#!/usr/bin/env bash
# What the tests need from Debian: a browser with fonts. Says what it does; does nothing where it is there already.
set -euo pipefail
if command -v chromium >/dev/null; then exit 0; fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "system: no Chromium here, and no right to install it: the browser tests will be skipped. Install the package 'chromium'." >&2
  exit 0
fi
echo "system: installing chromium and fonts (once)"
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null
