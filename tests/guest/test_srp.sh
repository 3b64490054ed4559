#!/bin/bash
# The kernel's SRP initiator over soft-RoCE: logins, channels, file systems, every kind of descriptor.
here=$(dirname "$0")
exec "$here/guest" -t 900 -T 600 "$here"/in/{srp_login,srp_data}.sh
