# CHAP with each algorithm that open-iscsi has, one-way and mutual; digests.
. "$(dirname "$0")/lib.sh"

conf '      - { name: ram, driver: ram, size: 16M }' \
	'    auth: lab
    luns: [ { lun: 0, disk: ram } ]'
cat >> "$work/sluice.yaml" <<-END
	auth:
	  - name: lab
	    user: host1
	    secret: "a secret of host1"
	    mutual_user: target1
	    mutual_secret: "a secret of target1"
END
ok "the daemon starts" daemon_start || exit 0
initiator_start
ok "discovery needs no secret" discover

ok "login without a secret is refused" refused login
set_node node.session.auth.authmethod CHAP
set_node node.session.auth.username host1
set_node node.session.auth.password "not the secret"
ok "login with a wrong secret is refused" refused login
ok "no session came of it" sessions_are 0

set_node node.session.auth.password "a secret of host1"
for algorithm in SHA3-256 SHA256 SHA1 MD5; do
	set_node node.session.auth.chap_algs $algorithm
	ok "CHAP with $algorithm" login
	ok "logout after $algorithm" logout
done
set_node node.session.auth.chap_algs SHA3-256,SHA256,SHA1,MD5
set_node node.session.auth.username_in target1
set_node node.session.auth.password_in "a secret of another target"
ok "a target that cannot prove itself is refused by the initiator" refused login
set_node node.session.auth.password_in "a secret of target1"
ok "mutual CHAP" login
ok "logout after mutual CHAP" logout

head -c 2M /dev/urandom > "$work/data"
for digests in CRC32C,None None,CRC32C CRC32C,CRC32C; do
	set_node node.conn[0].iscsi.HeaderDigest ${digests%,*}
	set_node node.conn[0].iscsi.DataDigest ${digests#*,}
	ok "login with header and data digest $digests" login
	ok "both sides agree on $digests" eval \
		'test "$(cat /sys/class/iscsi_connection/*/{header,data}_digest | tr "\n" " ")" = \
		"$(echo $digests | sed "s/CRC32C/1/g; s/None/0/g; s/,/ /") "'
	dev=$(disk 0)
	ok "what is written is read back with $digests" eval '
		dd if=$work/data of=$dev bs=128k oflag=direct status=none &&
		dd if=$dev of=$work/back bs=96k iflag=direct count=2097152 iflag=count_bytes status=none &&
		cmp $work/data $work/back'
	ok "logout with $digests" logout
done
ok "no digest was wrong" test "$(ctl stats 'r["iscsi_digest_errors"]')" = 0
