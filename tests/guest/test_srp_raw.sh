#!/bin/bash
# SRP by hand: a raw initiator over soft-RoCE sends what must be refused.
here=$(dirname "$0")
exec "$here/guest" -t 500 -T 450 "$here"/in/srp_raw.sh
