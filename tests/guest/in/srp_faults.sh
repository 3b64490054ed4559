# The SRP initiator's error handling, ends in the middle of I/O, and a daemon that is killed.
. "$(dirname "$0")/srp_lib.sh"

# A disk whose slowness can be set: scsi_debug, through the file driver.
debug=/sys/bus/pseudo/drivers/scsi_debug
modprobe -a sd_mod sg && modprobe scsi_debug dev_size_mb=16 delay=0
slow_is_there() {
	slow=$(ls $debug/adapter*/host*/target*/*/block 2>&1) && [ -b "/dev/$slow" ]
}
ok "there is a slow disk to export" until_true 20 slow_is_there
# slow_delay TICKS: refused while commands are on their way.
slow_delay() {
	until_true 20 eval "echo $1 > $debug/delay"
}
srp_conf "      - { name: file, driver: file, path: $work/file.img, size: 32M, create: yes }
      - { name: slow, driver: file, path: /dev/$slow, direct: yes }" \
	'    luns: [ { lun: 0, disk: file }, { lun: 1, disk: slow } ]'
ok "soft-RoCE" rdma_up
ok "the daemon starts" daemon_start || exit 0
ok "ib_srp" srp_load ch_count=2 reconnect_delay=2
held=$(rdma_objects)
ok "login" srp_login
dev=$(srp_disk 0)

# load SECONDS
load() {
	before=$(counter srp_commands)
	fio --name=load --filename="$dev" --size=16M --rw=randrw --bssplit=4k/80:128k/20 --iodepth=16 --ioengine=libaio \
		--direct=1 --time_based --runtime="$1" --allow_file_create=0 --verify=crc32c --verify_fatal=1 > "$work/fio" 2>&1 &
	fio=$!
	until_true 20 eval 'test "$(counter srp_commands)" -gt $((before + 100))'
}

load 12
sg=/dev/$(ls /sys/block/"${dev#/dev/}"/device/scsi_generic)
functions=$(counter srp_task_management)
for i in 1 2 3; do
	ok "sg_reset --device under load, $i" sg_reset --no-escalate --device "$sg"
done
ok "task management reached the daemon" test "$(counter srp_task_management)" -ge $((functions + 3))
ok "sg_reset --host: the initiator logs in anew" sg_reset --no-escalate --host "$sg"
ok "the load ended without an error" eval 'wait $fio || { cat $work/fio; false; }'
ok "no command and no slot is left" until_true 5 eval 'test "$(in_flight)" = 0'

# The kernel's timer runs out while the disk is at work: ABORT TASK. The kernel shall not try again.
slow_dev=$(srp_disk 1)
device=/sys/block/"${slow_dev#/dev/}"/device
echo 1 > "$device/timeout"
echo 0 > "$device"/scsi_disk/*/max_retries
slow_delay 1000
functions=$(counter srp_task_management) aborted=$(counter scsi_aborted_commands)
dd if="$slow_dev" of=/dev/null bs=4k count=1 iflag=direct > "$work/read" 2>&1 &
read=$!
ok "the kernel aborts a command that takes too long" until_true 15 eval \
	'test "$(counter srp_task_management)" -gt $functions'
ok "the command ends as aborted" until_true 15 eval 'test "$(counter scsi_aborted_commands)" -gt $aborted'
wait $read
ok "it ends for the initiator too" test $? -ne 0
ok "the slow disk has given everything back" until_true 20 eval 'test "$(in_flight)" = 0'
slow_delay 0
echo 30 > "$device/timeout"
ok "the disk works when it is fast again" dd if="$slow_dev" of="$work/back" bs=64k iflag=direct
ok "all of it" test "$(stat -c %s "$work/back")" = $((16 << 20))

# All commands time out at once while the daemon stands still.
echo 1 > /sys/block/"${dev#/dev/}"/device/timeout
load 14
functions=$(counter srp_task_management)
kill -STOP $daemon
sleep 5
kill -CONT $daemon
ok "the load goes on after the daemon stood still" eval 'wait $fio || { cat $work/fio; false; }'
ok "no command and no slot is left after that" until_true 10 eval 'test "$(in_flight)" = 0'
echo 30 > /sys/block/"${dev#/dev/}"/device/timeout

for seconds in 1 5; do
	load 20
	ok "there is I/O before the daemon is killed" kill -0 $fio
	kill -KILL $daemon
	wait $daemon
	sleep $seconds
	ok "it starts again $seconds s after it was killed" daemon_start
	ok "the channels come back" until_true 60 sessions_are 2
	ok "no I/O failed, and what was written is there" eval 'wait $fio || { cat $work/fio; false; }'
done

ok "a clean stop and a start under a mounted file system" eval '
	mkfs.ext4 -q -F $dev && mkdir -p $work/mnt && mount $dev $work/mnt &&
	cp -r $SLUICE_TREE/include $work/mnt/ && daemon_stop && daemon_start &&
	cp -r $SLUICE_TREE/transport $work/mnt/ && umount $work/mnt && fsck.ext4 -f -n $dev'

load 60
ok "there is I/O on the disk" kill -0 $fio
ok "the disks are deleted" eval 'for d in /sys/class/srp_host/host*/device/target*/*:*; do echo 1 > $d/delete; done'
wait $fio
ok "the load failed" test $? -ne 0
ok "disks that are deleted under I/O leave no command" until_true 10 eval 'test "$(in_flight)" = 0'
ok "logout" srp_logout
ok "login" srp_login
dev=$(srp_disk 0)
load 60
ok "the port is deleted under I/O" srp_logout
wait $fio
ok "that load failed, too" test $? -ne 0
ok "a port that is deleted under I/O leaves nothing" idle 10
ok "login again" srp_login
dev=$(srp_disk 0)
ok "the disk works" dd if="$dev" of=/dev/null bs=64k count=16 iflag=direct
ok "logout again" srp_logout
ok "the kernel holds as much as before" until_true 10 eval 'echo "$held"; rdma_objects; test "$(rdma_objects)" = "$held"'
