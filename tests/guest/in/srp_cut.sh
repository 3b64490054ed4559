# The link between an SRP initiator and the target is cut, for shorter and for longer; a device is taken away.
. "$(dirname "$0")/srp_lib.sh"

srp_source=192.168.77.2
srp_conf "      - { name: file, driver: file, path: $work/file.img, size: 32M, create: yes }" \
	'    luns: [ { lun: 0, disk: file } ]'
ok "two devices and a switch" wires_up
ok "the daemon starts" daemon_start || exit 0
ok "ib_srp" srp_load ch_count=2 reconnect_delay=2 fast_io_fail_tmo=off dev_loss_tmo=off
ok "login" srp_login tl_retry_count=2
dev=$(srp_disk 0)

load() {
	before=$(counter srp_commands)
	fio --name=load --filename="$dev" --size=16M --rw=randrw --bs=16k --iodepth=16 --ioengine=libaio --direct=1 \
		--time_based --runtime=10 --allow_file_create=0 --verify=crc32c --verify_fatal=1 > "$work/fio" 2>&1 &
	fio=$!
	until_true 20 eval 'test "$(counter srp_commands)" -gt $((before + 50))'
}

state_is() {
	[ "$(cat $rports/port*/state)" = "$1" ]
}

load
ok "the link is cut under load" eval 'ip link set wire0 down && kill -0 $fio'
sleep 1
ip link set wire0 up
ok "a short cut is survived" eval 'wait $fio || { cat $work/fio; false; }'
ok "by the same channels" test "$(counter srp_logins)" = 2

load
ok "the link is cut again" eval 'ip link set wire0 down && kill -0 $fio'
ok "the initiator waits" until_true 60 state_is blocked
ip link set wire0 up
ok "it comes back with the link" until_true 60 state_is running
ok "no I/O failed meanwhile" eval 'wait $fio || { cat $work/fio; false; }'
ok "there are two channels, those before are gone" until_true 10 sessions_are 2

echo 2 > $rports/port*/fast_io_fail_tmo
load
ok "the link is cut with a limit for I/O" eval 'ip link set wire0 down && kill -0 $fio'
wait $fio
ok "I/O fails in time" test $? -ne 0
ok "the target finds out by itself" until_true 100 sessions_are 0
ok "and nothing is left" idle 10
ip link set wire0 up
ok "the port comes back" until_true 60 state_is running
ok "the disk works" dd if="$dev" of=/dev/null bs=64k count=16 iflag=direct

echo 10 > $rports/port*/dev_loss_tmo
ip link set wire0 down
dd if="$dev" of=/dev/null bs=4k count=1 iflag=direct > /dev/null 2>&1
ok "the initiator gives the port up" until_true 60 srp_is_out
ip link set wire0 up
ok "login anew" srp_login tl_retry_count=2
dev=$(srp_disk 0)
ok "those that were given up are gone" until_true 10 sessions_are 2

load
ok "the target's device is taken away under load" rdma link del rxe1
ok "nothing of it is left at the target" idle 10
ok "the daemon says so" grep -q 'RDMA device is gone' "$log"
ok "the device is back" rdma link add rxe1 type rxe netdev roce1
ok "the portal listens again" until_true 10 grep -q 'listens again' "$log"
ok "the initiator comes back" until_true 60 state_is running
wait $fio
ok "the disk works after that" dd if="$dev" of=/dev/null bs=64k count=16 iflag=direct
ok "logout" srp_logout
