#!/bin/bash
# The kernel's SRP initiator: a link that is cut, a device that goes away. It has devices of its own, so a guest of its own.
here=$(dirname "$0")
exec "$here/guest" -t 1100 -T 500 "$here"/in/srp_cut.sh
