# Discovery, login and logout, over IPv4 and IPv6.
. "$(dirname "$0")/lib.sh"

conf '      - { name: ram, driver: ram, size: 16M }' \
	'    luns: [ { lun: 0, disk: ram } ]' '["127.0.0.1:3260", "[::1]:3260"]'
ok "the daemon starts" daemon_start || exit 0
initiator_start

ok "discovery names the target and its portal" eval \
	'discover | tee /dev/stderr | grep -qx "127.0.0.1:3260,1 $iqn"'
ok "discovery leaves nothing" idle 5
ok "login" login -p 127.0.0.1:3260
ok "the daemon knows one session" sessions_are 1
ok "the disk appears" disk 0
dev=$(disk 0)
ok "the disk says who it is" eval 'sg_inq $dev | tee /dev/stderr | grep -qi "vendor identification: SLUICE"'
ok "the disk has 16 MiB" test "$(blockdev --getsize64 "$dev")" = 16777216
ok "what is written is read back" eval '
	head -c 1M /dev/urandom > $work/data &&
	dd if=$work/data of=$dev bs=64k oflag=direct status=none &&
	dd if=$dev of=$work/back bs=64k count=16 iflag=direct status=none &&
	cmp $work/data $work/back'
ok "a rescan of the session works" iscsiadm -m session -R
ok "logout" logout
ok "logout leaves nothing" idle 5

ok "discovery over IPv6" eval 'discover "[::1]:3260" | tee /dev/stderr | grep -qF "[::1]:3260,1 $iqn"'
ok "login over IPv6" login -p '[::1]:3260'
ok "the session comes from ::1" eval \
	'ctl sessions "[s for s in r[\"sessions\"]]" | tee /dev/stderr | grep -qF "[::1]"'
dev=$(disk 0)
ok "the same disk with the same content" eval \
	'dd if=$dev of=$work/back bs=64k count=16 iflag=direct status=none && cmp $work/data $work/back'
ok "logout over IPv6" logout
