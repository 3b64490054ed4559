#!/bin/bash
# The kernel's SRP initiator: resets, aborts, a daemon that is killed.
here=$(dirname "$0")
exec "$here/guest" -t 1100 -T 500 "$here"/in/srp_faults.sh
