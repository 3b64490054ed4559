# IOPS by queue mode through the kernel's initiator: the job that showed what dividing costs, and the one that showed what counting costs.
#
# 15 targets of one simulated disk each behind one adapter, so 15 sessions, each on a reactor of its own
# among 28. The processor is emulated: figures are not this machine's, only their ratios count. For the
# first job the disks take so long that the adapter's slots decide, as they did on the real one; the
# initiator merges nothing. For the second they take no time, so that what is left is the cost of a
# command, nearly all of it the initiator's and TCP's.
. "$(dirname "$0")/../in/lib.sh"

modes="shared divided divided_borrow single shared_single"
disks=$(seq 15)

# conf_modes SERVICE: in mode `shared`, to begin with.
conf_modes() {
	local n
	{
		cat <<-END
		reactors: 28
		poll: 0
		memory: 512M
		control: $work/control.sock
		state_dir: $work
		adapters:
		  - name: hba
		    can_queue: 1013
		    queue_mode: shared
		    coalesce: no
		    target_depth: 64
		    lun_depth: 64
		    disks:
		END
		for n in $disks; do
			echo "      - { name: d$n, driver: sim, service: $1, size: 4G, address: \"0:$n:0\" }"
		done
		echo "portals:"
		echo "  - { name: lan, transport: iscsi, listen: \"127.0.0.1:3260\" }"
		echo "targets:"
		for n in $disks; do
			echo "  - { name: $iqn-$n, portals: [lan], luns: [ { lun: 0, disk: d$n } ] }"
		done
	} > "$work/sluice.yaml"
}

# mode_set MODE COALESCE: while everything is logged in.
mode_set() {
	sed -i "s/queue_mode: .*/queue_mode: $1/; s/coalesce: .*/coalesce: $2/" "$work/sluice.yaml"
	"$sluicectl" -s "$work/control.sock" reload
}

# login_all: DISK1 to DISK15 name the disks of the targets of those numbers.
login_all() {
	local n s
	discover > /dev/null || return 1
	iscsiadm -m node -o update -n node.session.cmds_max -v 256
	iscsiadm -m node -o update -n node.session.queue_depth -v 128
	iscsiadm -m node --login > /dev/null || return 1
	until_true 60 disks_are_there || return 1
	for n in $disks; do
		for s in /sys/class/iscsi_session/session*; do
			[ "$(cat "$s/targetname")" = "$iqn-$n" ] || continue
			export "DISK$n=/dev/$(ls "$s"/device/target*/*:0/block)"
		done
	done
	for s in /sys/block/sd*/queue; do
		echo none > "$s/scheduler" && echo 2 > "$s/nomerges" || return 1
	done
}

disks_are_there() {
	[ "$(ls -d /sys/class/iscsi_session/session*/device/target*/*:0/block/sd* 2> /dev/null | wc -l)" = 15 ] &&
		[ "$(ls /dev/sd* | wc -l)" -ge 15 ]
}

logout_all() {
	iscsiadm -m node --logout > /dev/null
}

# job FILE SECONDS: the job file with times that fit here; IOPS of each reporting group, a line each.
job() {
	sed "s/^ramp_time=.*/ramp_time=2s/; s/^runtime=.*/runtime=$2s/" "$SLUICE_TREE/etc/fio/$1.fio" > "$work/job.fio"
	fio --output-format=json --output="$work/fio.json" "$work/job.fio" || return 1
	python3 - "$work/fio.json" > "$work/iops" <<-'END'
	import json, sys
	for job in json.load(open(sys.argv[1]))['jobs']:
	    assert job['error'] == 0, job
	    print('%.0f' % (job['read']['iops'] + job['write']['iops']))
	END
}

# most: commands in the adapter at once, as the simulated one has counted by itself.
most() {
	ctl sim 'max(r["max"] for r in r["sim"] if r["kind"] == "adapter")'
}

# rows JOB SECONDS COALESCE...: a line of the table for each mode; the last column of the first is 1.
rows() {
	local name=$1 seconds=$2 mode merge first=
	shift 2
	for merge; do
		for mode in $modes; do
			ok "mode $mode, coalesce $merge" mode_set "$mode" "$merge" || continue
			ok "$name in mode $mode, coalesce $merge" job "$name" "$seconds" || continue
			first=${first:-$(tail -n 1 "$work/iops")}
			printf '# %-14s %-15s %-8s %8s%9s %9.2f\n' "$name" "$mode" "$merge" $(cat "$work/iops") \
				$([ "$(wc -l < "$work/iops")" = 2 ] || echo -) \
				"$(awk -v first="$first" 'END { print $1 / first }' "$work/iops")"
		done
	done
}

initiator_start

conf_modes 1s
ok "the daemon starts" daemon_start || exit 0
ok "login to 15 targets" login_all || exit 0
echo "# job            mode            coalesce     IOPS          of shared"
rows smartpqi-seed "${SECONDS_SEED:-8}" no yes
ok "the adapter was never overrun" eval '[ "$(most | tee /dev/stderr)" -le 1013 ]'
ok "logout" logout_all
ok "the daemon stops" daemon_stop

conf_modes 0
ok "the daemon starts again" daemon_start || exit 0
ok "login again" login_all || exit 0
echo "# job            mode            coalesce      1x1      8x8 of shared"
rows srp-512 "${SECONDS_SRP:-4}" no
ok "the adapter was never overrun again" eval '[ "$(most | tee /dev/stderr)" -le 1013 ]'
ok "logout again" logout_all
