# SRP logins with one channel and with many, file systems over them, and logins that are refused.
. "$(dirname "$0")/srp_lib.sh"

srp_conf "      - { name: ram, driver: ram, size: 64M }
      - { name: file, driver: file, path: $work/file.img, size: 64M, create: yes }" \
	'    luns: [ { lun: 0, disk: ram }, { lun: 1, disk: file } ]'
ok "soft-RoCE" rdma_up
ok "the daemon starts" daemon_start || exit 0
ok "ib_srp" srp_load

channels() {
	ctl sessions '(len(r["sessions"]), *(sorted(set(s[k] for s in r["sessions"])) for k in ("reactor", "channels", "state")))'
}

# verify LUN
verify() {
	fio --name=verify --filename="$(srp_disk "$1")" --size=8M --rw=randwrite --bsrange=512-128k --ioengine=libaio \
		--iodepth=16 --direct=1 --verify=crc32c --verify_fatal=1 --allow_file_create=0
}

before=$(rdma_objects)
for n in 1 2 4; do
	# No more than there are processors: the initiator's own bound.
	made=$((n < $(nproc) ? n : $(nproc)))
	ok "ib_srp with ch_count=$n" srp_load ch_count=$n
	ok "$n: login" srp_login
	ok "$n: so many channels, spread over the reactors" eval \
		'channels; channels | grep -qE "^\\($made, \\[$([ $made = 1 ] && echo "[01]" || echo "0, 1")\\], \\[$made\\], \\[.open.\\]\\)"'
	ok "$n: fio writes and verifies on the RAM disk" verify 0
	ok "$n: fio writes and verifies on the file disk" verify 1
	ok "$n: logout" srp_logout
	ok "$n: logout leaves nothing" idle 10
	ok "$n: nor does the kernel hold anything" eval 'rdma_objects; test "$(rdma_objects)" = "$before"'
done

ok "login" srp_login
mkdir -p "$work/mnt"
for lun in 0 1; do
	dev=$(srp_disk $lun)
	ok "LUN $lun: mkfs.ext4" mkfs.ext4 -q -F "$dev"
	ok "LUN $lun: mount" mount "$dev" "$work/mnt"
	ok "LUN $lun: copy a tree" cp -r "$SLUICE_TREE/include" "$SLUICE_TREE/transport" "$work/mnt/"
	ok "LUN $lun: umount" umount "$work/mnt"
	ok "LUN $lun: fsck finds it clean" fsck.ext4 -f -n "$dev"
	ok "LUN $lun: mount again" mount -o ro "$dev" "$work/mnt"
	for folder in include transport; do
		ok "LUN $lun: $folder is what was copied" diff -r "$SLUICE_TREE/$folder" "$work/mnt/$folder"
	done
	ok "LUN $lun: umount again" umount "$work/mnt"
done
ok "a second login of the same port is refused by the initiator" refused srp_login
ok "logout" srp_logout

line=$(ctl targets 'r["targets"][0]["add_target"]')
refusals=$(counter srp_logins_refused)
ok "a port that is not there is refused" refused eval \
	'echo "$line" | sed "s/ioc_guid=..../ioc_guid=dead/" > $portal_dir/add_target'
ok "and that is counted" test "$(counter srp_logins_refused)" = $((refusals + 1))
ok "ib_srp that wants units of 64 KiB" srp_load max_imm_data=65536
ok "they are too long" refused srp_login
# However often it was tried.
ok "and that is counted, too" test "$(counter srp_logins_refused)" -ge $((refusals + 2))
ok "ib_srp as it comes" srp_load
ok "after all that a login succeeds" srp_login
ok "and its disk reads" dd if="$(srp_disk 0)" of=/dev/null bs=64k count=16 iflag=direct
ok "the last logout" srp_logout
