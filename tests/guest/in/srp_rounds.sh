# 200 logins and logouts, half of them in the middle of I/O, and nothing grows.
. "$(dirname "$0")/srp_lib.sh"

srp_conf "      - { name: ram, driver: ram, size: 32M }" '    luns: [ { lun: 0, disk: ram } ]'
ok "soft-RoCE" rdma_up
ok "the daemon starts" daemon_start || exit 0
ok "ib_srp" srp_load ch_count=2
line=$(ctl targets 'r["targets"][0]["add_target"]')

# What the daemon has: KiB in memory, files.
rss() {
	awk '/^VmRSS/ { print $2 }' /proc/$daemon/status
}

files() {
	ls /proc/$daemon/fd | wc -l
}

# round [busy]: in, perhaps read, out; without asking the daemon anything.
round() {
	local block reader=
	until_true 20 srp_add "$line" || return
	if [ $# -gt 0 ]; then
		until_true 20 srp_disk_is_there 0 || return
		block=/dev/$(ls "$srp_disk_dir")
		dd if="$block" of=/dev/null bs=256k iflag=direct > /dev/null 2>&1 &
		reader=$!
		sleep 0.05
	fi
	echo 1 > "$(echo $rports/port-*/delete)"
	until_true 30 srp_is_out || return
	[ -z "$reader" ] || wait $reader || true
}

# rounds FIRST LAST
rounds() {
	local i
	for ((i = $1; i <= $2; i++)); do
		if [ $((i % 2)) = 0 ]; then
			round busy || return
		else
			# Without looking for disks: only the channels.
			echo none > /sys/module/scsi_mod/parameters/scan
			round || return
			echo sync > /sys/module/scsi_mod/parameters/scan
		fi
	done
}

ok "20 rounds to begin with" rounds 1 20
ok "nothing is left of them" idle 10
rss=$(rss) files=$(files) objects=$(rdma_objects)
ok "180 rounds more" rounds 21 200
ok "nothing is left of these" idle 10
ok "so many logins" test "$(counter srp_logins)" = 400
echo "# RSS $rss KiB then $(rss) KiB, $files files then $(files), $objects then $(rdma_objects)"
ok "no more memory than after 20" test "$(rss)" -le $((rss + 512))
ok "no more files" test "$(files)" = "$files"
ok "no more memory regions, queue pairs, queues, ids" test "$(rdma_objects)" = "$objects"
