# A file system on each of two LUNs, and fio's own verification.
. "$(dirname "$0")/lib.sh"

conf "      - { name: ram, driver: ram, size: 64M }
      - { name: file, driver: file, path: $work/file.img, size: 64M, create: yes }" \
	'    luns: [ { lun: 0, disk: ram }, { lun: 1, disk: file } ]'
ok "the daemon starts" daemon_start || exit 0
initiator_start
ok "discovery" discover
ok "login" login

tree=$SLUICE_TREE/docs
for lun in 0 1; do
	name=$([ $lun = 0 ] && echo ram || echo file)
	dev=$(disk $lun)
	mkdir -p "$work/mnt$lun"
	ok "$name: mkfs.ext4" mkfs.ext4 -q -F "$dev"
	ok "$name: mount" mount "$dev" "$work/mnt$lun"
	ok "$name: copy a tree" cp -r "$SLUICE_TREE/include" "$SLUICE_TREE/transport" "$SLUICE_TREE/hba" \
		"$work/mnt$lun/"
	ok "$name: fio writes and verifies in the file system" fio --name=verify --directory="$work/mnt$lun" \
		--size=2M --rw=randwrite --bsrange=1k-64k --ioengine=libaio --iodepth=8 --fsync=32 \
		--verify=crc32c --verify_fatal=1
	ok "$name: umount" umount "$work/mnt$lun"
done
ok "logout" logout
ok "logout leaves nothing" idle 5

ok "login again" login
for lun in 0 1; do
	name=$([ $lun = 0 ] && echo ram || echo file)
	dev=$(disk $lun)
	ok "$name: fsck finds it clean" fsck.ext4 -f -n "$dev"
	ok "$name: mount again" mount -o ro "$dev" "$work/mnt$lun"
	for folder in include transport hba; do
		ok "$name: $folder is what was copied" diff -r "$SLUICE_TREE/$folder" "$work/mnt$lun/$folder"
	done
	ok "$name: umount again" umount "$work/mnt$lun"
	ok "$name: fio verifies the bare disk" fio --filename="$dev" --size=4M \
		"$SLUICE_TREE/etc/fio/verify.fio"
done
ok "logout again" logout
