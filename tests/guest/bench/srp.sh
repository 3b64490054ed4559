# SRP beside LIO's ib_srpt: the same initiator, the same soft-RoCE device, eight disks without a medium.
#
# One target after the other, job by job and round by round, so that both have the same machine. The
# processor is emulated: the figures are not this machine's, only their ratios count.
. "$(dirname "$0")/../in/srp_lib.sh"

lio_port=5556
lio=/sys/kernel/config/target
rounds=${ROUNDS:-2} seconds=${SECONDS_JOB:-6}

# -- the targets --

sluice_up() {
	srp_conf "$(for n in 0 1 2 3 4 5 6 7; do echo "      - { name: d$n, driver: \"null\", size: 1G }"; done)" \
		"    luns: [ $(for n in 0 1 2 3 4 5 6 7; do echo "{ lun: $n, disk: d$n },"; done) ]" &&
		sed -i "s/^    disks:/    can_queue: 1024\\n&/; s/^reactors: .*/reactors: 2\\npoll: ${POLL:-0}/" "$work/sluice.yaml" &&
		daemon_start
}

# An ib_srpt port on the device, open to this address; its disks answer without a copy.
lio_up() {
	local n gid port
	modprobe target_core_mod && modprobe ib_srpt && mkdir -p $lio/srpt &&
		echo $lio_port > $lio/srpt/discovery_auth/rdma_cm_port || return
	gid=0x$(tr -d : < /sys/class/infiniband/rxe0/ports/1/gids/0)
	port=$lio/srpt/$gid/$gid
	mkdir -p "$port/acls/192.168.77.1" || return
	for n in 0 1 2 3 4 5 6 7; do
		mkdir -p $lio/core/rd_mcp_$n/d$n "$port/lun/lun_$n" "$port/acls/192.168.77.1/lun_$n" &&
			echo rd_pages=262144,rd_nullio=1 > $lio/core/rd_mcp_$n/d$n/control &&
			echo 1 > $lio/core/rd_mcp_$n/d$n/enable &&
			ln -s $lio/core/rd_mcp_$n/d$n "$port/lun/lun_$n/disk" &&
			ln -s "$port/lun/lun_$n" "$port/acls/192.168.77.1/lun_$n/lun" || return
	done
	echo 1 > "$port/enable"
}

sluice_line() {
	ctl targets 'r["targets"][0]["add_target"]'
}

lio_line() {
	local guid=$(tr -d : < /sys/class/infiniband/rxe0/node_guid)
	echo "id_ext=$guid,ioc_guid=$guid,pkey=ffff,dest=192.168.77.1:$lio_port"
}

# -- the initiator --

# target_login LINE: DISK0 to DISK7 name the disks.
target_login() {
	local n
	echo "$1,max_sect=1024,queue_size=128" > $portal_dir/add_target || return
	for n in 0 1 2 3 4 5 6 7; do
		export "DISK$n=$(srp_disk $n)"
	done
	for n in /sys/block/sd*/queue; do
		echo none > "$n/scheduler" && echo 2 > "$n/nomerges" && cat "$n/max_hw_sectors_kb" > "$n/max_sectors_kb" || return
	done
}

# job BLOCK_SIZE DEPTH DISKS: prints IOPS.
job() {
	local n args=()
	for ((n = 0; n < $3; n++)); do
		eval "args+=(--name=d$n --filename=\$DISK$n)"
	done
	fio --ioengine=libaio --direct=1 --rw=randread --bs="$1" --iodepth="$2" --ramp_time=1 --runtime="$seconds" \
		--time_based --group_reporting --norandommap --randrepeat=0 --allow_file_create=0 \
		--output-format=json --output="$work/fio.json" "${args[@]}" || return
	python3 -c 'import json, sys
jobs = json.load(open(sys.argv[1]))["jobs"]
assert not any(j["error"] for j in jobs)
print("%.0f" % sum(j["read"]["iops"] for j in jobs))' "$work/fio.json" > "$work/iops"
}

# measure TARGET: each job once; a line TARGET JOB IOPS in $work/results for each.
measure() {
	local size depth disks
	ok "$1: login" target_login "$($1_line)" || return
	while read -r size depth disks; do
		ok "$1: $size QD$depth on $disks" job "$size" "$depth" "$disks" < /dev/null &&
			echo "$1 $size-QD$depth-x$disks $(cat "$work/iops")" >> "$work/results"
	done <<-END
	4k 32 1
	512 32 1
	512 32 8
	512k 8 1
	END
	ok "$1: logout" srp_logout
}

ok "soft-RoCE" rdma_up
ok "sluiced" sluice_up || exit 0
ok "LIO" lio_up || exit 0
ok "ib_srp" srp_load ch_count="${CHANNELS:-2}" cmd_sg_entries=255 || exit 0
: > "$work/results"
for ((round = 0; round < rounds; round++)); do
	measure sluice
	measure lio
done
echo "# job            sluice     LIO   ratio   (IOPS, the best of $rounds rounds)"
awk '{ if ($3 > best[$1, $2]) best[$1, $2] = $3; if (!seen[$2]++) order[++n] = $2 }
	END { for (i = 1; i <= n; i++) { s = best["sluice", order[i]]; l = best["lio", order[i]]
		printf "# %-14s %8d%8d%8.2f\n", order[i], s, l, l ? s / l : 0 } }' "$work/results"
cp "$work/results" "$GUEST_OUT/srp.results"
