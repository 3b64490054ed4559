# 64 LUNs of one target.
. "$(dirname "$0")/lib.sh"

count=64
conf "$(for i in $(seq 0 $((count - 1))); do
	echo "      - { name: d$i, driver: ram, size: $((i + 1))M }"
done)" "    luns:
$(for i in $(seq 0 $((count - 1))); do echo "      - { lun: $i, disk: d$i }"; done)"
ok "the daemon starts" daemon_start || exit 0
initiator_start
ok "discovery" discover
ok "login" login

# dev[LUN]: its /dev name.
disks_find() {
	dev=()
	local d lun
	for d in /sys/class/iscsi_session/session*/device/target*/*/block/*; do
		lun=${d%/block/*}
		[ -b "/dev/${d##*/}" ] && dev[${lun##*:}]=/dev/${d##*/}
	done
	[ ${#dev[@]} = $count ]
}
ok "all $count disks appear" until_true 60 disks_find
wrong=0
for i in $(seq 0 $((count - 1))); do
	[ "$(cat /sys/block/"${dev[i]#/dev/}"/size)" = $(((i + 1) << 11)) ] || wrong=$((wrong + 1))
	echo "this is disk $i" | dd of="${dev[i]}" bs=512 conv=sync oflag=direct status=none || wrong=$((wrong + 1))
done
ok "each LUN is the disk of its size" test $wrong = 0
for i in $(seq 0 $((count - 1))); do
	dd if="${dev[i]}" bs=512 count=1 iflag=direct status=none | tr -d '\0' > "$work/block"
	[ "$(cat "$work/block")" = "this is disk $i" ] || wrong=$((wrong + 1))
done
ok "each LUN has kept its own data" test $wrong = 0
ok "no two LUNs have the same name" test "$(cat /sys/class/iscsi_session/session*/device/target*/*/wwid |
	sort -u | wc -l)" = $count
ok "logout" logout
