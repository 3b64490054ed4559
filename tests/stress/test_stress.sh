#!/bin/sh
# Runs the bridge's stress scenarios, each with another seed each time.
exec "$SLUICE_BUILD/tests/stress/bridge_stress" -s "${SLUICE_SEED:-$(date +%s)}"
