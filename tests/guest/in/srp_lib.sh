# What the SRP scripts share: soft-RoCE on a dummy interface, and the kernel's SRP initiator on it.
. "$(dirname "$0")/lib.sh"

srp_address=192.168.77.1:5555
portal_dir=/sys/class/infiniband_srp/srp-rxe0-1
rports=/sys/class/srp_remote_ports

# srp_conf ADAPTER_LINES TARGET_LINES [PORTAL_KEYS]: as conf, over both transports.
srp_conf() {
	conf "$1" "$2"
	sed -i "s/^portals:/&\\n  - { name: fabric, transport: srp, listen: \"$srp_address\"${3:+, $3} }/
		s/portals: \\[lan\\]/portals: [lan, fabric]/" "$work/sluice.yaml"
}

rdma_up() {
	[ ! -e /sys/class/infiniband/rxe0 ] || return 0
	modprobe -a dummy rdma_rxe rdma_ucm ib_uverbs sd_mod sg || return
	ip link add roce0 type dummy && ip addr add 192.168.77.1/24 dev roce0 &&
		ip link set roce0 up mtu 4200 && rdma link add rxe0 type rxe netdev roce0
}

# Two devices with a switch between them, roce0 the initiator's and roce1 the target's; wire0 and wire1
# are its ports. Both devices are in this kernel, which would not use the wire: what goes from one to
# the other is routed past the local addresses.
wires_up() {
	local i
	[ ! -e /sys/class/infiniband/rxe1 ] || return 0
	modprobe -a veth bridge rdma_rxe rdma_ucm ib_uverbs sd_mod sg &&
		ip link add switch type bridge && ip link set switch up || return
	for i in 0 1; do
		ip link add roce$i type veth peer name wire$i && ip link set wire$i mtu 4200 master switch up &&
			sysctl -q -w net.ipv4.conf.roce$i.{accept_local=1,rp_filter=0} &&
			ip addr add 192.168.77.$((2 - i))/24 dev roce$i && ip link set roce$i mtu 4200 up || return
	done
	sysctl -q -w net.ipv4.conf.all.rp_filter=0
	for i in 0 1; do
		ip route add 192.168.77.$((i + 1)) dev roce$i table 10$i &&
			ip rule add pref 10 iif lo from 192.168.77.$((2 - i)) to 192.168.77.$((i + 1)) lookup 10$i &&
			ip neigh add 192.168.77.$((i + 1)) lladdr "$(cat /sys/class/net/roce$((1 - i))/address)" \
				dev roce$i || return
	done
	ip rule add pref 20 lookup local && ip rule del pref 0 &&
		rdma link add rxe0 type rxe netdev roce0 && rdma link add rxe1 type rxe netdev roce1
}

# srp_load PARAMETER...: the initiator anew, with these.
srp_load() {
	srp_unload && modprobe ib_srp "$@" && until_true 5 test -e $portal_dir/add_target
}

srp_unload() {
	! grep -q ^ib_srp /proc/modules || modprobe -r ib_srp
}

# srp_login [OPTION,...]: as an administrator would, with the line the daemon itself prints. The kernel
# forgets the last login some time after its disks and channels are gone.
srp_login() {
	local line
	line=$(ctl targets 'r["targets"][0]["add_target"]') || return
	until_true 3 srp_add "$line${srp_source:+,src=$srp_source}${1:+,$1}" && return
	cat "$work/add"
	return 1
}

# srp_add LINE
srp_add() {
	{ echo "$1" > $portal_dir/add_target; } 2> "$work/add"
}

# The remote port goes, and its disks with it.
srp_logout() {
	local port
	for port in $rports/port-*; do
		[ ! -e "$port/delete" ] || echo 1 > "$port/delete"
	done
	until_true 30 srp_is_out
}

srp_is_out() {
	! ls $rports 2> /dev/null | grep -q .
}

# srp_disk LUN: its /dev name once it is there.
srp_disk() {
	until_true 20 srp_disk_is_there "$1" && echo "/dev/$(ls "$srp_disk_dir")"
}

srp_disk_is_there() {
	srp_disk_dir=$(echo /sys/class/srp_host/host*/device/target*/*:"$1"/block)
	[ -d "$srp_disk_dir" ] && [ -b "/dev/$(ls "$srp_disk_dir")" ]
}

# counter NAME
counter() {
	ctl stats "r['$1']"
}

# Takes the place of the iSCSI initiator's end; that may be there too.
eval "iscsi_$(declare -f initiator_stop)"
initiator_stop() {
	srp_logout
	srp_unload
	! pidof iscsid > /dev/null || iscsi_initiator_stop
}

# What the kernel holds for RDMA, of every process: it must come back to what it was.
rdma_objects() {
	rdma -j resource show | python3 -c 'import json, sys
r = json.load(sys.stdin)[0]
print(*("%s=%d" % (k, r[k]) for k in ("qp", "cq", "pd", "mr", "cm_id")))'
}
