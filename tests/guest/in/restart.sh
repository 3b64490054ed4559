# The daemon is killed and started again under I/O: the initiator sees a delay, no error.
. "$(dirname "$0")/lib.sh"

conf "      - { name: file, driver: file, path: $work/file.img, size: 32M, create: yes }" \
	'    luns: [ { lun: 0, disk: file } ]'
ok "the daemon starts" daemon_start || exit 0
initiator_start
ok "discovery" discover
set_node node.session.timeo.replacement_timeout 120
set_node node.session.initial_login_retry_max 60
ok "login" login
dev=$(disk 0)
wwid=$(cat /sys/block/"${dev#/dev/}"/device/wwid)
serial=$(sg_inq --page=0x80 "$dev")

for seconds in 1 6; do
	before=$(commands)
	fio --name=load --filename="$dev" --size=16M --rw=randrw --bs=4k --iodepth=16 --ioengine=libaio \
		--direct=1 --rate_iops=300 --verify=crc32c --verify_fatal=1 > "$work/fio" 2>&1 &
	fio=$!
	ok "there is I/O before the daemon is killed" until_true 20 commands_above $((before + 100))
	kill -KILL $daemon
	ok "and it is not done yet" kill -0 $fio
	wait $daemon
	sleep $seconds
	ok "it starts again $seconds s after it was killed" daemon_start
	ok "the session comes back" until_true 40 sessions_are 1
	ok "no I/O failed, and what was written is there" eval 'wait $fio || { cat $work/fio; false; }'
done
ok "the disk is the same one" eval '
	iscsiadm -m session -R > /dev/null &&
	test "$(cat /sys/block/${dev#/dev/}/device/wwid)" = "$wwid" &&
	test "$(sg_inq --page=0x80 $dev)" = "$serial"'
ok "a clean stop and a start under a mounted file system" eval '
	mkfs.ext4 -q -F $dev && mkdir -p $work/mnt && mount $dev $work/mnt &&
	cp -r $SLUICE_TREE/include $work/mnt/ && daemon_stop && daemon_start &&
	cp -r $SLUICE_TREE/transport $work/mnt/ && umount $work/mnt && fsck.ext4 -f -n $dev'
ok "logout" logout
