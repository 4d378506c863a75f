#!/bin/sh
# Installs the packages of a node's agents. Its unit runs it again until it has left its file.
# The settings are empty here; agents-script.ts puts quoted values in their place.
packages=''       # names for apt-get, separated by spaces
installer_done='' # file that says that there is nothing left to install

set -e
if [ -n "$packages" ]; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get update
  # shellcheck disable=SC2086 # one word each; the profile's schema allows nothing else in a name
  apt-get install --yes --no-install-recommends -- $packages
fi
: >"$installer_done"
