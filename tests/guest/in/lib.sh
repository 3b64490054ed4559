# What the scripts that run in the guest share: TAP, one daemon, the kernel's initiator.
iqn=iqn.2026-11.com.example:guest
sluiced=/run/guest/bin/sluiced
sluicectl=/run/guest/bin/sluicectl
work=$(mktemp -d /run/test.XXXXXX)
log=$work/sluiced.log
daemon=
: > "$log"

# ok WHAT COMMAND...: one TAP line; what the command said is shown when it fails. It runs in this
# shell: it may start what is waited for later.
ok() {
	local what=$1 status
	shift
	"$@" > "$work/said" 2>&1
	status=$?
	if [ $status -eq 0 ]; then
		echo "ok - $what"
	else
		echo "not ok - $what"
		{ echo "exit status $status of: $*"; tail -n 25 "$work/said"; } | sed 's/^/#   /'
		failed=1
	fi
	return $status
}

refused() {
	! "$@"
}

# until_true SECONDS COMMAND...
until_true() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.2
	done
}

# -- the daemon --

# conf ADAPTER_LINES TARGET_LINES [LISTEN]: the disks, and what follows `name:` of the target.
conf() {
	cat > "$work/sluice.yaml" <<-END
	reactors: 2
	memory: 256M
	control: $work/control.sock
	state_dir: $work
	adapters:
	  - name: hba
	    disks:
	$1
	portals:
	  - { name: lan, transport: iscsi, listen: ${3:-\"127.0.0.1:3260\"} }
	targets:
	  - name: $iqn
	    portals: [lan]
	$2
	END
}

# daemon_start [PREFIX...]: such as `ip netns exec NAME`.
daemon_start() {
	: > "$work/out"
	"$@" "$sluiced" -c "$work/sluice.yaml" >> "$work/out" 2>> "$log" &
	daemon=$!
	until_true 10 grep -q ready "$work/out" && return
	kill -KILL $daemon
	daemon=
	tail -n 5 "$log"
	return 1
}

daemon_stop() {
	local pid=$daemon
	daemon=
	kill -TERM "$pid" && wait "$pid"
}

# ctl VERB [PYTHON]: the answer, or what the expression makes of it (as r).
ctl() {
	"$sluicectl" -s "$work/control.sock" --json "$1" > "$work/answer" || return 1
	[ $# -gt 1 ] || { cat "$work/answer"; return; }
	python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
print(eval(sys.argv[2]))' "$work/answer" "$2"
}

sessions() {
	ctl sessions 'len(r["sessions"])'
}

sessions_are() {
	[ "$(sessions)" = "$1" ]
}

in_flight() {
	ctl adapters 'sum(n["in_flight"] + n["waiting"] for n in r["adapters"])'
}

commands() {
	ctl stats 'r["iscsi_commands"]'
}

commands_above() {
	[ "$(commands)" -gt "$1" ]
}

# No session, no slot taken or asked for, no buffer, no connection.
is_idle() {
	[ "$(sessions) $(in_flight) $(ctl status 'r["memory"]["used"], r["connections"]')" = "0 0 (0, 0)" ]
}

# idle SECONDS
idle() {
	until_true "$1" is_idle && return
	ctl status
	ctl sessions
	ctl adapters
	return 1
}

# -- the initiator --

initiator_start() {
	modprobe -a iscsi_tcp sd_mod sg crc32c_generic
	echo "InitiatorName=iqn.2026-11.com.example:initiator" > /etc/iscsi/initiatorname.iscsi
	mkdir -p /run/lock/iscsi /var/lib/iscsi
	rm -rf /var/lib/iscsi/nodes /var/lib/iscsi/send_targets /etc/iscsi/nodes /etc/iscsi/send_targets
	# The initiator's built-in defaults, and iscsid is started here, not by whoever needs it.
	rm -f /etc/iscsi/iscsid.conf
	echo "node.startup = manual" > /etc/iscsi/iscsid.conf
	iscsid -c /etc/iscsi/iscsid.conf
	until_true 10 pidof iscsid > /dev/null
}

initiator_stop() {
	iscsiadm -m node -u > /dev/null 2>&1
	iscsiadm -k 0 > /dev/null 2>&1
	until_true 5 refused pidof iscsid > /dev/null || kill -KILL $(pidof iscsid)
}

discover() {
	iscsiadm -m discovery -t sendtargets -p "${1:-127.0.0.1:3260}"
}

# set_node KEY VALUE
set_node() {
	iscsiadm -m node -T "$iqn" -o update -n "$1" -v "$2"
}

login() {
	iscsiadm -m node -T "$iqn" --login "$@"
}

logout() {
	sync
	iscsiadm -m node -T "$iqn" --logout
}

# disk LUN: its /dev name once it is there.
disk() {
	until_true 20 disk_is_there "$1" && echo "/dev/$(ls $disk_dir)"
}

disk_is_there() {
	disk_dir=$(echo /sys/class/iscsi_session/session*/device/target*/*:"$1"/block)
	[ -d "$disk_dir" ] && [ -b "/dev/$(ls $disk_dir)" ]
}

finish() {
	local status=$?
	initiator_stop
	if [ -n "$daemon" ]; then
		ok "nothing is left when the initiator has gone" idle 10
		ok "the daemon stops in good order" daemon_stop
	fi
	ok "the daemon found no fault of its own" refused grep -E 'Assertion|Sanitizer|runtime error' "$log"
	if [ -n "${failed:-}" ]; then
		tail -n 40 "$log" | sed 's/^/# sluiced: /'
		dmesg | tail -n 15 | sed 's/^/# kernel: /'
	fi
	cp "$log" "$GUEST_OUT/$(basename "$0" .sh).log"
	exit $status
}
trap finish EXIT
