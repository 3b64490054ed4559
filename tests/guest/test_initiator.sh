#!/bin/bash
# The kernel's iSCSI initiator (open-iscsi): discovery, login, CHAP, digests, many LUNs.
here=$(dirname "$0")
exec "$here/guest" -t 180 "$here"/in/{login,auth,luns}.sh
