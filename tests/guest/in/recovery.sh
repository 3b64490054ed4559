# Task management from the kernel: resets by hand, and commands that time out.
. "$(dirname "$0")/lib.sh"

# A disk whose slowness can be set: scsi_debug, through the file driver.
debug=/sys/bus/pseudo/drivers/scsi_debug
modprobe -a sd_mod && modprobe scsi_debug dev_size_mb=16 delay=0
slow_is_there() {
	slow=$(ls $debug/adapter*/host*/target*/*/block 2>&1) && [ -b "/dev/$slow" ]
}
ok "there is a slow disk to export" until_true 20 slow_is_there
# slow_delay TICKS: refused while commands are on their way.
slow_delay() {
	until_true 20 eval "echo $1 > $debug/delay"
}
conf "      - { name: ram, driver: ram, size: 32M }
      - { name: slow, driver: file, path: /dev/$slow, direct: yes }" \
	'    luns: [ { lun: 0, disk: ram }, { lun: 1, disk: slow } ]'
ok "the daemon starts" daemon_start || exit 0
initiator_start
ok "discovery" discover
set_node node.session.err_timeo.abort_timeout 15
set_node node.session.err_timeo.lu_reset_timeout 30
ok "login" login
dev=$(disk 0)

load() {
	fio --name=load --filename="$1" --size=16M --rw=randrw --bs=4k --iodepth=16 --ioengine=libaio \
		--direct=1 --time_based --runtime="$2" --verify=crc32c --verify_fatal=1
}

before=$(commands)
load "$dev" 12 > "$work/fio" 2>&1 &
fio=$!
ok "there is I/O" until_true 20 commands_above $((before + 100))
sg=/dev/$(ls /sys/block/"${dev#/dev/}"/device/scsi_generic)
for kind in device target; do
	ok "sg_reset --$kind under load" sg_reset --no-escalate --$kind "$sg"
done
ok "sg_reset --device once more" sg_reset --no-escalate --device "$sg"
ok "task management reached the daemon" test "$(ctl stats 'r["iscsi_task_management"]')" -ge 3
ok "the load ended without an error" eval 'wait $fio || { cat $work/fio; false; }'
ok "no command and no slot is left" until_true 5 eval 'test "$(in_flight)" = 0'

# The kernel's timer runs out while the disk is at work: ABORT TASK. (libiscsi lets it run three times:
# it sees progress, then pings.) The kernel shall not try again.
dev=$(disk 1)
ok "the slow disk is there" test -n "$dev"
echo 1 > /sys/block/"${dev#/dev/}"/device/timeout
slow_delay 1750
before=$(ctl stats 'r["iscsi_task_management"]')
aborted=$(ctl stats 'r["scsi_aborted_commands"]')
echo 0 > /sys/block/"${dev#/dev/}"/device/scsi_disk/*/max_retries
dd if="$dev" of=/dev/null bs=4k count=1 iflag=direct > "$work/read" 2>&1 &
read=$!
ok "the kernel aborts a command that takes too long" until_true 15 eval \
	'test "$(ctl stats "r[\"iscsi_task_management\"]")" -gt "$before"'
ok "the command ends as aborted" until_true 15 eval \
	'test "$(ctl stats "r[\"scsi_aborted_commands\"]")" -gt "$aborted"'
wait $read
ok "it ends for the initiator too" test $? -ne 0
ok "the slow disk has given everything back" until_true 20 eval 'test "$(in_flight)" = 0'
slow_delay 0
echo 5 > /sys/block/"${dev#/dev/}"/device/scsi_disk/*/max_retries
echo 30 > /sys/block/"${dev#/dev/}"/device/timeout
ok "the disk works when it is fast again" dd if="$dev" of="$work/back" bs=64k iflag=direct
ok "all of it" test "$(stat -c %s "$work/back")" = $((16 << 20))

# All commands time out at once while the daemon stands still.
dev=$(disk 0)
echo 1 > /sys/block/"${dev#/dev/}"/device/timeout
before=$(commands)
load "$dev" 14 > "$work/fio" 2>&1 &
fio=$!
ok "there is I/O again" until_true 20 commands_above $((before + 100))
before=$(ctl stats 'r["iscsi_task_management"]')
kill -STOP $daemon
sleep 8
kill -CONT $daemon
ok "the kernel asked for aborts meanwhile" until_true 5 eval \
	'test "$(ctl stats "r[\"iscsi_task_management\"]")" -gt "$before"'
ok "the load goes on after the daemon stood still" eval 'wait $fio || { cat $work/fio; false; }'
ok "no command and no slot is left after that" until_true 5 eval 'test "$(in_flight)" = 0'
ok "logout" logout
