#!/bin/bash
# The kernel's SRP initiator: the same LUN over iSCSI too, and 200 rounds of login and logout.
here=$(dirname "$0")
exec "$here/guest" -t 1000 -T 700 "$here"/in/{srp_iscsi,srp_rounds}.sh
