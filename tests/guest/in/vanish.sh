# The initiator, or the network to it, is gone in the middle of I/O.
. "$(dirname "$0")/lib.sh"

ip netns add target
ip link add wire type veth peer name wire netns target
ip addr add 10.99.0.2/24 dev wire
ip link set wire up
ip -n target addr add 10.99.0.1/24 dev wire
ip -n target link set wire up
ip -n target link set lo up

conf "      - { name: file, driver: file, path: $work/file.img, size: 32M, create: yes }" \
	'    iscsi: { nop_interval: 1s, nop_timeout: 2s }
    luns: [ { lun: 0, disk: file } ]' '"10.99.0.1:3260"'
ok "the daemon starts" daemon_start ip netns exec target || exit 0
initiator_start
ok "discovery" discover 10.99.0.1:3260
set_node node.session.timeo.replacement_timeout 120
set_node node.conn[0].timeo.noop_out_interval 2
set_node node.conn[0].timeo.noop_out_timeout 3
set_node node.session.initial_login_retry_max 60
ok "login" login
dev=$(disk 0)

load() {
	local before=$(commands)
	fio --name=load --filename="$dev" --size=16M --rw=randrw --bs=16k --iodepth=16 --ioengine=libaio \
		--direct=1 --rate_iops=70 --allow_file_create=0 --verify=crc32c --verify_fatal=1 > "$work/fio" 2>&1 &
	fio=$!
	until_true 20 commands_above $((before + 50))
}

# Cuts the wire under a load that is at work.
cut() {
	ip link set wire down
	kill -0 $fio
}

timed_out() {
	ctl stats 'r["iscsi_connections_timed_out"]'
}

load
ok "the wire is cut under load" cut
ok "with the wire cut, nothing is left after the ping's timeout" idle 10
ok "the ping found it" test "$(timed_out)" = 1
ip link set wire up
ok "the session comes back with the wire" until_true 40 sessions_are 1
ok "no I/O failed meanwhile" eval 'wait $fio || { cat $work/fio; false; }'

load
kill -KILL $(pidof iscsid)
ok "iscsid is killed and the wire is cut under load" cut
ok "nothing is left either" idle 10
ok "the ping found that too" test "$(timed_out)" = 2
ip link set wire up
iscsid -c /etc/iscsi/iscsid.conf
ok "a new iscsid takes the session up again" until_true 60 sessions_are 1
ok "no I/O failed meanwhile, again" eval 'wait $fio || { cat $work/fio; false; }'

# Too short for the ping: the connection itself goes on.
load
ok "the wire is cut for half a second" cut
sleep 0.5
ip link set wire up
ok "a short cut is survived" eval 'wait $fio || { cat $work/fio; false; }'
ok "one session is left" sessions_are 1

load
ok "there is I/O on the disk" kill -0 $fio
for d in /sys/class/iscsi_session/session*/device/target*/*:0; do
	echo 1 > "$d/delete"
done
wait $fio
ok "the load failed" test $? -ne 0
ok "a disk that is deleted under I/O leaves no command" until_true 10 eval 'test "$(in_flight)" = 0'
ok "logout" logout
