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
echo 10 > /sys/block/"${dev#/dev/}"/device/timeout

# One command at a time: of the soft-RoCE of this kernel, a queue pair that lost many packets at once
# may neither send them again nor say that it gave up, and then all depends on the initiator's timers.
load() {
	before=$(counter srp_commands)
	fio --name=load --filename="$dev" --size=16M --rw=randrw --bs=4k --ioengine=psync --direct=1 \
		--time_based --runtime=8 --allow_file_create=0 --verify=crc32c --verify_fatal=1 > "$work/fio" 2>&1 &
	fio=$!
	until_true 20 eval 'test "$(counter srp_commands)" -gt $((before + 50))'
}

load
ok "the link is cut under load" eval 'ip link set wire0 down && kill -0 $fio'
sleep 1
ip link set wire0 up
ok "a short cut is survived" eval 'wait $fio || { cat $work/fio; false; }'
ok "there are two channels" until_true 10 sessions_are 2

load
ok "the link is cut again" eval 'ip link set wire0 down && kill -0 $fio'
sleep 20
ip link set wire0 up
ok "no I/O failed in 20 s without a link" eval 'wait $fio || { cat $work/fio; false; }'
ok "there are two channels, those before are gone" until_true 10 sessions_are 2

# No attempt to reconnect, by a reset of the host or after a while, is to hold the initiator's limits up:
# it takes minutes to fail.
echo 100 > /sys/block/"${dev#/dev/}"/device/timeout
echo 100 > $rports/port*/reconnect_delay
echo 2 > $rports/port*/fast_io_fail_tmo
echo 15 > $rports/port*/dev_loss_tmo
load
ok "the link is cut with limits" eval 'ip link set wire0 down && kill -0 $fio'
wait $fio
ok "I/O fails in time" test $? -ne 0
echo "# $(cat $rports/port*/state)"
ok "the initiator gives the port up" until_true 60 srp_is_out
ok "the target finds out by itself" until_true 100 sessions_are 0
ok "and nothing is left" idle 10
ip link set wire0 up
ok "login anew" srp_login tl_retry_count=2
dev=$(srp_disk 0)
ok "the disk works" dd if="$dev" of=/dev/null bs=64k count=16 iflag=direct

# soft-RoCE cannot take a device from a process: its removal waits until the daemon has ended.
load
rdma link del rxe1 &
removal=$!
ok "the target's device is taken away under load" until_true 20 grep -q 'RDMA device is gone' "$log"
ok "nothing of it is left at the target" idle 10
srp_logout
wait $fio
ok "the daemon serves others" eval 'initiator_start && discover'
ok "it stops in good order" daemon_stop
ok "the device can go" wait $removal
