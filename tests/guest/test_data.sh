#!/bin/bash
# The kernel's iSCSI initiator: file systems and verified data.
here=$(dirname "$0")
exec "$here/guest" -t 180 "$here"/in/filesystem.sh
