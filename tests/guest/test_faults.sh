#!/bin/bash
# The kernel's iSCSI initiator: resets, time-outs, a network that is cut, a daemon that is killed.
here=$(dirname "$0")
exec "$here/guest" -t 300 "$here"/in/{recovery,vanish,restart}.sh
