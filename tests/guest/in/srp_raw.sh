# What no proper SRP initiator sends: logins and units that lie, memory that goes away, ends at any moment.
. "$(dirname "$0")/srp_lib.sh"

raw=$work/srp_raw
cp "$(dirname "$0")/../../../build/tests/guest/srp_raw" "$raw"
ok "a soft-RoCE device" rdma_up || exit 0
srp_conf '      - { name: ram, driver: ram, size: 8M }' '    luns: [ { lun: 0, disk: ram } ]'
ok "the daemon starts" daemon_start || exit 0
port=$(ctl targets 'r["targets"][0]["srp_port"]')
ok "it says its port" test ${#port} = 32
before=$(rdma_objects)

"$raw" "${srp_address%:*}" "${srp_address#*:}" "$port"
ok "the raw initiator came to its end" test $? -lt 2

ok "the daemon is alive" kill -0 "$daemon"
ok "no session, no slot, no memory is left" idle 20
ok "no queue pair, no region is left" until_true 20 eval 'test "$(rdma_objects)" = "$before"'
ok "it stops" daemon_stop
