# Data by every kind of descriptor that the kernel's SRP initiator makes, up to 1 MiB in one command.
. "$(dirname "$0")/srp_lib.sh"

srp_conf "      - { name: ram, driver: ram, size: 64M }
      - { name: file, driver: file, path: $work/file.img, size: 64M, create: yes }" \
	'    luns: [ { lun: 0, disk: ram }, { lun: 1, disk: file } ]'
ok "soft-RoCE" rdma_up
ok "the daemon starts" daemon_start || exit 0
head -c 8M /dev/urandom > "$work/random"

# As large commands as this initiator allows.
large() {
	cat "/sys/block/${1#/dev/}/queue/max_hw_sectors_kb" > "/sys/block/${1#/dev/}/queue/max_sectors_kb"
}

verify() {
	fio --name=verify --filename="$1" --size=4M --rw=randwrite --bssplit=512/20:4k/30:12k/10:64k/20:256k/10:1m/10 \
		--ioengine=libaio --iodepth=8 --direct=1 --verify=crc32c --verify_fatal=1 --allow_file_create=0
}

# 8 MiB there and back, 1 MiB a piece.
megabytes() {
	dd if="$work/random" of="$1" bs=1M oflag=direct && dd if="$1" of="$work/back" bs=1M count=8 iflag=direct &&
		cmp "$work/random" "$work/back"
}

# row NAME LOGIN_OPTIONS MODULE_PARAMETER...: ib_srp with these; both disks; then out.
row() {
	local name=$1 options=$2 lun dev
	shift 2
	immediate=$(counter srp_immediate_data) fetched=$(counter srp_tables_fetched)
	ok "$name: ib_srp" srp_load ch_count=2 "$@" || return
	ok "$name: login" srp_login "$options"
	for lun in 0 1; do
		dev=$(srp_disk $lun)
		large "$dev"
		ok "$name: LUN $lun: fio writes and verifies" verify "$dev"
		commands=$(counter srp_commands)
		ok "$name: LUN $lun: 8 MiB come back as they went" megabytes "$dev"
		commands=$(($(counter srp_commands) - commands))
	done
	immediate=$(($(counter srp_immediate_data) - immediate)) fetched=$(($(counter srp_tables_fetched) - fetched))
	echo "# $name: $commands commands for 8 MiB twice, $immediate with immediate data, $fetched tables fetched"
	ok "$name: logout" srp_logout
	ok "$name: logout leaves nothing" idle 10
}

row "immediate data" "" use_imm_data=Y
ok "small writes came in their units" test "$immediate" -gt 0
row "no immediate data" "" use_imm_data=N
ok "none came" test "$immediate" = 0
row "one descriptor a command" "" use_imm_data=N never_register=Y cmd_sg_entries=1
ok "no table was fetched" test "$fetched" = 0
row "tables in the unit" "max_sect=2048" never_register=Y cmd_sg_entries=255
ok "no table of these was fetched" test "$fetched" = 0
row "tables in memory" "max_sect=2048" never_register=Y cmd_sg_entries=12 indirect_sg_entries=256 allow_ext_sg=Y
ok "tables were fetched" test "$fetched" -gt 0
ok "1 MiB went in one command" test "$commands" -lt 20
row "registered memory" "max_sect=2048" register_always=Y cmd_sg_entries=12 indirect_sg_entries=256 allow_ext_sg=Y
ok "1 MiB went in one command again" test "$commands" -lt 20
